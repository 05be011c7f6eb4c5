"""The approval panel: what exactly would run, what the sandbox allows it, and the answers, one key each.

A key that was on its way when the question came must not answer it: for `SETTLE_SECONDS` no key counts, and the panel
takes the focus only from an empty prompt box.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widget import Widget
from textual.widgets import Static

from pool.facekit.approving import BY_PERSON, LOW_ROWS, SHORT_WORDS, choices
from pool.facekit.plain import plain
from pool.ports import ApprovalAnswer, ApprovalRequest
from pool.tui.answerpanel import AnswerPanel, WordsLine

LOW_OTHER_ROWS = 8
"""Rows of a low window that are not the preview's: border, title, answers, activity, box, status."""

OTHER_ROWS = 11
"""The same of a high one, and two rows of the conversation."""

KEY_MARK = "pool_key"
"""What an answer in a row of several says of itself to a click."""

BETWEEN = "  "
"""Between two answers of a row."""

FRAME_COLUMNS = 4
"""Border and padding."""

NO_FILE = "/dev/null"
"""What a diff names where there is no file, before or after."""

MANY = 2
MOST_OTHERS = 3
"""How many of the calls that wait besides the one that is shown have a line each."""

MOST_PREVIEW_LINES = 400
MOST_PREVIEW_COLUMNS = 2000


class ApprovalPanel(AnswerPanel[ApprovalRequest, ApprovalAnswer]):
    """Answers by letter: yes as far as the letter reaches, no, or no and why."""

    DEFAULT_CSS = """
    ApprovalPanel > #title { height: auto; color: $text; text-style: bold; }
    ApprovalPanel > #others { height: auto; color: $muted; display: none; }
    ApprovalPanel > #why { height: auto; color: $muted; }
    ApprovalPanel > #scroll { height: auto; max-height: 14; background: $surface; scrollbar-size-vertical: 1; }
    ApprovalPanel > #choices { height: auto; color: $text; }
    """

    def compose(self) -> ComposeResult:
        yield Static("", id="title", markup=False)
        with VerticalScroll(id="scroll", can_focus=False):
            yield Static("", id="preview", markup=False)
        yield Static("", id="why", markup=False)
        yield Static("", id="choices", markup=False)
        yield Static("", id="others", markup=False)
        yield WordsLine("why not? (Enter sends it to the model, Esc goes back)")

    def draw(self) -> None:
        request = self.shown
        count = f" ({self._at + 1} of {self.waiting}, Tab for the next)" if self.waiting > 1 else ""
        path, lines = _one_file(request)
        what = f"{request.name} {path}".rstrip()
        self.query_one("#title", Static).update(Text(f"{plain(what)}: may it run?{count}"))
        why = "\n".join(plain(words) for words in (request.why, request.policy) if words)
        self.query_one("#why", Static).update(Text(why))
        self.query_one("#preview", Static).update(self._preview(request.preview_kind, lines))
        self.query_one("#choices", Static).update(self._choices(request))
        self.query_one("#why").display = not self._is_low
        others = self._others()
        self.query_one("#others", Static).update(Text("\n".join(others), no_wrap=True, overflow="ellipsis"))
        self.query_one("#others").display = bool(others)
        scroll = self.query_one("#scroll", VerticalScroll)
        scroll.styles.max_height = self._preview_rows(why)
        # Where there is not room for all, the changes and not what stands around them; after the rows are known.
        self.call_after_refresh(scroll.scroll_to, y=_first_change(request.preview_kind, lines), animate=False)

    def _others(self) -> list[str]:
        """What else waits, a line each, the next first; nothing in a low window."""
        if self._is_low or self.waiting < MANY:
            return []
        asked = [question for question, _ in self._waiting]
        after = [*asked[self._at + 1 :], *asked[: self._at]]
        lines = [f"then {other.name}: {plain(' '.join(_gist(other).split()))}" for other in after[:MOST_OTHERS]]
        more = len(after) - MOST_OTHERS
        return [*lines, f"and {more} more"] if more > 0 else lines

    @property
    def _is_low(self) -> bool:
        """Whether the window has too few rows for a row for each answer."""
        return self.screen.size.height < LOW_ROWS

    @property
    def _cells(self) -> int:
        """The columns within the frame."""
        return max(1, self.screen.size.width - FRAME_COLUMNS)

    def _preview_rows(self, why: str) -> int:
        """Rows that are left for what would run: title and answers are never pushed out."""
        width = self._cells
        if self._is_low:
            return max(1, self.screen.size.height - LOW_OTHER_ROWS)
        others = len(self._others())
        reasons = others + sum(1 + cell_len(line) // width for line in why.split("\n"))
        answers = self._choices(self.shown).plain.count("\n") + 1
        return max(2, self.screen.size.height - OTHER_ROWS - reasons - answers)

    def on_resize(self) -> None:
        if self.waiting and not self.writing:
            self.draw()

    def _preview(self, kind: str, lines: Sequence[str]) -> Text:
        variables = _variables(self)
        text = Text(no_wrap=kind == "diff")
        for number, line in enumerate(lines[:MOST_PREVIEW_LINES]):
            shown = ("\n" if number else "") + plain(line.replace("\t", "    "))[:MOST_PREVIEW_COLUMNS]
            text.append(shown, style=_line_style(line, kind, variables))
        if len(lines) > MOST_PREVIEW_LINES:
            text.append(f"\n… {len(lines) - MOST_PREVIEW_LINES:,} more lines")
        return text

    def _choices(self, request: ApprovalRequest) -> Text:
        accent = _variables(self).get("accent", "")
        text = Text()
        if self._is_low:
            cells = 0
            for key in [*(c.key for c in choices(request)), "n", "r"]:
                words = SHORT_WORDS[key]
                # An answer is not broken: a key at the end of one row and its words on the next are not read as one.
                breaks = cells + len(BETWEEN) + cell_len(words) > self._cells
                text.append("" if not text else "\n" if breaks else BETWEEN)
                cells = cell_len(words) + (cells + len(BETWEEN) if text and not breaks else 0)
                text.append(words, style=Style(meta={KEY_MARK: key}))
            return text
        rows = [(c.key, c.words) for c in choices(request)] + [("n", "no"), ("r", "no, and say why")]
        for number, (key, words) in enumerate(rows):
            text.append("\n" if number else "")
            text.append(f" {key} ", style=f"bold {accent}".strip())
            text.append(plain(words))
        return text

    def press(self, key: str) -> bool:
        match key:
            case "y" | "e" | "s" | "a":
                self._say_yes(key)
            case "n":
                self._say_no()
            case "r" if self.ready:
                self.write()
            case "right" | "tab":
                self.turn(1)
            case "left":
                self.turn(-1)
            case "up" | "down":
                self.query_one("#scroll", VerticalScroll).scroll_relative(y=1 if key == "down" else -1, animate=False)
            case _:
                return False
        return True

    def open_words(self, key: str) -> bool:
        if opens := key == "r" and self.ready:
            self.write()
        return opens

    def _say_yes(self, key: str) -> None:
        if not self.ready:
            return
        for choice in choices(self.shown):
            if choice.key == key:
                self.settle(ApprovalAnswer(True, BY_PERSON, remember=choice.remember))

    def _say_no(self) -> None:
        if self.ready:
            self.settle(ApprovalAnswer(False, BY_PERSON))

    def say(self, words: str) -> None:
        """No, and why: the words reach the model."""
        self.settle(ApprovalAnswer(False, BY_PERSON, reason=words))

    def on_click(self, event: events.Click) -> None:
        """A click on a choice takes it."""
        rows = self.query_one("#choices", Static)
        if self.waiting and self._is_low and (key := event.style.meta.get(KEY_MARK)):
            self.press(str(key))
        elif self.waiting and not self._is_low and rows.region.contains(event.screen_x, event.screen_y):
            keys = [*(c.key for c in choices(self.shown)), "n", "r"]
            place = event.screen_y - rows.region.y
            if place < len(keys):
                self.press(keys[place])
        elif not self.writing:
            self.focus()


def _variables(widget: Widget) -> dict[str, str]:
    """The colours of the theme by role, as Rich names them: of a terminal's own sixteen without Textual's mark."""
    found = widget.app.theme_variables  # pyright: ignore[reportUnknownMemberType] Textual leaves the app's type open
    return {role: colour.removeprefix("ansi_") for role, colour in found.items()}


def _gist(request: ApprovalRequest) -> str:
    """What a call is about, for one line."""
    path, lines = _one_file(request)
    return path or next((line for line in lines if line.strip()), "")


def _one_file(request: ApprovalRequest) -> tuple[str, list[str]]:
    """The path of the only file that a diff changes, and its lines without the file's head; else "" and all lines."""
    lines = request.preview.split("\n")
    heads = [number for number, line in enumerate(lines) if line.startswith(("--- ", "+++ "))]
    if request.preview_kind != "diff" or heads != [0, 1]:
        return "", lines
    old, new = lines[0][4:].removeprefix("a/"), lines[1][4:].removeprefix("b/")
    paths = {old, new} - {NO_FILE}
    return (paths.pop(), lines[2:]) if len(paths) == 1 else ("", lines)


def _first_change(kind: str, lines: Sequence[str]) -> int:
    """The row from which a diff is shown: one before its first change."""
    changed = (number for number, line in enumerate(lines) if line.startswith(("+", "-")))
    return max(0, next(changed, 0) - 1) if kind == "diff" else 0


def _line_style(line: str, kind: str, variables: dict[str, str]) -> str:
    if kind != "diff":
        return ""
    if line.startswith("+") and not line.startswith("+++"):
        return f"{variables['added']} on {variables['added-background']}"
    if line.startswith("-") and not line.startswith("---"):
        return f"{variables['removed']} on {variables['removed-background']}"
    return variables["muted"] if line.startswith("@@") else ""
