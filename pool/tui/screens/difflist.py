"""Changed files with their hunks as rows with a cursor; files fold, and only what is in view is drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual import events

from pool.tui.screens.diffmodel import FileView, HunkView
from pool.tui.screens.linelist import LineList, Row, Run
from pool.tui.transcript.diffparse import DiffLine
from pool_tools.frozen import frozen
from pool_tools.text import visible

FOLDED, OPEN = "▸", "▾"


@frozen
class Place:
    """Where a row is: on a file, a hunk's head (line -1), a line of it, or a row of words under its head."""

    file: int
    hunk: int = -1
    line: int = -1
    words: str = ""


@frozen
class Marks:
    """What a panel adds to the rows: marks before a file's and a hunk's head, words after it, and words below it."""

    file: Callable[[FileView], Sequence[Run]]
    hunk: Callable[[FileView, HunkView], Sequence[Run]]
    below: Callable[[FileView, HunkView], Sequence[str]]


class DiffList(LineList):
    """The rows of files. load has the hunks of a file that is opened found; whoever does it calls `rebuild` then."""

    def __init__(self, marks: Marks, load: Callable[[FileView], object], *, empty: str = "no changes") -> None:
        super().__init__(self._row, empty=empty)
        self.files: Sequence[FileView] = ()
        self._marks = marks
        self._load = load
        self._places: list[Place] = []
        self._digits = 1

    def show_files(self, files: Sequence[FileView], cursor: int = 0) -> None:
        """Show these."""
        self.files = files
        self._build()
        self.show_rows(len(self._places), cursor)

    def rebuild(self) -> None:
        """The files' state changed: make the rows anew, with the cursor on what it was on."""
        before = self.place
        self._build()
        at = self._nearest(before) if before is not None else 0
        self.show_rows(len(self._places), at)

    def _nearest(self, wanted: Place) -> int:
        if wanted in self._index:
            return self._index[wanted]
        head = Place(wanted.file, wanted.hunk)
        return self._index.get(head, self._index.get(Place(wanted.file), 0))

    def _build(self) -> None:
        places: list[Place] = []
        most = 1
        for number, file in enumerate(self.files):
            places.append(Place(number))
            if not file.open or file.hunks is None:
                continue
            for at, hunk in enumerate(file.hunks):
                places.append(Place(number, at))
                places += [Place(number, at, -1, words) for words in self._marks.below(file, hunk)]
                places += [Place(number, at, line) for line in range(len(hunk.lines))]
                most = max(most, hunk.lines[-1].number if hunk.lines else 1)
        self._places = places
        self._index = {place: row for row, place in enumerate(places)}
        self._digits = len(str(most))

    # -- where the cursor is

    @property
    def place(self) -> Place | None:
        """Where the cursor is, None without rows."""
        return self._places[self.cursor] if self.cursor < len(self._places) else None

    @property
    def file(self) -> FileView | None:
        """The file that the cursor is in."""
        return self.files[place.file] if (place := self.place) is not None else None

    @property
    def hunk(self) -> HunkView | None:
        """The hunk that the cursor is in, None on a file's row."""
        place, file = self.place, self.file
        if place is None or file is None or not file.hunks or place.hunk < 0:
            return None
        return file.hunks[place.hunk]

    @property
    def line(self) -> DiffLine | None:
        """The line that the cursor is on."""
        place, hunk = self.place, self.hunk
        return hunk.lines[place.line] if place is not None and hunk is not None and place.line >= 0 else None

    # -- moving and folding

    def toggle(self) -> None:
        """Fold or open the file that the cursor is in."""
        if (file := self.file) is not None:
            self._set_open(file, not file.open)
            place = self.place
            if not file.open and place is not None:
                self.cursor = self._index[Place(place.file)]
            self.rebuild()

    def toggle_all(self) -> None:
        """Open all files, or fold them if one is open."""
        wanted = not any(file.open for file in self.files)
        for file in self.files:
            self._set_open(file, wanted)
        self.rebuild()

    def _set_open(self, file: FileView, wanted: bool) -> None:
        file.open = wanted
        if wanted and file.hunks is None:
            self._load(file)

    def jump(self, by: int) -> None:
        """To the next hunk or folded file, or the one before."""
        row = self.cursor + by
        while 0 <= row < len(self._places):
            place = self._places[row]
            file = self.files[place.file]
            if (place.hunk >= 0 and place.line < 0 and not place.words) or (place.hunk < 0 and not file.open):
                self.go(row, to_top=True)
                return
            row += by

    def take_key(self, key: str) -> bool:
        match key:
            case "enter":
                self.toggle()
            case "n":
                self.jump(1)
            case "p":
                self.jump(-1)
            case "f":
                self.toggle_all()
            case _:
                return super().take_key(key)
        return True

    def on_click(self, event: events.Click) -> None:
        row = event.y + int(self.scroll_offset.y)
        if row < len(self._places) and self._places[row].hunk < 0:
            self.go(row)
            self.toggle()

    # -- drawing

    def _row(self, number: int) -> Row:
        place = self._places[number]
        file = self.files[place.file]
        if place.hunk < 0 or file.hunks is None:
            return self._file_row(file)
        hunk = file.hunks[place.hunk]
        if place.words:
            return Row(((" " * (self._digits + 1) + "┃ ", "accent"), (place.words, "accent")))
        if place.line < 0:
            about = f" {hunk.about}" if hunk.about else ""
            head = (" " * self._digits + " ", "muted"), *self._marks.hunk(file, hunk)
            return Row((*head, (f"line {hunk.place}{about}", "muted")))
        return self._code_row(hunk.marked()[place.line])

    def _file_row(self, file: FileView) -> Row:
        runs: list[Run] = [(f"{OPEN if file.open else FOLDED} ", "accent"), *self._marks.file(file)]
        runs.append((visible(file.path), "heading"))
        if file.kind != "modified":
            runs.append((f" {file.kind}", "tool"))
        if file.added or file.removed:
            runs += [("  ", "text"), (f"+{file.added:,}", "added"), (" ", "text"), (f"-{file.removed:,}", "removed")]
        if file.note:
            runs.append((f"  {file.note}", "muted"))
        elif file.open and file.hunks is None:
            runs.append(("  …", "muted"))
        return Row(tuple(runs))

    def _code_row(self, line: DiffLine) -> Row:
        role = {"+": "added", "-": "removed"}.get(line.sign, "text")
        runs: list[Run] = [(f"{line.number:>{self._digits}} ", "muted"), (f"{line.sign} ", role)]
        at = 0
        for start, end in line.words:
            runs += [(line.text[at:start], role), (line.text[start:end], f"{role}-word")]
            at = end
        runs.append((line.text[at:], role))
        return Row(tuple(runs), role if role != "text" else "", fixed=2)
