"""Loading the configuration: built-in values, files, the environment and flags, to one `Settings`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path

from pool.config.files import LOCAL_FILE, Origin, Places, Source, printable, project_folder, read_source, read_text
from pool.config.keys import PREFIX, keys
from pool.config.merge import Merge, Step, with_fields
from pool.config.profiles import BUILT_IN_PROFILES, INTERACTIVE
from pool.config.settings import Budgets, Settings, SettingsError, think_budget
from pool.config.trust import TrustStore, beside, checkout_files
from pool_tools.frozen import frozen
from pool_tools.home import expanded

OTHER_VARIABLES = frozenset({"POOL_DEBUG"})
"""Variables of Pool that set no key."""

REMEDY = "mend it by hand or with `pool config edit`; `pool config check` reads it again"

_REASONING = ("budgets.reasoning_soft", "budgets.reasoning_turn", "budgets.reasoning_first_turn")


@frozen
class LoadedSettings:
    """What came of loading. warnings are lines for people, without control characters.

    profile is the one in use, "" for none. ignored are keys of the checkout's files that wait for the user's trust.
    """

    settings: Settings
    warnings: tuple[str, ...]
    profile: str
    ignored: Mapping[Path, tuple[str, ...]]
    merge: Merge = field(repr=False)

    @property
    def values(self) -> Mapping[str, object]:
        """The value of every key, by its name."""
        return self.merge.values

    @property
    def origins(self) -> Mapping[str, Origin]:
        """Where every value comes from, by the name of the key."""
        return {name: self.merge.origin(name) for name in self.merge.values}

    def origin(self, name: str, item: str = "") -> Origin:
        """Where the value of a key comes from, or an item of it if it is a list."""
        return self.merge.origin(name, item)


@frozen
class Read:
    """The files that there are, from the weakest to the strongest, and the trust in those of the checkout."""

    sources: tuple[Source, ...]
    store: TrustStore
    trusted: Mapping[Path, bool]

    def of(self, layer: str) -> Source | None:
        """The file of a layer, if there is one."""
        return next((s for s in self.sources if s.layer == layer), None)


def read_files(workspace: Path, places: Places) -> Read:
    """Read the files that count for a workspace. Faults are in the sources."""
    folder = project_folder(workspace)
    project, local = checkout_files(folder)
    found = (
        read_source("system", places.system),
        read_source("user", places.user_file),
        read_source("project", project, checkout=True, workspace=workspace),
        read_source("local", local, checkout=True, workspace=workspace),
    )
    sources = tuple(source for source in found if source is not None)
    store = TrustStore(places.state, folder)
    trusted = {s.path: store.trusts(s) for s in sources if s.checkout}
    if any(s.path.name == LOCAL_FILE and s.checkout for s in sources):
        from pool.config.gitexclude import exclude_local

        exclude_local(folder)
    return Read(sources, store, trusted)


def load_settings(
    workspace: Path,
    env: Mapping[str, str],
    flags: Mapping[str, object] | None = None,
    profile: str = "",
    *,
    interactive: bool = False,
    places: Places | None = None,
    with_key: bool = True,
) -> LoadedSettings:
    """Load everything that counts for a workspace.

    flags are values by key name, as `Key.kind` reads them; profile is the one of `--profile`. interactive: a person is
    there, so the limits of a run are those of `INTERACTIVE`. with_key: the API key is fetched (a command may run).
    Raises `SettingsError`, whose message has one line for each fault.
    """
    places = places or Places.usual(env)
    read = read_files(workspace, places)
    errors = [error for source in read.sources for error in source.errors]
    if errors:
        raise SettingsError("\n".join([*map(printable, errors), REMEDY]))
    variables, where = _environment(env)
    given = _flags(flags or {})
    name, chosen_by = _profile(read, str(variables.get("profile", "")), profile)
    merge = Merge()
    for step in _steps(read, name, chosen_by, variables, where, given, interactive=interactive):
        trusted = step.source is None or read.trusted.get(step.source.path, True)
        merge.lay(step, trusted=trusted)
    system = read.of("system")
    if system is not None:
        merge.lock(system)
    merge.values["profile"] = name
    warnings = [w for s in read.sources for w in s.warnings] + _variable_warnings(env)
    settings = _settings(workspace, merge, env, places, warnings, with_key=with_key)
    warnings += merge.warnings
    if read.of("user") is not None and _within(places.user_file, workspace):
        warnings.append(
            f"your own configuration ({places.user_file}) lies in the workspace, where commands can change it; "
            "work in a folder below"
        )
    if merge.ignored:
        warnings.append(_notice(merge.ignored, read.store.folder))
    return LoadedSettings(
        settings,
        tuple(map(printable, warnings)),
        name,
        {path: tuple(names) for path, names in merge.ignored.items()},
        merge,
    )


def _environment(env: Mapping[str, str]) -> tuple[dict[str, object], dict[str, str]]:
    """Values from variables, and which variable gave each. Raises `SettingsError`."""
    values: dict[str, object] = {}
    where: dict[str, str] = {}
    for name, key in keys().items():
        variable = next((v for v in key.environment if env.get(v, "").strip()), "")
        if not variable:
            continue
        try:
            values[name] = key.kind.parse(env[variable].strip())
        except ValueError as error:
            shown = "its value" if key.secret else repr(env[variable][:60])
            raise SettingsError(f"the variable {variable} must be {error}, not {shown}") from None
        where[name] = f"${variable}"
    return values, where


def _variable_warnings(env: Mapping[str, str]) -> list[str]:
    """A word on variables that look like misspelt ones of Pool's."""
    known = {v for key in keys().values() for v in key.environment} | OTHER_VARIABLES
    unknown = [v for v in env if v.startswith(PREFIX) and v not in known]
    if not unknown:
        return []
    import difflib

    near = ((v, difflib.get_close_matches(v, sorted(known), n=1, cutoff=0.85)) for v in unknown)
    return [f"the variable {v} means nothing to Pool; did you mean {found[0]}?" for v, found in near if found]


def _flags(flags: Mapping[str, object]) -> Step:
    """Values that flags gave. Raises `SettingsError`."""
    values: dict[str, object] = {}
    for name, value in flags.items():
        key = keys()[name]
        try:
            values[name] = key.kind.read(value)
        except ValueError as error:
            raise SettingsError(f"{key.flag or name} must be {error}, not {value!r}") from None
    return Step(values, "flag", places={name: keys()[name].flag for name in values})


def _profile(read: Read, variable: str, flag: str) -> tuple[str, str]:
    """The profile to use and the layer that chose it. Raises `SettingsError` for one that does not exist."""
    choices = [("flag", flag.strip()), ("environment", variable)]
    choices += [
        (s.layer, str(s.values.get("profile", ""))) for s in reversed(read.sources) if read.trusted.get(s.path, True)
    ]
    layer, name = next(((layer, name) for layer, name in choices if name), ("", ""))
    known = {*BUILT_IN_PROFILES, *(p for s in read.sources for p in s.profiles)}
    if name and name not in known:
        import difflib

        near = difflib.get_close_matches(name, sorted(known), n=1)
        meant = f"; did you mean {near[0]}?" if near else ""
        raise SettingsError(f"there is no profile {name!r} among {', '.join(sorted(known))}{meant}")
    return name, layer


def _steps(
    read: Read,
    profile: str,
    chosen_by: str,
    variables: Mapping[str, object],
    where: Mapping[str, str],
    flags: Step,
    *,
    interactive: bool,
) -> Iterator[Step]:
    """All layers from the weakest to the strongest; a profile comes right before the layer that chose it."""
    if interactive:
        yield Step(INTERACTIVE, "built-in")
    for source in read.sources:
        if chosen_by == source.layer:
            yield from _profile_steps(read, profile)
        yield Step(source.values, source.layer, source)
    if chosen_by == "environment":
        yield from _profile_steps(read, profile)
    yield Step(variables, "environment", places=where)
    if chosen_by == "flag":
        yield from _profile_steps(read, profile)
    yield flags


def _profile_steps(read: Read, name: str) -> Iterator[Step]:
    layer = f"profile {name}"
    if name in BUILT_IN_PROFILES:
        yield Step(BUILT_IN_PROFILES[name], layer)
    for source in read.sources:
        if name in source.profiles:
            yield Step(source.profiles[name], layer, source, f"profiles.{name}.")


def _settings(
    workspace: Path, merge: Merge, env: Mapping[str, str], places: Places, warnings: list[str], *, with_key: bool
) -> Settings:
    changes: dict[str, object] = {}
    # Two keys may lead to one field; the later one counts.
    for name in sorted(keys(), key=merge.order):
        key = keys()[name]
        if key.field and merge.order(name):
            value = merge.values[name]
            if key.path:
                value = _text_of(merge, name, workspace)
            changes[key.field] = key.make(value) if key.make and value is not None else value
    level = str(merge.values["thinking.level"])
    settings = with_fields(Settings(workspace=workspace, thinking=level != "off"), changes)
    if level not in ("on", "off"):
        settings = with_fields(settings, {"budgets": _capped(think_budget(settings.budgets, level), merge)})
    if with_key:
        from pool.config.secrets import api_key

        settings = with_fields(settings, {"api_key": api_key(merge, env, places, warnings)})
    return settings


def _capped(budgets: Budgets, merge: Merge) -> Budgets:
    """Budgets of a level of thinking, held to what an untrusted checkout lowered or the system locked."""
    changes: dict[str, object] = {}
    for name in _REASONING:
        limit, field_name = int(str(merge.capped.get(name, 0))), name.rpartition(".")[2]
        if limit:
            changes[field_name] = min(limit, getattr(budgets, field_name) or limit)
    from dataclasses import replace

    return replace(budgets, **changes) if changes else budgets


def _text_of(merge: Merge, name: str, workspace: Path) -> str:
    """The text of the file that a key names. Raises `SettingsError`."""
    source, value = merge.source(name), str(merge.values[name])
    if not value:
        return ""
    path = beside(source, value) if source is not None else workspace / expanded(value)
    try:
        text = read_text(path)
    except OSError as error:
        raise SettingsError(f"{merge.origin(name)}: {name}: {path} cannot be read: {error.strerror}") from None
    if text is None or not text.strip():
        raise SettingsError(f"{merge.origin(name)}: {name}: {path} {'is empty' if text is not None else 'is missing'}")
    return text


def _within(path: Path, folder: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def _notice(ignored: Mapping[Path, list[str]], folder: Path) -> str:
    names = list(dict.fromkeys(name for found in ignored.values() for name in found))
    shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    files = ", ".join(os.path.relpath(path, folder) for path in ignored)
    return f"{files} would allow more than you do ({shown}); this is ignored. `pool config trust` shows it and asks"


def flag_values(given: Mapping[str, object | None]) -> dict[str, object]:
    """The flags that were given: those that are neither None nor empty."""
    return {name: value for name, value in given.items() if value is not None and value not in ([], "")}
