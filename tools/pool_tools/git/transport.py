"""fetch and push: the only git that leaves the sandbox, and it takes nothing of the workspace with it but objects.

A remote needs the network and the user's keys, which commands do not have. So after approval git runs outside, with the
user's own configuration, in an empty repository made for this one call: no configuration, no hooks, no attributes and
no filters of the checkout are there for it to follow. It borrows the workspace's objects (`objects/info/alternates`),
sends or takes commits by https or ssh, and is removed. What was fetched goes into the sandbox as a bundle. The pre-push
hook runs before, in the sandbox.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path

from pool_tools.api import ToolError
from pool_tools.frozen import frozen
from pool_tools.git.outside import Done, Surroundings, borrow_objects, check_configuration, object_folder, run_outside
from pool_tools.git.reading import Reader, Reply
from pool_tools.git.runner import ERROR_CHARS, Git
from pool_tools.git.words import Action, Call, remote_name
from pool_tools.private import private_folder
from pool_tools.text import printable, visible

TRANSPORT_SECONDS = 300.0
"""Time limit of one fetch or push."""

PROTOCOLS = ("https", "ssh")
"""Transports that may be used. `ext` runs programs, `file` and `git` are no remotes to trust."""

BUNDLE_BYTES = 2 * 1024**3
"""Largest fetch that is taken over."""

DEFAULT_REMOTE = "origin"
_NO_COMMIT = "0" * 40
_SCP_LIKE = re.compile(r"[A-Za-z0-9_.-]+(?:@[A-Za-z0-9.-]+)?:(?!//)\S+")
_URL = re.compile(r"([a-z][a-z0-9+.-]*)://\S+")
_LOGIN = re.compile(r"(://)[^/@\s]*@")

# $1 remote, $2 its address, $3 what is pushed, as githooks(5) has it.
_PRE_PUSH = """
h=$(git rev-parse --git-path hooks/pre-push) || exit 0
[ -x "$h" ] || exit 0
printf '%s\\n' "$3" | "$h" "$1" "$2"
"""

# $1 the bundle, the rest lines for update-ref.
_TAKE = """
b=$1
shift
[ -z "$b" ] || git bundle unbundle "$b" >/dev/null || exit 1
printf '%s\\n' "$@" | git update-ref --stdin
"""


class Transport:
    """Fetches and pushes for one session."""

    def __init__(
        self,
        protocols: Sequence[str] = PROTOCOLS,
        environ: Mapping[str, str] = os.environ,
        limit: float = TRANSPORT_SECONDS,
    ) -> None:
        """environ is the user's environment: outside the sandbox git may use an ssh agent or a credential helper."""
        self._protocols = tuple(protocols)
        self._environ = environ
        self._limit = limit

    @staticmethod
    def describe(call: Call) -> str:
        """For the person who approves it."""
        return f"git {call.action}, outside the sandbox with your own git settings and keys (no hooks there),"

    @staticmethod
    def command(call: Call) -> str:
        """What it amounts to, as a command line."""
        return printable(" ".join(("git", call.action, remote_name(call, DEFAULT_REMOTE), call.rev)).strip())

    async def run(self, call: Call, git: Git, reader: Reader) -> Reply:
        """Run the call. Raises `ToolError` with git's reason where it fails."""
        remote = remote_name(call, DEFAULT_REMOTE)
        push = call.action is Action.PUSH
        branch = await _branch(call, git) if push else ""
        got = await git.read("remote", "get-url", *(("--push",) if push else ()), "--", remote)
        url = reader.checked(f"git remote get-url {remote}", got).line
        self._check(url)
        objects = await object_folder(git, reader)
        with private_folder("transport") as folder:
            step = _Step(self, git, reader, folder, remote, url)
            await step.prepare(objects)
            return await (step.push(branch) if push else step.fetch())

    def _check(self, url: str) -> None:
        named = _URL.fullmatch(url)
        protocol = named[1] if named else "ssh" if _SCP_LIKE.fullmatch(url) else "file"
        if protocol not in self._protocols:
            raise ToolError(
                f"The remote's address {_without_login(url)} is not {' or '.join(self._protocols)}: such "
                "transports are not used. The user can do it in a terminal."
            )

    async def outside(self, folder: Path, roots: Sequence[Path], *args: str) -> Done:
        """Run git in the empty repository at folder, outside the sandbox."""
        env = {"GIT_ALLOW_PROTOCOL": ":".join(self._protocols)}
        around = Surroundings(folder, roots, self._environ, self._limit)
        check_configuration(around)
        return await run_outside(args, around, env)


@frozen
class _Step:
    """One fetch or push with what it needs."""

    transport: Transport
    git: Git
    reader: Reader
    folder: Path
    remote: str
    url: str

    async def prepare(self, objects: Path) -> None:
        """Make the empty repository, which borrows the workspace's objects."""
        await self._outside("init", "--quiet", "--bare", "--template=", str(self.folder))
        borrow_objects(self.folder, objects)

    async def push(self, branch: str) -> Reply:
        """Send a local branch to the one of the same name."""
        found = await self.git.read("rev-parse", "--verify", "--quiet", "--end-of-options", f"refs/heads/{branch}")
        if not found.ok:
            raise ToolError(f"There is no local branch {visible(branch)}, or it has no commits.")
        sha, ref = found.line, f"refs/heads/{branch}"
        tracked = f"refs/remotes/{self.remote}/{branch}"
        known = (await self.git.read("rev-parse", "--verify", "--quiet", tracked)).line
        line = f"{ref} {sha} {ref} {known or _NO_COMMIT}"
        hook = await self.git.script(_PRE_PUSH, "sh", self.remote, _without_login(self.url), line)
        if not hook.ok:
            raise ToolError(
                f"The pre-push hook refused (exit {hook.status}). Nothing was pushed.\n{printable(hook.text)}"
            )
        told = await self._outside("push", "--no-verify", "--porcelain", "--end-of-options", self.url, f"{sha}:{ref}")
        await self.git.write("update-ref", tracked, sha)
        text = f"Pushed {visible(branch)} ({sha[:10]}) to {self.remote}, outside the sandbox.\n{told}"
        return Reply(text.rstrip(), {"remote": self.remote, "branch": branch, "commit": sha})

    async def fetch(self) -> Reply:
        """Take the remote's branches and new tags."""
        known = await self._refs()
        packed = "".join(f"{sha} refs/have/{number}\n" for number, sha in enumerate(sorted(set(known.values()))))
        (self.folder / "packed-refs").write_text(packed, encoding="ascii")
        branches = f"+refs/heads/*:refs/remotes/{self.remote}/*"
        await self._outside(
            "fetch",
            "--quiet",
            "--no-write-fetch-head",
            "--end-of-options",
            self.url,
            branches,
            "refs/tags/*:refs/tags/*",
        )
        listed = await self._outside("for-each-ref", "--format=%(objectname) %(refname)", "refs/remotes", "refs/tags")
        theirs = {ref: sha for sha, _, ref in (line.partition(" ") for line in listed.splitlines()) if ref}
        changed = {ref: sha for ref, sha in theirs.items() if known.get(ref) != sha}
        # A tag that is there already is the user's; git leaves those alone, too.
        changed = {ref: sha for ref, sha in changed.items() if not (ref.startswith("refs/tags/") and ref in known)}
        if not changed:
            return Reply(f"Fetched from {self.remote}: nothing new.", {"remote": self.remote, "updated": []})
        await self._take(changed, set(known.values()))
        lines = [f"{visible(ref)} {known.get(ref, 'new')[:10]} -> {sha[:10]}" for ref, sha in sorted(changed.items())]
        text = "\n".join((f"Fetched from {self.remote}, outside the sandbox:", *lines))
        return Reply(text, {"remote": self.remote, "updated": sorted(changed)})

    async def _refs(self) -> dict[str, str]:
        """The workspace's branches, remote branches and tags: name -> object."""
        output = await self.git.read("for-each-ref", "--format=%(objectname) %(refname)")
        lines = (line.partition(" ") for line in self.reader.checked("git for-each-ref", output).text.splitlines())
        return {ref: sha for sha, _, ref in lines if ref}

    async def _take(self, changed: Mapping[str, str], have: set[str]) -> None:
        """Bring the objects of changed refs into the workspace's repository, through the sandbox."""
        bundle = self.folder / "bundle"
        have_refs = (f"^{sha}" for sha in sorted(have))
        new = sorted({ref for ref, sha in changed.items() if sha not in have})
        seen = ""
        scratch = self.git.commands.scratch()
        if new:
            await self._outside("bundle", "create", "--quiet", str(bundle), *new, *have_refs)
            if bundle.stat().st_size > BUNDLE_BYTES:
                raise ToolError("The fetch is too large to be taken over. The user can fetch in a terminal.")
            seen = scratch.put(f"fetch-{secrets.token_hex(8)}.bundle", bundle)
        try:
            lines = [f"update {ref} {sha}" for ref, sha in sorted(changed.items())]
            output = await self.git.script(_TAKE, "sh", seen, *lines)
            self.reader.checked("git update-ref", output)
        finally:
            if seen:
                scratch.remove(seen)

    async def _outside(self, *args: str) -> str:
        done = await self.transport.outside(self.folder, self.git.commands.workspace.roots, *args)
        text = printable(_without_login(done.text)).strip()[-ERROR_CHARS:]
        if done.status:
            raise ToolError(f"git {args[0]} failed (exit {done.status}).\n{text}")
        return text


async def _branch(call: Call, git: Git) -> str:
    """The branch to push: the one that the call names, or the current one."""
    branch = call.rev or (await git.read("symbolic-ref", "--quiet", "--short", "HEAD")).line
    if not branch:
        raise ToolError("HEAD is detached: name the branch to push as `rev`.")
    return branch


def _without_login(text: str) -> str:
    """text without names and passwords in addresses."""
    return _LOGIN.sub(r"\1", text)
