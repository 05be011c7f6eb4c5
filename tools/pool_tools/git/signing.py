"""A signed commit: hooks, tree and message inside the sandbox, the signature outside, after an approval of its own.

Inside, `git commit` runs as ever; what it takes for the signing program only puts the commit's text down and waits. So
git itself holds its locks, runs the hooks and moves the branch, and only if nobody else has moved it. Outside, after
approval, `git commit-tree -S` makes the same commit in an empty repository, with the user's own signing settings and
no others, and the signature goes back. Without a signature `git commit` ends without a commit: nothing here ever
switches signing off.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import shlex
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

from pool_tools.api import Confirm, Effect, Preview, Step, ToolError
from pool_tools.frozen import frozen
from pool_tools.git.outside import Done, Surroundings, borrow_objects, in_roots, object_folder, run_outside
from pool_tools.git.payload import Payload, parse_payload, unsigned
from pool_tools.git.reading import Reader
from pool_tools.git.runner import ERROR_CHARS, WRITE_SECONDS, Git, Output, shortened
from pool_tools.home import expanded
from pool_tools.private import private_folder
from pool_tools.scratch import Scratch
from pool_tools.text import printable, visible

SIGNING_SECONDS = 120.0
"""Time limit of the signing program: a person may have to touch a key, or to type into a window."""

ANSWER_SECONDS = 12 * 3600.0
"""So long an answer is waited for while git holds the index; then there is no commit."""

LETTING_GO_SECONDS = 5.0
PAYLOAD_BYTES = 1024 * 1024
STAT_CHARS = 3_000

_POLL_SECONDS = 0.05
_SETTINGS = r"^(gpg\..*|user\.signingkey)$"
_OWN_SCOPES = ("system", "global")
_NOT_DONE = "Nothing was committed and signing was not switched off: what is staged stays."

# What git takes for its signing program: $d is the folder for notes, $t is in their names.
_SIGNER = """#!/bin/sh
d={folder}
t={token}
cat > "$d/payload-$t.part" && mv "$d/payload-$t.part" "$d/payload-$t" || exit 1
while [ ! -e "$d/go-$t" ]; do
  [ ! -e "$d/no-$t" ] || exit 1
  sleep 0.05
done
cat "$d/signature-$t" || exit 1
printf '\\n[GNUPG:] SIG_CREATED \\n' >&2
"""


@frozen
class Setting:
    """A setting of the user's own. value is None where the key stands alone."""

    key: str
    value: str | None

    @property
    def flag(self) -> str:
        return self.key if self.value is None else f"{self.key}={self.value}"


async def refuse(step: Step) -> str:
    """Confirms nothing: for callers that cannot ask."""
    return "Nobody can be asked here."


class Signing:
    """Makes signed commits for one session."""

    def __init__(
        self, git: Git, reader: Reader, environ: Mapping[str, str] = os.environ, limit: float = SIGNING_SECONDS
    ) -> None:
        """environ is the user's environment, in which an agent for keys may be named."""
        self._git = git
        self._reader = reader
        self._environ = environ
        self._limit = limit

    async def wanted(self) -> bool:
        """Whether the settings ask for signed commits."""
        return (await self._git.read("config", "--type=bool", "--get", "commit.gpgsign")).line == "true"

    async def commit(self, args: Sequence[str], confirm: Confirm) -> Output:
        """Run `git commit` with args (that word included). Raises `ToolError` if it was not signed."""
        settings = await self._settings()
        notes = _Notes(self._git.commands.scratch(), secrets.token_hex(8))
        notes.write("signer", _SIGNER.format(folder=shlex.quote(notes.scratch.seen), token=notes.token).encode(), 0o700)
        program = notes.seen("signer")
        flags = ("gpg.format=openpgp", f"gpg.program={program}", f"gpg.openpgp.program={program}")
        committing = asyncio.ensure_future(
            self._git.write(*(part for flag in flags for part in ("-c", flag)), *args, limit=ANSWER_SECONDS)
        )
        try:
            data = await self._payload(committing, notes)
            if data is None:
                return await committing
            signed, signature = await self._signature(parse_payload(data), settings, confirm)
            notes.write("signature", signature)
            notes.write("go", b"")
            return await self._same(await committing, signed)
        except ToolError as error:
            await self._let_go(committing, notes)
            raise ToolError(f"{error} {_NOT_DONE}") from None
        finally:
            committing.cancel()
            await asyncio.gather(committing, return_exceptions=True)
            notes.remove()

    # -- inside

    async def _payload(self, committing: asyncio.Future[Output], notes: _Notes) -> bytes | None:
        """What is to be signed; None if git has ended before it came to that. The hooks run meanwhile."""
        try:
            async with asyncio.timeout(WRITE_SECONDS):
                while not committing.done():
                    if (data := notes.read("payload")) is not None:
                        return data
                    await asyncio.wait({committing}, timeout=_POLL_SECONDS)
        except TimeoutError:
            raise ToolError(f"The hooks took longer than {WRITE_SECONDS:.0f} s.") from None
        return None

    async def _let_go(self, committing: asyncio.Future[Output], notes: _Notes) -> None:
        """Let git end by itself, so that it takes its locks away."""
        with contextlib.suppress(OSError):
            notes.write("no", b"")
        await asyncio.wait({committing}, timeout=LETTING_GO_SECONDS)

    async def _same(self, output: Output, signed: str) -> Output:
        head = (await self._git.read("rev-parse", "HEAD")).line
        if output.ok and head != signed:
            # A hook may have gone on after the commit.
            parents = (await self._git.read("rev-list", "--max-count=20", "HEAD")).text.split()
            if signed not in parents:
                raise ToolError(f"git made another commit than the one that was signed ({signed[:10]}). Tell the user.")
        return output

    async def _settings(self) -> list[Setting]:
        """The user's own settings about signing, those for certain folders included; none of the checkout's.

        Raises `ToolError` if one of them lies where commands can write.
        """
        found = await self._git.read("config", "--show-scope", "--show-origin", "-z", "--get-regexp", _SETTINGS)
        fields = found.text.split("\0")
        roots = self._git.commands.workspace.roots
        out: list[Setting] = []
        for scope, origin, entry in zip(fields[0::3], fields[1::3], fields[2::3], strict=False):
            if scope not in _OWN_SCOPES:
                continue
            path = origin.removeprefix("file:")
            key, stated, value = entry.partition("\n")
            program = str(expanded(value)) if key.endswith(("program", "command")) else ""
            if in_roots(os.path.abspath(path), roots) or (os.path.isabs(program) and in_roots(program, roots)):
                raise ToolError(
                    f"{visible(key)} lies in the workspace ({visible(path)}), so it is not trusted to sign."
                )
            out.append(Setting(key, value if stated else None))
        return out

    # -- outside

    async def _signature(self, payload: Payload, settings: list[Setting], confirm: Confirm) -> tuple[str, bytes]:
        """The signed commit's name, and its signature, once that is approved."""
        message = payload.data.decode("utf-8", "replace")
        step = Step(
            {"action": "sign", "message": message}, Effect.NETWORK, await self._preview(payload, settings, message)
        )
        if reason := await confirm(step):
            raise ToolError(f"The commit was not signed: it was denied. {reason}")
        with private_folder("signing") as folder:
            around = Surroundings(folder, self._git.commands.workspace.roots, self._environ, self._limit)
            await _outside(
                around, "init", "--quiet", "--bare", "--template=", f"--object-format={payload.object_format}"
            )
            borrow_objects(folder, await object_folder(self._git, self._reader))
            name = (await self._commit_tree(around, payload, settings)).text.strip()
            data = (await _outside(around, "cat-file", "commit", name)).out
        plain, signature = unsigned(data)
        if plain != payload.data or not signature:
            raise ToolError("The commit has something in it that cannot be signed here. The user can run git commit.")
        return name, signature + b"\n"

    async def _commit_tree(self, around: Surroundings, payload: Payload, settings: list[Setting]) -> Done:
        own = [*settings, *([Setting("i18n.commitEncoding", payload.encoding)] if payload.encoding else [])]
        flags = [part for setting in own for part in ("-c", setting.flag)]
        parents = [part for parent in payload.parents for part in ("-p", parent)]
        env: dict[str, str] = {}
        for who, identity in (("AUTHOR", payload.author), ("COMMITTER", payload.committer)):
            for name, value in zip(("NAME", "EMAIL", "DATE"), identity, strict=True):
                env[f"GIT_{who}_{name}"] = os.fsdecode(value)
        args = (*flags, "commit-tree", "-S", *parents, "-F", "-", payload.tree)
        return await _outside(around, *args, env=env, given=payload.message)

    async def _preview(self, payload: Payload, settings: list[Setting], message: str) -> Preview:
        how = "\n".join(printable(setting.flag) for setting in settings) or "no settings: gpg with your default key"
        base = payload.parents[:1] or ("--root",)
        stat = await self._git.read("diff-tree", "--stat=80", "--no-commit-id", "-r", *base, payload.tree)
        files, _ = shortened(printable(stat.text).rstrip(), STAT_CHARS, STAT_CHARS)
        body = f"{printable(message).rstrip()}\n\n{files}\n\nSigned with:\n{how}"
        return Preview("text", "Sign this commit outside the sandbox, with your own key", body)


@frozen
class _Notes:
    """Files by which git's side and this one talk. Commands may write there, so nothing in them is trusted."""

    scratch: Scratch
    token: str

    def seen(self, name: str) -> str:
        return self.scratch.path(f"{name}-{self.token}")

    def write(self, name: str, data: bytes, mode: int = 0o600) -> None:
        with open(self.scratch.open(f"{name}-{self.token}"), "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(data)

    def read(self, name: str) -> bytes | None:
        """The file if it is there, never by a link. Raises `ToolError` for anything that is no small plain file."""
        try:
            handle = os.open(self._path(name), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ToolError(f"What is to be signed cannot be read: {error.strerror}.") from None
        with os.fdopen(handle, "rb") as file:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode) or found.st_size > PAYLOAD_BYTES:
                raise ToolError("What is to be signed is no commit, or too large.")
            return file.read(PAYLOAD_BYTES)

    def remove(self) -> None:
        for name in ("signer", "payload", "signature", "go", "no"):
            with contextlib.suppress(OSError):
                self._path(name).unlink()

    def _path(self, name: str) -> Path:
        return self.scratch.folder / f"{name}-{self.token}"


_NO_CONFIGURATION = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


async def _outside(around: Surroundings, *args: str, env: Mapping[str, str] | None = None, given: bytes = b"") -> Done:
    """Run git with no configuration but that in args. Raises `ToolError` with its reason where it fails."""
    done = await run_outside(args, around, {**_NO_CONFIGURATION, **(env or {})}, given)
    if done.status:
        told = printable(done.text).strip()[-ERROR_CHARS:]
        raise ToolError(f"The commit could not be signed (exit {done.status}).\n{told}\n")
    return done
