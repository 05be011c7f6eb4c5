"""Starting agents for the escapes: as whom, in which tier, and what lies around them."""

from __future__ import annotations

import atexit
import json
import os
import pwd
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pathspec

import pool_tools

NOBODY = 65_534
"""Who runs the escapes as a plain user, if the tests run as root: every system has this user."""

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
SECRET_FILES = (".ssh/id_ed25519", ".aws/credentials", ".netrc", ".config/gh/hosts.yml", ".config/pool/settings.toml")
SECRET = "top-secret-value"
ENV_SECRET = "sk-environment-secret"


@dataclass(frozen=True, slots=True)
class Reply:
    ok: bool
    text: str
    data: dict[str, Any]
    error: str
    seconds: float
    peak_kib: int

    @property
    def output(self) -> str:
        """What the command printed, without the line that says how it ended; notes on it come after."""
        output = self.text.partition("\n")[2]
        for note in ("\n[the command changed files", "\n[before this command"):
            output = output.partition(note)[0]
        return "" if output.startswith("(no output)") else output


class Agent:
    """An agent in base/work, whose home is base/home; base/outside.txt is what it must not change."""

    def __init__(self, base: Path, uid: int | None, tier: str, env: Mapping[str, str], **bounds: int) -> None:
        self.base, self.uid = base, uid
        self.work, self.home, self.outside = base / "work", base / "home", base / "outside.txt"
        for folder in (self.work, self.home):
            folder.mkdir(exist_ok=True)
        self.outside.write_text("as it was\n")
        for name in SECRET_FILES:
            (self.home / name).parent.mkdir(parents=True, exist_ok=True)
            (self.home / name).write_text(SECRET)
        (self.home / ".gitconfig").write_text("[user]\n\tname = T\n\temail = t@example.org\n")
        self._own()
        program = Path(__file__).with_name("desk_process.py")
        python, modules = interpreter(uid)
        shutil.copy(program, modules / program.name)
        self.process = subprocess.Popen(
            [python, str(modules / program.name), str(self.work), tier, json.dumps(bounds)],
            env={"PATH": SYSTEM_PATH, "LANG": "C.UTF-8", **env, "HOME": str(self.home), "PYTHONPATH": str(modules)},
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            user=uid,
            group=uid,
            extra_groups=None if uid is None else [],
        )
        self.state: dict[str, Any] = self._line()

    @property
    def tier(self) -> str:
        return self.state["tier"]

    @property
    def is_root(self) -> bool:
        return self.uid is None and os.getuid() == 0

    def call(self, tool: str, **args: Any) -> Reply:
        assert self.process.stdin is not None
        self._own()
        self.process.stdin.write(json.dumps({"tool": tool, "args": args}) + "\n")
        self.process.stdin.flush()
        return Reply(**self._line())

    def shell(self, command: str, timeout: int = 30) -> Reply:
        return self.call("shell", command=command, timeout=timeout)

    def out(self, command: str) -> str:
        return self.shell(command).output.strip()

    def python(self, script: str, timeout: int = 30) -> Reply:
        self.file("script.py", script)
        return self.shell("python3 script.py", timeout)

    def file(self, name: str | bytes, data: bytes | str = b"") -> Path:
        path = Path(os.fsdecode(os.path.join(os.fsencode(self.work), os.fsencode(name))))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

    def git(self, *args: str) -> str:
        """Git as the user runs it, outside any sandbox."""
        env = {"PATH": SYSTEM_PATH, "HOME": str(self.home)}
        command = ["git", "-c", "safe.directory=*", *args]
        return subprocess.run(command, cwd=self.work, env=env, check=True, capture_output=True, text=True).stdout

    def repository(self) -> None:
        self.git("init", "-q")
        self.git("commit", "-q", "--allow-empty", "-m", "one")

    def clear(self) -> None:
        """Empty the workspace for the next test."""
        subprocess.run(["find", str(self.work), "-mindepth", "1", "-delete"], check=True)

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(30)
        self.process.stdout.close()

    def _line(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the agent's process has ended"
        return json.loads(line)

    def _own(self) -> None:
        """What root made belongs to whoever the agent is: only the sandbox shall stand between them."""
        if self.uid is not None:
            subprocess.run(["chown", "-hR", f"{self.uid}:{self.uid}", str(self.base)], check=True)


def new_base() -> Path:
    """A folder that commands could see and reach: /tmp, where tests usually work, is not the host's for them."""
    if os.getuid() == 0:
        base = Path(tempfile.mkdtemp(prefix="escapes-", dir="/var/lib"))
    else:
        parent = Path(__file__).parents[3] / ".pytest_cache"
        parent.mkdir(exist_ok=True)
        base = Path(tempfile.mkdtemp(prefix="escapes-", dir=parent))
    base.chmod(0o755)
    return base


@cache
def interpreter(uid: int | None) -> tuple[str, Path]:
    """A Python that user uid can run, and a folder with the modules it needs. Raises `LookupError`."""
    modules = Path(tempfile.mkdtemp(prefix="escapes-modules-"))
    atexit.register(shutil.rmtree, modules, ignore_errors=True)
    for module in (pool_tools, pathspec):
        source = Path(module.__file__ or "").parent
        shutil.copytree(source, modules / source.name, ignore=shutil.ignore_patterns("__pycache__"))
    for base, folders, files in os.walk(modules):
        for name in (".", *folders, *files):
            path = Path(base, name)
            path.chmod(path.stat().st_mode | stat.S_IRGRP | stat.S_IROTH | (0o111 if path.is_dir() else 0))
    if uid is None:
        return sys.executable, modules
    check = "import sys; sys.exit(sys.version_info < (3, 11))"
    for python in (sys.executable, os.path.realpath(sys.executable), shutil.which("python3", path=SYSTEM_PATH)):
        try:
            if python and not subprocess.run([python, "-c", check], user=uid, group=uid, extra_groups=[]).returncode:
                return python, modules
        except OSError:
            continue
    raise LookupError("no Python 3.11 that a plain user can run")


def plain_user() -> int | None:
    """The uid to run as for a plain user: None if the tests run as one."""
    if os.getuid() != 0:
        return None
    try:
        return pwd.getpwnam("nobody").pw_uid
    except KeyError:
        return NOBODY
