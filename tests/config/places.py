"""Configuration files in temporary folders, and loading them as a command does."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pool.config.files import Places
from pool.config.load import LoadedSettings, load_settings, read_files
from pool.config.trust import digest


class Home:
    """A workspace that is a git repository, with a user and a system beside it. Files are given as text by layer."""

    def __init__(self, folder: Path, **texts: str) -> None:
        self.workspace = folder / "checkout"
        (self.workspace / ".git" / "info").mkdir(parents=True)
        (self.workspace / ".git" / "objects").mkdir()
        (self.workspace / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        self.places = Places(folder / "etc" / "config.toml", folder / "user", folder / "state")
        self.files = {
            "system": self.places.system,
            "user": self.places.user_file,
            "project": self.workspace / ".pool" / "config.toml",
            "local": self.workspace / ".pool" / "config.local.toml",
        }
        for layer, text in texts.items():
            self.write(layer, text)

    def write(self, layer: str, text: str) -> Path:
        path = self.files[layer]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def load(
        self,
        env: Mapping[str, str] | None = None,
        flags: Mapping[str, object] | None = None,
        profile: str = "",
        *,
        interactive: bool = False,
    ) -> LoadedSettings:
        return load_settings(self.workspace, env or {}, flags, profile, places=self.places, interactive=interactive)

    def trust(self) -> None:
        """Trust the checkout's files as they are."""
        read = read_files(self.workspace, self.places)
        read.store.trust({s.path.name: digest(s) for s in read.sources if s.checkout})
