"""Actions of git that change the repository or the work tree, all inside the sandbox, with the user's own hooks."""

from __future__ import annotations

from pool_tools.api import Confirm, ToolError
from pool_tools.git.reading import Reader, Reply
from pool_tools.git.runner import Git, Output, shortened
from pool_tools.git.signing import Signing
from pool_tools.git.words import Action, Call, inside, stash_entry
from pool_tools.limits import OUTPUT_HEAD_CHARS, OUTPUT_TAIL_CHARS
from pool_tools.text import printable


def arguments(call: Call, paths: tuple[str, ...]) -> tuple[str, ...]:
    """The arguments of git for a writing call. Raises `ToolError` where something is missing."""
    match call.action:
        case Action.ADD:
            return ("add", "--all") if call.every and not paths else ("add", "--", *_some(call, paths))
        case Action.COMMIT:
            return _commit(call, paths)
        case Action.STASH:
            return _stash(call, paths)
        case Action.RESTORE:
            return _restore(call, paths)
        case Action.BRANCH:
            return _branch(call)
        case Action.WORKTREE:
            return _worktree(call, paths)
        case _:
            raise ToolError(f"{call.action} changes nothing here.")


def _some(call: Call, paths: tuple[str, ...]) -> tuple[str, ...]:
    if not paths:
        raise ToolError(f"{call.action} needs `paths`" + (", or `all`." if call.action is Action.ADD else "."))
    return paths


def _commit(call: Call, paths: tuple[str, ...]) -> tuple[str, ...]:
    if not call.message.strip():
        raise ToolError("commit needs a `message`.")
    which = ("--all",) if call.every else ()
    return ("commit", f"--message={call.message}", *which, *(("--", *paths) if paths else ()))


def _stash(call: Call, paths: tuple[str, ...]) -> tuple[str, ...]:
    if call.op != "push":
        return ("stash", call.op, *(("--index",) if call.op == "pop" else ()), stash_entry(call))
    message = (f"--message={call.message}",) if call.message.strip() else ()
    return (
        "stash",
        "push",
        *(("--include-untracked",) if call.every else ()),
        *message,
        "--",
        *(f":(literal){path}" for path in paths),
    )


def _restore(call: Call, paths: tuple[str, ...]) -> tuple[str, ...]:
    source = (f"--source={call.rev}",) if call.rev else ()
    return ("restore", *(("--staged",) if call.staged else ()), *source, "--", *_some(call, paths))


def _branch(call: Call) -> tuple[str, ...]:
    if call.op == "switch" and call.rev and not call.name:
        return ("switch", "--detach", "--end-of-options", call.rev)
    if not call.name:
        raise ToolError(f"branch {call.op} needs a `name`.")
    match call.op:
        case "create":
            return ("branch", "--no-track", "--end-of-options", call.name, *((call.rev,) if call.rev else ()))
        case "switch":
            return ("switch", "--no-guess", "--end-of-options", call.name)
        case _:
            return ("branch", "--delete", "--end-of-options", call.name)


def _worktree(call: Call, paths: tuple[str, ...]) -> tuple[str, ...]:
    if len(paths) != 1:
        raise ToolError("worktree takes exactly one folder in `paths`.")
    if call.op == "remove":
        return ("worktree", "remove", "--end-of-options", paths[0])
    branch = ("-b", call.name) if call.name else ("--detach",)
    return ("worktree", "add", "--no-track", *branch, "--end-of-options", paths[0], call.rev or "HEAD")


class Writer:
    """The writing actions. Each raises `ToolError` where git fails."""

    def __init__(self, git: Git, reader: Reader, signing: Signing) -> None:
        self._git = git
        self._reader = reader
        self._signing = signing

    async def run(self, call: Call, confirm: Confirm) -> Reply:
        """Run a writing action; confirm is asked before a commit is signed."""
        args = arguments(call, inside(self._git.commands.workspace, call.paths))
        if call.action is Action.RESTORE and call.staged and not call.rev and not await self._has_commits():
            args = ("rm", "--cached", "-r", "--quiet", "--", *args[args.index("--") + 1 :])
        what = f"git {call.action}" + (f" {call.op}" if call.op else "")
        signed = call.action is Action.COMMIT and await self._signing.wanted()
        if signed:
            output = await self._signing.commit(args, confirm)
        else:
            output = await self._git.write(*args, literal=call.action is not Action.STASH)
        reply = await self._reply(call, what, self._reader.checked(what, output))
        return _with_signature(reply) if signed else reply

    async def _has_commits(self) -> bool:
        return (await self._git.read("rev-parse", "--verify", "--quiet", "HEAD")).ok

    async def _reply(self, call: Call, what: str, output: Output) -> Reply:
        told, _ = shortened(printable(output.text).strip("\n"), OUTPUT_HEAD_CHARS, OUTPUT_TAIL_CHARS)
        data: dict[str, object] = {}
        if call.action is Action.COMMIT:
            data["commit"] = (await self._git.read("rev-parse", "HEAD")).line
        if call.action in (Action.ADD, Action.RESTORE) and not told:
            status = await self._reader.status()
            told = f"{len(status.staged)} staged, {len(status.unstaged)} not staged, {len(status.untracked)} untracked."
        return Reply(f"{what} done.\n{told}".rstrip(), data)


def _with_signature(reply: Reply) -> Reply:
    note = "[signed outside the sandbox with the user's own key; the hooks ran inside]"
    return Reply(f"{reply.text}\n{note}", {**reply.data, "signed": True})
