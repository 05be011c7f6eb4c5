"""The list of steps that the model keeps for work of several steps: the tool `todo`, and the list itself.

The list is in the session's events, so that faces show it and a session that goes on has it again. A compaction repeats
it word for word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from pool.events import Body, TodoChanged, TodoItem
from pool.messages import valid_text
from pool_tools import Effect, Preview, ToolError, ToolResult
from pool_tools.api import OutputSink, ToolSpec

MOST_ITEMS = 50
MOST_CHARS = 300
"""Of one step."""

MARKS = {"open": "[ ]", "now": "[>]", "done": "[x]"}
"""How a step of each state is written, by the model and for it."""

_STATES = {" ": "open", "": "open", ">": "now", "~": "now", "-": "now", "x": "done", "X": "done"}
_KEPT = "Your todo list, as it stands:"


class TodoList:
    """The steps as they stand. tell takes the event of a change."""

    def __init__(self, tell: Callable[[Body], object], items: Sequence[TodoItem] = ()) -> None:
        self._tell = tell
        self.items: tuple[TodoItem, ...] = tuple(items)

    def set(self, items: Sequence[TodoItem]) -> None:
        """Put these in the place of what there was."""
        if tuple(items) != self.items:
            self.items = tuple(items)
            self._tell(TodoChanged(self.items))

    def restore(self, items: Sequence[TodoItem]) -> None:
        """Go back to a list that the log has already."""
        self.items = tuple(items)

    def for_model(self) -> str:
        """The whole list, for a history that is replaced; "" if it is empty."""
        return "\n".join([_KEPT, *lines_of(self.items)]) if self.items else ""


class TodoTool:
    """The tool `todo`. Each call gives the whole list, so that no call depends on another."""

    spec = ToolSpec(
        name="todo",
        description="For work of several steps: keep the list the user sees. Send all steps each time, each beginning "
        "with [ ], [>] (now) or [x].",
        parameters={
            "type": "object",
            "properties": {"items": {"type": "array", "items": {"type": "string"}}},
            "required": ["items"],
        },
        effect=Effect.READ,
    )

    def __init__(self, todo: TodoList | None = None) -> None:
        """todo is None where a request is only shown and nothing ever runs."""
        self._todo = todo

    def preview(self, args: Mapping[str, Any]) -> Preview:
        items = _items(args)
        return Preview("text", f"Todo: {progress(items)}", "\n".join(lines_of(items)))

    async def run(self, args: Mapping[str, Any], output: OutputSink) -> ToolResult:
        items = _items(args)
        if self._todo is not None:
            self._todo.set(items)
        done = sum(item.state == "done" for item in items)
        return ToolResult(True, f"{progress(items)}.", {"done": done, "items": len(items)})


def read_items(lines: Iterable[str]) -> list[TodoItem]:
    """Steps from lines such as `[x] read the parser`; a line without a mark is open. Empty ones are left out."""
    return [item for line in lines if (item := _item(line)).text]


def lines_of(items: Iterable[TodoItem]) -> list[str]:
    """A line for each step, as the model writes them."""
    return [f"{MARKS.get(item.state, MARKS['open'])} {item.text}" for item in items]


def progress(items: Sequence[TodoItem]) -> str:
    """How far the list is, in a few words: `2 of 5 done; now: run the tests`."""
    if not items:
        return "the list is empty"
    done = sum(item.state == "done" for item in items)
    now = current(items)
    return f"{done} of {len(items)} done" + (f"; now: {now.text}" if now else "")


def current(items: Sequence[TodoItem]) -> TodoItem | None:
    """The step that is worked on, else the next one; None once all are done."""
    return next((i for i in items if i.state == "now"), next((i for i in items if i.state == "open"), None))


def _items(args: Mapping[str, Any]) -> list[TodoItem]:
    items = read_items(str(line) for line in cast("list[object]", args.get("items") or []))
    if len(items) > MOST_ITEMS or any(len(item.text) > MOST_CHARS for item in items):
        raise ToolError(f"A list has at most {MOST_ITEMS} steps of {MOST_CHARS} characters each.")
    return items


def _item(line: str) -> TodoItem:
    text = " ".join(valid_text(line).split()).removeprefix("- ")
    if text.startswith("[]"):
        return TodoItem(text[2:].strip())
    if len(text) > 2 and text[0] == "[" and text[2] == "]" and text[1] in _STATES:
        return TodoItem(text[3:].strip(), _STATES[text[1]])
    return TodoItem(text)
