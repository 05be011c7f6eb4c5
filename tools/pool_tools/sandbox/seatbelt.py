"""The Seatbelt tier, for macOS: a profile for `sandbox-exec`. Written from Apple's and other agents' profiles, untried.

The profile denies by default. Paths in it are canonical: the kernel compares what a path leads to, so `/tmp` must be
written `/private/tmp`.
"""

from __future__ import annotations

import copy
import os
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pool_tools.private import PrivateFolder, make_private
from pool_tools.sandbox.base import Access, CannotExpress, Guard, Launch, Policy, Process, start_supervised
from pool_tools.sandbox.gitguard import git_paths
from pool_tools.sandbox.gitrestore import GitGuard
from pool_tools.sandbox.secrets import secret_paths
from pool_tools.sandbox.view import CACHES

SANDBOX_EXEC = "/usr/bin/sandbox-exec"
"""By absolute path: what PATH names could lie in the workspace."""

_PRIVATE = ("/tmp", "/var", "/etc")
"""Links in macOS's root that lead to the same names in /private."""

_BASE = """(version 1)
(deny default)
(import "system.sb")
(allow process-exec process-fork)
(allow process-info* signal (target same-sandbox))
(allow sysctl-read)
(allow file-read* file-test-existence)
(allow file-write* (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (literal "/dev/dtracehelper"))
(allow file-ioctl (literal "/dev/tty"))
(allow pseudo-tty)
(allow file-read* file-write* file-ioctl (regex #"^/dev/ttys[0-9]+$") (literal "/dev/ptmx"))
(allow ipc-posix-sem ipc-posix-shm)
(allow mach-lookup
  (global-name "com.apple.system.opendirectoryd.libinfo")
  (global-name "com.apple.system.logger")
  (global-name "com.apple.bsd.dirhelper"))
(deny appleevent-send)
(deny mach-lookup
  (global-name "com.apple.pasteboard.1")
  (global-name "com.apple.securityd.xpc")
  (global-name "com.apple.SecurityServer"))
"""
"""Without anything of the policy. POSIX semaphores are what Python's process pools are made of."""


class Seatbelt:
    """Runs commands under `sandbox-exec`. Nobody has tried it on a Mac yet, and `describe` says so."""

    name = "seatbelt"
    contains_processes = False

    def __init__(self, policy: Policy) -> None:
        """Raises `CannotExpress`."""
        if policy.access is Access.FULL:
            raise CannotExpress("full access is no sandbox")
        if policy.allow is not None:
            raise CannotExpress("Seatbelt cannot limit the network to a list of hosts")
        self._policy = policy
        self.bounds = policy.bounds
        self._roots = [Path(os.path.realpath(root)) for root in policy.roots]
        self._private: PrivateFolder | None = None
        self.guard: Guard | None = GitGuard(self._roots, journals=policy.journals) if policy.writable else None

    def describe(self) -> str:
        where = "in the workspace and a private TMPDIR" if self._policy.writable else "in a private TMPDIR"
        network = "network on" if self._policy.network else "no network"
        return f"Seatbelt, untried: writes only {where}, {network}, secrets in your home unreadable"

    def read_only(self) -> Seatbelt:
        """This sandbox for commands that write only to TMPDIR, which is the same, and have no network."""
        self.scratch_folder()
        view = copy.copy(self)
        view._policy = self._policy.reading()
        view.guard = None
        return view

    def wrap(self, argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> Launch:
        tmp = self.scratch_folder()[0]
        text = profile(self._policy, tmp, secret_paths(env, self._policy.hidden, self._policy.readable))
        caches = {name: str(tmp / folder) for name, folder in CACHES.items()}
        limited = ("/bin/sh", "-c", f'{self.bounds.shell()}; exec "$@"', "sh", *argv)
        return Launch((SANDBOX_EXEC, "-p", text, "--", *limited), {**caches, **env, "TMPDIR": str(tmp)})

    def start(self, argv: Sequence[str], cwd: Path, env: Mapping[str, str], control: int, output: int) -> Process:
        return start_supervised(self.wrap(argv, cwd, env), cwd, control, output)

    def scratch_folder(self) -> tuple[Path, str]:
        """The commands' temporary folder, and how they call it."""
        if self._private is None:
            self._private = make_private("sandbox")
        return self._private.path, str(self._private.path)

    def close(self) -> None:
        if self.guard is not None:
            self.guard.close()
        if self._private is not None:
            self._private.remove()
            self._private = None


def profile(policy: Policy, tmp: Path, hidden: Sequence[Path]) -> str:
    """The profile's text. Later rules win over earlier ones. tmp: what commands may write besides."""
    roots = [Path(os.path.realpath(root)) for root in policy.roots]
    git = [git_paths(root) for root in roots]
    around = [path for path in hidden if any(root != path and root.is_relative_to(path) for root in roots)]
    within = [path for path in hidden if path not in around and path not in roots]
    shown = [*roots, *(path for paths in git for path in paths.writable)]
    lines = [
        _BASE,
        *(f"(deny file-read* file-write* (subpath {_quoted(path)}))" for path in around),
        *(f"(allow file-read* (subpath {_quoted(path)}))" for path in shown if around),
        *(f"(allow file-write* (subpath {_quoted(path)}))" for path in (tmp, *policy.caches)),
        *(f"(allow file-write* (subpath {_quoted(path)}))" for path in shown if policy.writable),
        *_git_orders(roots, [path for paths in git for path in paths.protected]),
        *(f"(deny file-read* file-write* (subpath {_quoted(path)}))" for path in within),
        *_network(policy),
    ]
    return "\n".join(lines) + "\n"


def _git_orders(roots: Sequence[Path], protected: Sequence[Path]) -> Iterator[str]:
    for root in roots:
        # Also where nothing is yet, and by any spelling: the disk may not tell upper from lower case.
        yield f"(deny file-write* (regex {_pattern(root, '/(.*/)?[.]git/(config|config[.]worktree|hooks)(/|$)')}))"
        # What is above a protected path must not be moved aside and made anew without it.
        yield f"(deny file-write-unlink (regex {_pattern(root, '/(.*/)?[.]git$')}) (literal {_quoted(root)}))"
    for path in protected:
        yield f"(deny file-write* (subpath {_quoted(path)}))"


def _network(policy: Policy) -> Iterator[str]:
    if policy.network:
        yield from ("(allow network-outbound (remote ip))", "(allow network-inbound (local ip))")
        yield "(allow network-bind (local ip))"
        yield '(allow network-outbound (literal "/private/var/run/mDNSResponder"))'


def _quoted(path: Path) -> str:
    """A path as the profile language writes text."""
    return '"' + _plain(path).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _pattern(root: Path, rest: str) -> str:
    """A regular expression for paths below root; rest in any case of letters."""
    text = _plain(root)
    if '"' in text:
        raise CannotExpress(f"Seatbelt cannot guard {text!r}, which holds a quotation mark")
    folded = "".join(f"[{c.lower()}{c.upper()}]" if c.isalpha() else c for c in rest)
    return f'#"^{re.escape(text)}{folded}"'


def _plain(path: Path) -> str:
    text = canonical(str(path))
    if any(ord(c) < ord(" ") for c in text):
        raise CannotExpress(f"Seatbelt cannot name {text!r}, which holds control characters")
    return text


def canonical(path: str) -> str:
    """A path as the kernel of macOS names it: composed characters, and /private where the root has links."""
    text = unicodedata.normalize("NFC", path)
    if any(text == top or text.startswith(top + "/") for top in _PRIVATE):
        return "/private" + text
    return text
