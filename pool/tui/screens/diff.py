"""The panel of changed files: what a run, the session or the working tree changed; keep, take back, comment."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from rich.text import Text
from textual import events, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen

from pool.agent.undoing import Scope
from pool.sessions.checkpoints.changes import FileChange
from pool.sessions.checkpoints.gitobjects import NoObject
from pool.sessions.checkpoints.undo import Undone
from pool.tui.askline import AskLine
from pool.tui.resizing import LastSize
from pool.tui.screens.difflist import DiffList, Marks
from pool.tui.screens.diffmodel import FileView, HunkView, hunk_view
from pool.tui.screens.frame import frame_css
from pool.tui.screens.keyline import Hint, KeyLine
from pool.tui.screens.linelist import Run
from pool.tui.screens.review import Review
from pool_tools.text import plural, visible

OPEN_LINES = 300
"""Files are open at first where no more lines than these changed in all."""

TITLES = {Scope.RUN: "the last prompt", Scope.SESSION: "this session", Scope.WORKTREE: "since the last commit"}

EMPTY = {
    Scope.RUN: "the last prompt changed nothing; Tab: the session",
    Scope.SESSION: "this session changed nothing; Tab: since the last commit",
    Scope.WORKTREE: "nothing has changed since the last commit",
}
"""What an empty list says, in which scope."""

HINTS: tuple[Hint, ...] = (
    *(("k", "keep"), ("r", "take back"), ("c", "comment"), ("Tab", "scope"), ("← →", "across"), ("Enter", "fold")),
    *(("n p", "next"), ("f", "fold all"), ("w", "to the box"), ("Esc", "close")),
)


class Changes(Protocol):
    """Where changes come from and how they are taken back: `pool.agent.undoing.SessionUndo`."""

    async def changes(self, scope: Scope, run: str = "") -> list[FileChange]: ...

    async def revert(self, change: FileChange, indices: Iterable[int]) -> Undone: ...


class DiffScreen(LastSize, ModalScreen[None]):
    """What was marked and said is in the `Review`, which outlives the panel."""

    AUTO_FOCUS = "DiffList"
    DEFAULT_CSS = frame_css("DiffScreen")

    def __init__(
        self,
        source: Changes,
        review: Review,
        scope: Scope,
        *,
        busy: Callable[[], bool],
        take_path: Callable[[str, int], None],
    ) -> None:
        """busy: a run is at work, so nothing can be taken back. take_path puts a file into the prompt."""
        super().__init__()
        self._source = source
        self._review = review
        self._scope = scope
        self._busy = busy
        self._take_path = take_path
        self._changes: dict[str, FileChange] = {}
        self._sure = ""
        self._asking: AskLine | None = None
        self.list = DiffList(Marks(self._file_marks, self._hunk_marks, self._below), self._load_later)
        self.keys = KeyLine(HINTS)

    def compose(self) -> ComposeResult:
        self._box = Vertical(self.list, self.keys)
        yield self._box

    def on_mount(self) -> None:
        self._show()

    @work(exclusive=True, group="show")
    async def _show(self, said: str = "", level: str = "info") -> None:
        """Look at the changes of the scope."""
        self.list.empty = "looking …"
        self._set_title("")
        opened = {file.path for file in self.list.files if file.open} if said else None
        cursor = self.list.cursor if said else 0
        try:
            found = await self._source.changes(self._scope)
            files = await asyncio.to_thread(file_views, found, opened)
        except (NoObject, OSError) as error:
            found, files = [], []
            said, level = str(error), "error"
        self.list.empty = EMPTY[self._scope]
        self._changes = {change.path: change for change in found}
        self.list.show_files(files, cursor)
        added, removed = sum(f.added for f in files), sum(f.removed for f in files)
        self._set_title(f"{plural(len(files), 'file')} +{added:,} -{removed:,}" if files else "")
        if said:
            self.keys.say(said, level)

    def _set_title(self, counts: str) -> None:
        self._box.border_title = Text(f"Files changed: {TITLES[self._scope]}" + (f", {counts}" if counts else ""))

    @work(group="load")
    async def _load_later(self, file: FileView) -> None:
        await asyncio.to_thread(file.load)
        if file in self.list.files:
            self.list.rebuild()

    # -- marks

    def _file_marks(self, file: FileView) -> Sequence[Run]:
        hunks = file.hunks or ()
        if not hunks and file.path in self._review.taken_back:
            return [("↶ taken back ", "warning")]
        kept = sum(hunk.key in self._review.kept for hunk in hunks)
        done = [("✓ ", "success")] if hunks and kept == len(hunks) else []
        return [*done, ("┃ ", "accent")] if self._review.of(file, None) else done

    def _hunk_marks(self, file: FileView, hunk: HunkView) -> Sequence[Run]:
        if hunk.key in self._review.taken_back:
            return [("↶ taken back ", "warning")]
        return [("✓ kept ", "success")] if hunk.key in self._review.kept else []

    def _below(self, file: FileView, hunk: HunkView) -> Sequence[str]:
        comment = self._review.of(file, hunk)
        return [comment] if comment else []

    # -- keys

    def on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        if self._asking is not None:
            self._asking.type_early(event)
            return
        sure, self._sure = self._sure, ""
        self.keys.quiet()
        match event.key:
            case "k":
                self._keep()
            case "r":
                self._take_back(sure)
            case "c":
                self._comment()
            case "w":
                self._to_box()
            case "tab":
                self._turn(1)
            case "shift+tab":
                self._turn(-1)
            case "q":
                self.dismiss(None)
            case key:
                self.list.take_key(key)

    def _turn(self, by: int) -> None:
        scopes = list(Scope)
        self._scope = scopes[(scopes.index(self._scope) + by) % len(scopes)]
        self._show()

    def _chosen(self) -> Sequence[HunkView]:
        """The hunk under the cursor; on a file's row, all of its hunks."""
        if (hunk := self.list.hunk) is not None:
            return [hunk]
        return self.list.file.hunks or () if self.list.file is not None else ()

    def _keep(self) -> None:
        keys = {hunk.key for hunk in self._chosen()}
        if not keys:
            return
        if keys <= self._review.kept:
            self._review.kept -= keys
        else:
            self._review.kept |= keys
            self.list.jump(1)
        self.list.refresh()

    def _take_back(self, sure: str) -> None:
        """The first time it is asked, the second time done."""
        file, hunk = self.list.file, self.list.hunk
        if file is None:
            return
        if self._busy():
            self.keys.say("a run is at work: stop it first, or wait for its end", "warning")
            return
        what = f"line {hunk.place} of {visible(file.path)}" if hunk else f"all of {visible(file.path)}"
        if sure != what:
            self._sure = what
            self.keys.say(f"r again takes back {what}; /redo undoes that", "warning")
            return
        self._revert(file, hunk, what)

    @work(exclusive=True, group="revert")
    async def _revert(self, file: FileView, hunk: HunkView | None, what: str) -> None:
        change = self._changes[file.path]
        if file.hunks is None:
            await asyncio.to_thread(file.load)
        hunks = [hunk] if hunk else list(file.hunks or ())
        try:
            done = await self._source.revert(change, [one.number for one in hunks])
        except OSError as error:
            self._show(f"not taken back: {error.strerror}", "error")
            return
        if done.failures:
            self._show(f"not taken back: {done.failures[0].why}", "error")
        elif done.steps:
            self._review.taken_back |= {one.key for one in hunks} or {file.path}
            self._show(f"taken back: {what}; /redo undoes that")
        else:
            self._show("nothing is left of it to take back", "warning")

    def _comment(self) -> None:
        file, hunk = self.list.file, self.list.hunk
        if file is None:
            return
        line = self.list.line
        place = line.number if line is not None and line.sign != "-" else hunk.place if hunk else 0
        where = visible(file.path) + (f":{place}" if place else "")

        def said(text: str | None) -> None:
            self._asking = None
            if text is not None:
                self._review.comment(file, hunk, place, text)
                self.list.rebuild()

        about = "It goes into the prompt box when you close the panel."
        self._asking = AskLine(f"Comment on {where}", about, self._review.of(file, hunk))
        self.app.push_screen(self._asking, said)  # pyright: ignore[reportUnknownMemberType] Textual leaves the app's result open

    def _to_box(self) -> None:
        file, hunk, line = self.list.file, self.list.hunk, self.list.line
        if file is not None:
            place = line.number if line is not None and line.sign != "-" else hunk.place if hunk else 0
            self.dismiss(None)
            self._take_path(file.path, place)


def file_views(changes: Sequence[FileChange], opened: set[str] | None) -> list[FileView]:
    """Changes as files to show, of which opened are open; None: all if they are small (blocking)."""
    files = [_file_view(change) for change in changes]
    small = sum(f.added + f.removed for f in files) <= OPEN_LINES
    for file in files:
        file.open = small if opened is None else file.path in opened
        if file.open:
            file.load()
    return files


def _file_view(change: FileChange) -> FileView:
    added, removed = change.counts
    note = change.note or ("binary" if change.binary else "")
    if not note and change.before == change.after and change.before_mode and change.after_mode:
        note = f"mode {change.before_mode:o} to {change.after_mode:o}"

    def find() -> Sequence[HunkView]:
        found = enumerate(change.hunks())
        return [hunk_view(n, change.path, h.old_start, h.new_start, h.lines) for n, h in found]

    return FileView(change.path, change.kind.value, added, removed, find, note)
