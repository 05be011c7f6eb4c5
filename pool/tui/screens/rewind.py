"""Going back: the prompts of a session, what each changed, and what an undo would do before it does it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from rich.text import Text
from textual import events, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen

from pool.agent.undoing import SessionUndo
from pool.sessions.checkpoints.undo import Step, Verdict
from pool.sessions.promptwork import PromptWork
from pool.sessions.rewind import Rewind
from pool.sessions.store import clock
from pool.sessions.summary import title_of
from pool.tui.resizing import LastSize
from pool.tui.screens.frame import NARROW_COLUMNS, frame_css
from pool.tui.screens.keyline import Hint, KeyLine
from pool.tui.screens.linelist import LineList, Row
from pool_tools.text import plural, visible

SETTLE_SECONDS = 0.1
"""How long a prompt is chosen before what going back to it would do is worked out."""

COUNTS_COLUMNS = 22
FEW_COUNTS_COLUMNS = 10

NOW = "--now"
FILES, TALK = "files", "conversation"
"""Words of `/undo`: what was shown here is done by it."""

VERBS = {"delete": "error", "create": "success", "restore": "accent", "leave": "warning"}


class RewindScreen(LastSize, ModalScreen[str | None]):
    """Returns the command that goes back, or None. What it does was shown before."""

    AUTO_FOCUS = "#prompts"
    DEFAULT_CSS = (
        frame_css("RewindScreen")
        + """
    RewindScreen #prompts { height: auto; max-height: 45%; }
    RewindScreen #plan { border-top: solid $border; }
    """
    )

    def __init__(self, undo: SessionUndo) -> None:
        super().__init__()
        self._undo = undo
        self._work: Sequence[PromptWork] = ()
        self._plans: dict[int, Rewind] = {}
        self._redo: Rewind | None = None
        self._rows: Sequence[Row] = ()
        self._early = ""
        """The key that decided before it was known what it would do: done as soon as that is known."""
        self.list = LineList(self._prompt_row, empty="the session has no prompt yet", id="prompts")
        self.plan = LineList(lambda n: self._rows[n], id="plan")
        self.plan.can_focus = self.plan.shows_cursor = False
        self.keys = KeyLine(())

    def compose(self) -> ComposeResult:
        box = Vertical(self.list, self.plan, self.keys)
        box.border_title = Text("Go back to before a prompt")
        yield box

    def on_mount(self) -> None:
        self._look()

    @work(exclusive=True, group="look")
    async def _look(self) -> None:
        self._work = await self._undo.work()
        self.list.show_rows(len(self._work), len(self._work) - 1)
        self.list.styles.height = max(1, len(self._work))
        redo = await self._undo.plan_back()
        self._redo = None if redo.empty else redo
        self._plan()

    def on_line_list_moved(self) -> None:
        self._plan()

    @property
    def _chosen(self) -> PromptWork | None:
        return self._work[self.list.cursor] if self._work else None

    @property
    def _plan_of_chosen(self) -> Rewind | None:
        return self._plans.get(self._chosen.prompt.number) if self._chosen is not None else None

    @work(exclusive=True, group="plan")
    async def _plan(self) -> None:
        """Work out what going back to the chosen prompt would do."""
        chosen = self._chosen
        if chosen is None:
            self._show_plan([Row((("Nothing was said yet, so there is nothing to go back to.", "muted"),))])
            return
        if chosen.prompt.number not in self._plans:
            self._show_plan([Row((("looking at the files …", "muted"),))])
            await asyncio.sleep(SETTLE_SECONDS)
            self._plans[chosen.prompt.number] = await self._undo.plan(str(chosen.prompt.number))
        self._show_plan(list(plan_rows(self._plans[chosen.prompt.number])))
        early, self._early = self._early, ""
        if early:
            self._decide(early)

    def _show_plan(self, rows: Sequence[Row]) -> None:
        self._rows = rows
        self.plan.show_rows(len(rows))
        self.keys.show_hints(self._hints())

    def _hints(self) -> list[Hint]:
        plan, hints = self._plan_of_chosen, list[Hint]()
        if plan is not None:
            has_files = bool(plan.files and plan.files.todo)
            hints.append(("Enter", "both" if has_files else "go back"))
            hints += [("f", "only files"), ("c", "only the conversation")] if has_files else []
        hints += [("r", "redo the last undo")] if self._redo is not None else []
        return [*hints, ("Esc", "leave it")]

    def _prompt_row(self, number: int) -> Row:
        one = self._work[number]
        wide = self.size.width >= NARROW_COLUMNS
        digits = len(str(len(self._work)))
        files = plural(len(one.files), "file") if wide else str(len(one.files))
        counts = f"{files} +{one.added:,} -{one.removed:,}" if one.files else "no files"
        left = (
            f"{one.prompt.number:>{digits}}  {clock(one.prompt.at)}  " if wide else f"{one.prompt.number:>{digits}}  "
        )
        return Row(
            (
                (left, "muted"),
                (f"{counts:<{COUNTS_COLUMNS if wide else FEW_COUNTS_COLUMNS}}  ", "tool"),
                (title_of(one.prompt.text), "text"),
            )
        )

    # -- keys

    def on_key(self, event: events.Key) -> None:
        early, self._early = self._early, ""
        match event.key:
            case "enter" | "f" | "c" if self._decide(event.key):
                pass
            case "enter" | "f" | "c" if self._chosen is not None and self._plan_of_chosen is None:
                self._early = early or event.key
            case "r" if self._redo is not None:
                self.dismiss(f"/redo {NOW}")
            case "pageup" | "pagedown":
                self.plan.take_key(event.key)
            case "q":
                self.dismiss(None)
            case key if not self.list.take_key(key):
                return
            case _:
                pass
        event.stop()
        event.prevent_default()

    def _decide(self, key: str) -> bool:
        """Go back as the key says; False if it cannot be done, or it is not yet known what it would do."""
        plan = self._plan_of_chosen
        has_files = plan is not None and bool(plan.files and plan.files.todo)
        if plan is None or (key == "f" and not has_files):
            return False
        self._go({"f": FILES, "c": TALK}.get(key, "" if has_files else TALK))
        return True

    def _go(self, what: str) -> None:
        assert self._chosen is not None
        self.dismiss(" ".join(word for word in ("/undo", str(self._chosen.prompt.number), what, NOW) if word))


def plan_rows(rewind: Rewind) -> Iterable[Row]:
    """What an undo would do, as rows: the conversation, then each file with what happens to it."""
    yield Row((("The conversation: ", "heading"), (f"{plural(len(rewind.taken), 'prompt')} taken back", "text")))
    plan = rewind.files
    if plan is None:
        yield Row((("No states of files are kept, so files stay as they are.", "warning"),))
        return
    left = len(plan.steps) - len(plan.todo)
    words = f"{plural(len(plan.todo), 'file')} put back" if plan.todo else "nothing to put back"
    words += f", {left} left as {'it is' if left == 1 else 'they are'}" if left else ""
    yield Row((("The files: ", "heading"), (words, "text")))
    for step in sorted(plan.steps, key=lambda s: s.verdict is Verdict.ALREADY):
        yield _step_row(step)


def _step_row(step: Step) -> Row:
    if step.verdict is not Verdict.RESTORE:
        return Row((("  leave    ", VERBS["leave"]), (visible(step.path), "text"), (f"  {step.why}", "muted")))
    verb = "delete" if step.target is None else "create" if step.now is None else "restore"
    head = (f"  {verb:<9}", VERBS[verb]), (visible(step.path), "text"), ("  ", "text")
    return Row((*head, (f"+{step.added:,}", "added"), (" ", "text"), (f"-{step.removed:,}", "removed")))
