"""Actions of git that change nothing: status, diff, log, show, blame, and the lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pool_tools.api import ToolError
from pool_tools.frozen import frozen
from pool_tools.git.failures import failure, reach_of
from pool_tools.git.runner import Git, Output, shortened
from pool_tools.git.status import Status, describe, headline, operation_in
from pool_tools.git.status import parse as parse_status
from pool_tools.git.words import Action, Call, inside, line_range, stash_entry
from pool_tools.limits import OUTPUT_HEAD_CHARS, OUTPUT_TAIL_CHARS
from pool_tools.text import printable, visible

PATCH_HEAD_CHARS = 24_000
PATCH_TAIL_CHARS = 4_000
"""Characters of a patch that are shown from its start and its end."""

LISTED_FILES = 200

_PATCH = ("--no-ext-diff", "--no-textconv", "--no-color", "--submodule=short", "-M")
_STATUS = ("status", "--porcelain=v2", "-z", "--branch", "--show-stash", "--untracked-files=normal", "--find-renames")
_LOG_FORMAT = "%h %ad %an%d %s"


@frozen
class Reply:
    """What an action tells: text for the model, data for programs."""

    text: str
    data: dict[str, Any]


class Reader:
    """The reading actions. Each raises `ToolError` where git fails."""

    def __init__(self, git: Git) -> None:
        self._git = git

    async def run(self, call: Call) -> Reply:
        """Run an action of `words.READING`, or the `list` or `show` of another."""
        match call.action:
            case Action.STATUS:
                return await self._status()
            case Action.DIFF:
                return await self._diff(call)
            case Action.LOG:
                return await self._log(call)
            case Action.SHOW:
                return await self._show(call.rev or "HEAD", self._paths(call))
            case Action.BLAME:
                return await self._blame(call)
            case Action.STASH if call.op == "show":
                return await self._stash_show(call)
            case _:
                return await self._list(call)

    async def status(self) -> Status:
        """The state of the work tree, with what is half done in it."""
        output = self.checked("git status", await self._git.read(*_STATUS))
        status = parse_status(output.text)
        folder = await self._git.read("rev-parse", "--absolute-git-dir")
        status.operation = operation_in(folder.text.rstrip("\n")) if folder.ok else ""
        return status

    def checked(self, what: str, output: Output) -> Output:
        """output, if git did it. Raises `ToolError` with its complaint if not."""
        if not output.ok:
            commands = self._git.commands
            raise ToolError(failure(what, output, reach_of(commands)))
        return output

    def _paths(self, call: Call) -> tuple[str, ...]:
        return inside(self._git.commands.workspace, call.paths)

    async def _status(self) -> Reply:
        status = await self.status()
        data = {
            "branch": status.branch,
            "commit": status.commit,
            "detached": status.detached,
            "operation": status.operation,
            "staged": [entry.path for entry in status.staged],
            "unstaged": [entry.path for entry in status.unstaged],
            "conflicts": [entry.path for entry in status.conflicts],
            "untracked": status.untracked,
        }
        return Reply(describe(status), data)

    async def _diff(self, call: Call) -> Reply:
        staged = ("--cached",) if call.staged else ()
        rev = ("--end-of-options", call.rev) if call.rev else ()
        output = await self._git.read("diff", *_PATCH, "--numstat", "-p", "-z", *staged, *rev, "--", *self._paths(call))
        text, files = _patch(self.checked("git diff", output))
        if not files:
            what = "staged" if call.staged else "changed"
            text = f"Nothing {what}. Untracked files are in no diff: see status." if not call.rev else "No difference."
        return Reply(text, {"files": files})

    async def _log(self, call: Call) -> Reply:
        rev = ("--end-of-options", call.rev) if call.rev else ()
        output = await self._git.read(
            *(
                "log",
                f"--max-count={call.count}",
                f"--format={_LOG_FORMAT}",
                "--date=short",
                "--no-color",
                "--decorate",
            ),
            *(*rev, "--", *self._paths(call)),
        )
        lines = self.checked("git log", output).text.rstrip("\n").split("\n")
        text, _ = shortened(printable("\n".join(lines)), OUTPUT_HEAD_CHARS, OUTPUT_TAIL_CHARS)
        return Reply(text or "No commits.", {"commits": len(lines) if text else 0})

    async def _show(self, rev: str, paths: Sequence[str]) -> Reply:
        if ":" in rev:
            output = self.checked("git show", await self._git.read("show", "--no-textconv", "--end-of-options", rev))
            text, cut = shortened(printable(output.text), PATCH_HEAD_CHARS, PATCH_TAIL_CHARS)
            return Reply(text, {"truncated": cut})
        output = await self._git.read(
            *("show", *_PATCH, "--numstat", "-p", "-z", "--format=commit %H%nAuthor: %an <%ae>%nDate: %ad%n%n%B%x00"),
            *("--date=iso", "--end-of-options", rev, "--", *paths),
        )
        message, _, rest = self.checked("git show", output).out.partition(b"\0")
        patch, files = _patch(Output(0, rest.lstrip(b"\0\n"), "", output.cut, output.ended))
        head = printable(message.decode("utf-8", "surrogateescape")).rstrip()
        return Reply(f"{head}\n\n{patch}".rstrip(), {"files": files})

    async def _blame(self, call: Call) -> Reply:
        paths = self._paths(call)
        if len(paths) != 1:
            raise ToolError("blame takes exactly one file in `paths`.")
        lines = line_range(call)
        output = await self._git.read(
            *("blame", "--no-textconv", "--date=short", *((f"-L{lines}",) if lines else ())),
            *(("--end-of-options", call.rev) if call.rev else ()),
            *("--", paths[0]),
        )
        text = printable(self.checked("git blame", output).text)
        text, cut = shortened(text, PATCH_HEAD_CHARS, PATCH_TAIL_CHARS)
        return Reply(text, {"truncated": cut})

    async def _stash_show(self, call: Call) -> Reply:
        output = await self._git.read("stash", "show", *_PATCH, "--numstat", "-p", "-z", stash_entry(call))
        text, files = _patch(self.checked("git stash show", output))
        return Reply(text, {"files": files})

    async def _list(self, call: Call) -> Reply:
        match call.action:
            case Action.BRANCH:
                form = "%(HEAD) %(refname:short) %(objectname:short) %(upstream:short) %(upstream:track) %(subject)"
                output = await self._git.read(
                    "for-each-ref", f"--format={form}", "--sort=-committerdate", "refs/heads", "refs/remotes"
                )
                top = headline(await self.status())
            case Action.STASH:
                output = await self._git.read("stash", "list", "--date=iso", "--format=%gd %s")
                top = ""
            case _:
                output = await self._git.read("worktree", "list", "--porcelain", "-z")
                top = ""
        text = self.checked(f"git {call.action} list", output).text.replace("\0", "\n")
        shown, _ = shortened(printable(text).strip("\n"), OUTPUT_HEAD_CHARS, OUTPUT_TAIL_CHARS)
        return Reply("\n".join(part for part in (top, shown) if part) or f"There is no {call.action}.", {})


def _patch(output: Output) -> tuple[str, list[str]]:
    """Text for the model, and the files, of `--numstat -p -z`: records with names as they are, a NUL, the patch."""
    listing, _, patch = output.out.partition(b"\0\0")
    fields = listing.decode("utf-8", "surrogateescape").split("\0") if listing else []
    rows: list[str] = []
    files: list[str] = []
    at = 0
    while at < len(fields):
        added, removed, name = (*fields[at].split("\t", 2), "", "")[:3]
        at += 1
        if not name and at + 1 < len(fields):
            # A rename: the names stand in fields of their own.
            before, name = fields[at], fields[at + 1]
            at += 2
            rows.append(f"{visible(before)} -> {visible(name)} {_counts(added, removed)}")
        else:
            rows.append(f"{visible(name)} {_counts(added, removed)}")
        files.append(name)
    if not files:
        return "", []
    more = [f"… and {len(rows) - LISTED_FILES:,} more files"] if len(rows) > LISTED_FILES else []
    text = printable(patch.decode("utf-8", "surrogateescape")).strip("\n")
    shown, _ = shortened(text, PATCH_HEAD_CHARS, PATCH_TAIL_CHARS)
    return "\n".join([*rows[:LISTED_FILES], *more, "", shown]).rstrip("\n"), files


def _counts(added: str, removed: str) -> str:
    return "(binary)" if added == "-" else f"+{added} -{removed}"
