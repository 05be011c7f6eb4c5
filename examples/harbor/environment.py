"""An environment for Harbor on a machine without Docker: the task's tree in bubblewrap, to check an agent with.

    harbor run -p TASKS -a pool_agent:Pool --environment-import-path environment:Bubblewrap ...

The image is this machine: its programs read-only, what the Dockerfile copies, and `/app`, `/logs`, `/tests`,
`/solution` and `/installed-agent` of the trial's own. No image is built, so the task has to need nothing but programs
that are here. The network is this machine's, whatever the task says of it. For checks alone: a benchmark's results need
its own images, and a network that is closed.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path
from typing import Any, override

from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import EnvironmentCapabilities

OWN = ("app", "logs", "tests", "solution", "installed-agent", "root", "tmp")
"""Folders that each trial has for itself, and may write."""

PROGRAMS = os.environ.get("CHECK_PATH", os.environ.get("PATH", ""))
"""PATH inside."""


class Bubblewrap(BaseEnvironment):
    """One trial's folders, and commands in them."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._home = self.trial_paths.trial_dir.resolve() / "machine"

    @staticmethod
    @override
    def type() -> str:
        return "bubblewrap"

    @property
    @override
    def capabilities(self) -> EnvironmentCapabilities:
        """All rules about the network are taken, and none is enforced: see above."""
        rules = {name: True for name in EnvironmentCapabilities.model_fields if name.startswith("network_allowlist")}
        return EnvironmentCapabilities(disable_internet=True, **rules)

    @override
    def _validate_definition(self) -> None:
        if not (self.environment_dir / "Dockerfile").is_file():
            raise FileNotFoundError(f"{self.environment_dir} has no Dockerfile")

    @override
    async def start(self, force_build: bool) -> None:
        for name in OWN:
            (self._home / name).mkdir(parents=True, exist_ok=True)
        for line in (self.environment_dir / "Dockerfile").read_text().splitlines():
            if line.startswith("COPY "):
                *sources, target = line.split()[1:]
                self._copy(sources, target)
        for name in ("agent", "verifier", "artifacts"):
            (self._home / "logs" / name).mkdir(exist_ok=True)

    def _copy(self, sources: list[str], target: str) -> None:
        """What an image's COPY does."""
        for source in sources:
            path, into = self.environment_dir / source, self._outside(target)
            if path.is_dir():
                shutil.copytree(path, into, dirs_exist_ok=True)
            else:
                into = into / path.name if target.endswith("/") else into
                into.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, into)

    @override
    async def stop(self, delete: bool) -> None:
        if delete:
            shutil.rmtree(self._home, ignore_errors=True)

    @override
    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        target = self._outside(target_path)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source_path, target)

    @override
    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        shutil.copytree(source_dir, self._outside(target_dir), dirs_exist_ok=True)

    @override
    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        shutil.copy(self._outside(source_path), target_path)

    @override
    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        shutil.copytree(self._outside(source_dir), target_dir, dirs_exist_ok=True)

    @override
    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        variables = {"PATH": PROGRAMS, "HOME": "/root", "LANG": "C.UTF-8", **(self._merge_env(env) or {})}
        process = await asyncio.create_subprocess_exec(
            *("bwrap", *self._binds(), "--chdir", cwd or "/app", "/bin/sh", "-c", command),
            env=variables,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            out, err = await asyncio.wait_for(process.communicate(), timeout_sec)
        except (TimeoutError, asyncio.CancelledError):
            process.kill()
            await process.wait()
            raise
        return ExecResult(
            stdout=out.decode(errors="replace"),
            stderr=err.decode(errors="replace"),
            return_code=process.returncode or 0,
        )

    def _binds(self) -> list[str]:
        binds = ["--die-with-parent", "--tmpfs", "/", "--proc", "/proc", "--dev", "/dev"]
        for entry in sorted(Path("/").iterdir()):
            if not (self._home / entry.name).exists() and entry.name not in ("proc", "dev"):
                binds += ["--symlink", str(entry.readlink()), str(entry)] if entry.is_symlink() else []
                binds += [] if entry.is_symlink() else ["--ro-bind", str(entry), str(entry)]
        for own in sorted(self._home.iterdir()):
            binds += ["--bind", str(own), f"/{own.name}"]
        for shown in filter(None, os.environ.get("CHECK_SHOWN", "").split(os.pathsep)):
            binds += ["--ro-bind", shown, shown]
        return binds

    def _outside(self, path: str) -> Path:
        return self._home / path.lstrip("/")
