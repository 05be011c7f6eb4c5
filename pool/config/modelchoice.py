"""`PROFILE:ID`: a model by the profile that says where it is and how it is asked, and its id there."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

from pool.config.files import Places
from pool.config.load import load_settings, read_files
from pool.config.profiles import BUILT_IN_PROFILES
from pool.config.settings import Settings
from pool_tools.frozen import frozen

SERVER = "server.base_url"
MODEL = "server.model"


@frozen
class ModelChoice:
    """A model to use. profile "" leaves all but the model as it is; model "" is the profile's, or the server's only."""

    profile: str = ""
    model: str = ""

    def __str__(self) -> str:
        return f"{self.profile}:{self.model}"


@frozen
class ProfileServer:
    """What a profile says of a server: its address and model, "" where it says nothing."""

    name: str
    base_url: str = ""
    model: str = ""


def choice_of(text: str, profiles: Collection[str]) -> ModelChoice:
    """What `PROFILE:ID`, `PROFILE:` or `ID` stands for. Ids may hold colons: only a known profile counts as one."""
    profile, colon, model = text.strip().partition(":")
    return ModelChoice(profile, model) if colon and profile in profiles else ModelChoice("", text.strip().lstrip(":"))


def profile_servers(workspace: Path, env: Mapping[str, str]) -> tuple[ProfileServer, ...]:
    """The profiles that count in a workspace, those of a checkout only if it is trusted."""
    read = read_files(workspace, Places.usual(env))
    found = {name: ProfileServer(name) for name in BUILT_IN_PROFILES}
    for source in read.sources:
        if not read.trusted.get(source.path, True):
            continue
        for name, values in source.profiles.items():
            before = found.get(name, ProfileServer(name))
            base_url = str(values.get(SERVER, before.base_url))
            found[name] = ProfileServer(name, base_url, str(values.get(MODEL, before.model)))
    return tuple(found[name] for name in sorted(found))


def chosen(settings: Settings, choice: ModelChoice, env: Mapping[str, str]) -> Settings:
    """Settings with another model: its server, key, sampling and thinking, if a profile says so; the rest stays.

    Blocks: files are read, and a command may be asked for the key. Raises `SettingsError`.
    """
    if not choice.profile:
        return replace(settings, model=choice.model or settings.model)
    flags = {MODEL: choice.model} if choice.model else {}
    loaded = load_settings(settings.workspace, env, flags, choice.profile)
    found = loaded.settings
    own = replace(
        settings,
        sampling=found.sampling,
        thinking=found.thinking,
        think_tags=found.think_tags,
        input_price=found.input_price,
        window=found.window,
        model=choice.model or (found.model if _says(loaded.origin(MODEL).layer, choice) else settings.model),
    )
    if not _says(loaded.origin(SERVER).layer, choice):
        return own
    return replace(
        own,
        base_url=found.base_url,
        api_key=found.api_key,
        headers=found.headers,
        model=choice.model or (found.model if _says(loaded.origin(MODEL).layer, choice) else ""),
        idle_seconds=found.idle_seconds,
        wait_server_seconds=found.wait_server_seconds,
        first_contact_seconds=found.first_contact_seconds,
    )


def _says(layer: str, choice: ModelChoice) -> bool:
    return layer == f"profile {choice.profile}"
