"""Committing: the message to be changed, hunks to be taken or left, what stays out, and why git refused if it did."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence

from rich.text import Text
from textual import events, work
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Static

from pool.agent.commands.gitwork import ranges
from pool.agent.gitwork.authorship import Whose
from pool.agent.gitwork.blocks import lines_of
from pool.agent.gitwork.message import Written
from pool.agent.gitwork.proposal import CommitFile, CommitHunk, CommitProposal
from pool.facekit.clean import clean
from pool.sessions.checkpoints.textdiff import CONTEXT_LINES
from pool.tui.inorder import Area
from pool.tui.screens.difflist import DiffList, Marks
from pool.tui.screens.diffmodel import FileView, HunkView, Signed, hunk_view
from pool.tui.screens.frame import PanelScreen, frame_css
from pool.tui.screens.keyline import Hint, KeyLine
from pool.tui.screens.linelist import Run
from pool_tools.frozen import frozen
from pool_tools.text import plural

WHOLE_LINES = 2_000
"""Of a file that is taken as a whole so many lines are shown."""

OPEN_LINES = 300
"""Files are open at first where no more lines than these changed in all."""

HINTS: tuple[Hint, ...] = (
    *(("c", "commit"), ("Space", "take or leave"), ("m", "message"), ("← →", "across"), ("Enter", "fold")),
    *(("a", "all"), ("e", "all that differs"), ("n p", "next"), ("Esc", "close")),
)
MESSAGE_HINTS: tuple[Hint, ...] = (("Tab", "to the changes"), ("Esc", "to the changes"))

WORDS = {Whose.AGENT: "", Whose.YOURS: "yours", Whose.MIXED: "yours and the agent's, in the same lines"}


@frozen
class Wish:
    """What the panel was left with. everything: nothing is committed yet, all that differs is to be proposed."""

    message: str
    chosen: frozenset[int]
    everything: bool = False


@frozen
class Offered:
    """What the panel opens with.

    message is the user's or that of an earlier try, "" to have one written; problem is why that try failed.
    """

    proposal: CommitProposal
    chosen: frozenset[int]
    message: str = ""
    problem: str = ""


class CommitScreen(PanelScreen[Wish | None]):
    """Returns what is to be committed, or None."""

    AUTO_FOCUS = "DiffList"
    DEFAULT_CSS = (
        frame_css("CommitScreen")
        + """
    CommitScreen TextArea { height: 5; border: round $border; background: $surface; padding: 0 1; }
    CommitScreen TextArea:focus { border: round $border-focused; }
    CommitScreen TextArea .text-area--cursor-line { background: $surface; }
    CommitScreen TextArea .text-area--placeholder { color: $muted; }
    CommitScreen.low TextArea { height: 3; }
    CommitScreen VerticalScroll { height: auto; max-height: 40%; border-left: thick $error; padding: 0 1; }
    CommitScreen Static { height: auto; color: $text; }
    CommitScreen #notes { color: $muted; padding: 0 1; }
    """
    )

    def __init__(self, offered: Offered, write: Callable[[frozenset[int]], Awaitable[Written]]) -> None:
        """write has a message written for hunks."""
        super().__init__()
        self._offered = offered
        self._proposal = offered.proposal
        self._chosen = set(offered.chosen)
        self._write = write
        self._to_message = False
        self.list = DiffList(
            Marks(self._file_marks, self._hunk_marks, lambda file, hunk: ()),
            lambda file: None,
            empty="nothing differs from the last commit",
        )
        self.message = Area(offered.message, placeholder="the message is being written …", soft_wrap=True)
        self.keys = KeyLine(HINTS)

    def compose(self) -> ComposeResult:
        self._box = Vertical()
        with self._box:
            yield self.message
            if self._offered.problem:
                with VerticalScroll(can_focus=False):
                    yield Static(Text(clean(self._offered.problem)), markup=False)
            if notes := "\n".join(self._proposal.notes):
                yield Static(Text(clean(notes)), id="notes", markup=False)
            yield self.list
            yield self.keys

    def on_mount(self) -> None:
        files = commit_views(self._proposal)
        small = sum(f.added + f.removed for f in files) <= OPEN_LINES
        for file in files:
            file.open = small and bool(file.hunks)
        self.list.show_files(files)
        self._show_title()
        self.set_class(self.app.size.height < 20, "low")  # pyright: ignore[reportUnknownMemberType] Textual leaves the app's result open
        if not self._offered.message:
            self._have_written()

    @work(exclusive=True, group="write")
    async def _have_written(self) -> None:
        written = await self._write(frozenset(self._chosen))
        if self.message.text:
            return
        self.message.load_text(written.text)
        by = {"model": "message by the model", "rule": "message by rule"}.get(written.by, "")
        why = written.note or (written.price.words if written.price else "")
        self.keys.say(f"{by}: {why}" if why else by)

    def _show_title(self) -> None:
        where = f" on {self._proposal.branch}" if self._proposal.branch else ", on no branch"
        count = f"{len(self._chosen)} of {plural(len(self._proposal.hunks), 'change')}"
        self._box.border_title = Text(clean(f"Commit{where}: {count}"))

    # -- marks

    def _file_marks(self, file: FileView) -> Sequence[Run]:
        numbers = {hunk.number for hunk in file.hunks or ()}
        if not numbers:
            return [("    ", "muted")]
        taken = numbers & self._chosen
        return [_tick(taken == numbers, part=bool(taken))]

    def _hunk_marks(self, file: FileView, hunk: HunkView) -> Sequence[Run]:
        return [_tick(hunk.number in self._chosen)]

    # -- keys

    def escaped(self) -> bool:
        if self.focused is not self.message:
            return False
        self.list.focus()
        return True

    def on_descendant_focus(self) -> None:
        self._to_message = False
        self.keys.show_hints(MESSAGE_HINTS if self.focused is self.message else HINTS)

    def on_key(self, event: events.Key) -> None:
        if self.focused is self.message:
            return
        if self._to_message:
            # Typed before the message has the focus.
            if event.is_printable and event.character:
                self.message.insert(event.character)
            return
        self.keys.quiet()
        match event.key:
            case "space":
                self._toggle()
            case "a":
                every = {hunk.number for hunk in self._proposal.hunks}
                self._choose(set() if self._chosen == every else every)
            case "c":
                self._commit()
            case "m" | "tab":
                self._to_message = True
                self.message.focus()
            case "e":
                self.dismiss(Wish(self.message.text, frozenset(), everything=True))
            case "q":
                self.dismiss(None)
            case key if not self.list.take_key(key):
                return
            case _:
                pass
        event.stop()
        event.prevent_default()

    def _toggle(self) -> None:
        """Take or leave the hunk under the cursor, or all of the file's."""
        file, hunk = self.list.file, self.list.hunk
        numbers = {hunk.number} if hunk else {h.number for h in (file.hunks if file else None) or ()}
        whole = {h.number for h in self._proposal.hunks if h.number in numbers and h.block is None}
        taken = numbers <= self._chosen
        self._choose(self._chosen - numbers if taken else self._chosen | numbers)
        if hunk and not whole:
            self.list.jump(1)

    def _choose(self, chosen: set[int]) -> None:
        self._chosen = chosen
        self.list.refresh()
        self._show_title()

    def _commit(self) -> None:
        message = self.message.text.strip()
        if not self._chosen:
            self.keys.say("nothing is taken: Space takes a change", "warning")
        elif not message:
            self.keys.say("the commit needs a message: m, then write it", "warning")
        else:
            self.dismiss(Wish(message, frozenset(self._chosen)))


def commit_line(wish: Wish, mark: str, *, everything: bool) -> str:
    """The command that does it; mark is that of the proposal that was shown."""
    flags = f"{'--all ' if everything else ''}--now --hunks={ranges(wish.chosen)} --of={mark}"
    return f"/commit {flags} {wish.message}"


def commit_views(proposal: CommitProposal) -> list[FileView]:
    """The files of a proposal, and those that are left out with the reason."""
    files = [_file_view(file) for file in proposal.files]
    return [*files, *(FileView(path, "", 0, 0, tuple, f"left out: {why}", ()) for path, why in proposal.left_out)]


def _file_view(file: CommitFile) -> FileView:
    hunks = [_hunk_view(file, hunk) for hunk in file.hunks]
    added = sum(line.sign == "+" for hunk in hunks for line in hunk.lines)
    removed = sum(line.sign == "-" for hunk in hunks for line in hunk.lines)
    note = "binary" if file.binary else ""
    return FileView(file.path, file.kind, added, removed, lambda: hunks, note, hunks)


def _hunk_view(file: CommitFile, hunk: CommitHunk) -> HunkView:
    lines = list(_signed(file, hunk))
    start = max(0, hunk.block.start - CONTEXT_LINES) if hunk.block else 0
    view = hunk_view(hunk.number, file.path, start, start, lines)
    more = "the whole file" if hunk.block is None else ""
    view.about = ", ".join(words for words in (more, WORDS[hunk.whose]) if words)
    return view


def _signed(file: CommitFile, hunk: CommitHunk) -> Iterable[Signed]:
    """The lines of a hunk with a few around it."""
    block = hunk.block
    if block is None:
        data = b"" if file.binary else file.after if file.after_mode else file.before
        sign = "+" if file.after_mode else "-"
        return [(sign, line) for line in lines_of(data)[:WHOLE_LINES]]
    around = lines_of(file.before)
    return [
        *((" ", line) for line in around[max(0, block.start - CONTEXT_LINES) : block.start]),
        *(("-", line) for line in block.old),
        *(("+", line) for line in block.new),
        *((" ", line) for line in around[block.end : block.end + CONTEXT_LINES]),
    ]


def _tick(taken: bool, *, part: bool = False) -> Run:
    if taken:
        return "[x] ", "success"
    return ("[-] ", "warning") if part else ("[ ] ", "muted")
