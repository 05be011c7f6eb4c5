"""The transcript as the app uses it: adding and changing blocks, choosing, folding, searching, selecting, copying."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType

from pool.config.interface import ReasoningView
from pool.tui.transcript.block import Block
from pool.tui.transcript.messages import CopyRequested, PathClicked, TailChanged, UrlClicked
from pool.tui.transcript.pointer import TranscriptPointer
from pool.tui.transcript.store import Entry

BlockHandle = Entry
"""Names a block that was added. Its fields are the transcript's own."""


class Transcript(TranscriptPointer):
    """One scrollable conversation.

    `follows` says whether the view stays at the end, `new_below` whether something came below it since it does not;
    `TailChanged` tells when either changes. Text goes to the clipboard by `CopyRequested`.
    """

    PathClicked = PathClicked
    UrlClicked = UrlClicked
    CopyRequested = CopyRequested
    TailChanged = TailChanged

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "Up", show=False),
        Binding("down", "move(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home", "begin", "Begin", show=False),
        Binding("end", "end", "End", show=False),
        Binding("k,alt+up", "choose(-1)", "Block above", show=False),
        Binding("j,alt+down", "choose(1)", "Block below", show=False),
        Binding("enter,space", "fold", "Fold or open", show=False),
        Binding("left_square_bracket", "prompt(-1)", "Prompt above", show=False),
        Binding("right_square_bracket", "prompt(1)", "Prompt below", show=False),
        Binding("n", "match(1)", "Next match", show=False),
        Binding("N,p", "match(-1)", "Match before", show=False),
        Binding("y,c", "copy", "Copy", show=False),
        Binding("Y", "copy_code", "Copy the last code", show=False),
        Binding("escape", "let_go", "Clear selection", show=False),
    ]

    def __init__(
        self, *, code_style: str = "", reasoning: ReasoningView = ReasoningView.LINE, id: str | None = None
    ) -> None:
        super().__init__(code_style=code_style, id=id)
        self.reasoning = reasoning

    # -- blocks

    def add(self, block: Block, *, open_: bool = False) -> BlockHandle:
        """Add a block at the end. open_: text will be appended, until `finish`."""
        entry = self.store.add(block, open_=open_)
        self.mark(entry)
        return entry

    def append_text(self, handle: BlockHandle, text: str) -> None:
        """More text of a stream for an open block. Costs nothing until the next frame."""
        handle.block.append(text)
        self.mark(handle)

    def finish(self, handle: BlockHandle) -> None:
        """An open block is complete."""
        handle.block.finish()
        handle.open = False
        self.mark(handle, soon=handle.rows is not None)

    def replace(self, handle: BlockHandle, block: Block) -> None:
        """Put another block in the place of one."""
        self.store.replace(handle, block)
        self.mark(handle)

    def is_last(self, handle: BlockHandle) -> bool:
        """Whether nothing was added after a block."""
        return bool(self.store.entries) and self.store.entries[-1] is handle

    def changed(self, handle: BlockHandle) -> None:
        """A block was changed by its own methods."""
        self.mark(handle)

    def clear(self) -> None:
        """Take out all blocks."""
        at = self.store.at if self.store.is_ready else None
        self.store = type(self.store)()
        if at is not None:
            self.store.set_layout(at)
        self._dirty.clear()
        self._live.clear()
        self.chosen = self.selection = self.finder = None
        self.follows, self.new_below = True, False
        self._sync()
        self.refresh()

    def fold_all(self, folded: bool) -> None:
        """Fold or open everything that can be."""
        for entry in self.store.entries:
            if entry.block.fold(0, folded):
                self.store.forget(entry)
        self._sync()
        self.refresh()

    def show_reasoning(self, show: ReasoningView) -> None:
        """Set how much of thinking is shown, of the thoughts that are there too."""
        from pool.tui.transcript.reasoning import Reasoning

        self.reasoning = show
        for entry in self.store.entries:
            if isinstance(entry.block, Reasoning):
                entry.block.show(show)
                self.store.forget(entry)
        self._sync()
        self.refresh()

    # -- moving

    def scroll_to_end(self) -> None:
        """Show the end and follow it."""
        self._set_follow(True)
        self._sync()

    def action_begin(self) -> None:
        if self.store.is_ready and len(self.store):
            self.store.rows(self.store.entries[0])
            self._go(0)

    def action_end(self) -> None:
        self.scroll_to_end()

    def action_move(self, step: int) -> None:
        self._go(self.scroll_offset.y + step)

    def action_page(self, step: int) -> None:
        self._go(self.scroll_offset.y + step * max(1, self.size.height - 1))

    def jump(self, step: int) -> bool:
        """Go to the prompt above (-1) or below (1) the top of the view. False if there is none."""
        store = self.store
        if not store.is_ready or not len(store):
            return False
        index, offset = store.heights.locate(self.scroll_offset.y)
        gap = store.gap(store.entries[index])
        start = index if step < 0 and offset > gap else index + step
        if step > 0 and offset < gap:
            start = index
        for entry in store.shown(start, step):
            if entry.block.is_prompt:
                self._show(entry)
                return True
        return False

    def action_prompt(self, step: int) -> None:
        self.jump(step)

    def _show(self, entry: Entry, number: int = 0) -> None:
        """Bring an entry's row to the top of the view."""
        self.store.rows(entry)
        self._go(self.store.row_of(entry, number))

    # -- choosing a block

    def action_choose(self, step: int) -> None:
        store = self.store
        if not store.is_ready or not len(store):
            return
        if self.chosen is None:
            bottom = self.scroll_offset.y + self.size.height - 1
            start = store.heights.locate(min(bottom, store.heights.total - 1))[0]
        else:
            start = self.chosen.index + step
        for entry in store.shown(start, step if self.chosen else -1):
            self.chosen = entry
            self._into_view(entry)
            break
        self.refresh()

    def _into_view(self, entry: Entry) -> None:
        """Move as little as needed to see the entry's beginning, and its end if it is not too high."""
        count = len(self.store.rows(entry))
        top, height = self.store.row_of(entry), self.size.height
        shown = self.scroll_offset.y
        if top < shown or count >= height:
            self._go(top)
        elif top + count > shown + height:
            self._go(top + count - height)

    def action_fold(self) -> None:
        if self.chosen is not None:
            self.fold(self.chosen)

    def action_let_go(self) -> None:
        self.selection = self.chosen = self.finder = None
        self.refresh()

    # -- searching

    def search(self, query: str) -> bool:
        """Look for query, upwards from the end of the view; mark all matches. "" ends the search. False if none."""
        from pool.tui.transcript.finder import Finder

        self.finder = Finder(self.store, query) if query else None
        self.refresh()
        return self.find(-1)

    def find(self, step: int) -> bool:
        """Go to the next match below (1) or above (-1). False if there is none."""
        if self.finder is None or not self.store.is_ready:
            return False
        bottom = min(self.scroll_offset.y + self.size.height, self.store.heights.total) - 1
        match = self.finder.go(step, self.store.heights.locate(max(0, bottom))[0])
        self._sync()
        if match is not None:
            entry = self.store.entries[match.entry]
            row = self.store.row_of(entry, match.row)
            if not self.scroll_offset.y <= row < self.scroll_offset.y + self.size.height:
                self._go(row - self.size.height // 2)
        self.refresh()
        return match is not None

    def action_match(self, step: int) -> None:
        self.find(step)

    # -- copying

    def action_copy(self) -> None:
        """Copy the selection, else the chosen block's whole text."""
        if text := self.selected_text:
            self.post_message(CopyRequested(text, selected=True))
        elif self.chosen is not None:
            self.post_message(CopyRequested(self.chosen.block.source(), selected=False))

    def action_copy_code(self) -> None:
        """Copy the last code block of the chosen block, else of the last block that has one."""
        last = self.chosen.index if self.chosen is not None else len(self.store) - 1
        for entry in self.store.shown(last, -1):
            self.store.rows(entry)
            if count := entry.block.parts:
                self.post_message(CopyRequested(entry.block.source(count), selected=False))
            if count or self.chosen is not None:
                break
