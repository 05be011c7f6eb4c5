"""What a slash command answers, as a row of a live run's socket and back."""

from __future__ import annotations

from typing import Any, cast

from pool.agent.commands import Action, ActionKind, Ask, Choice, CommandResult
from pool.facekit.answers import answer_text

RESULT = "result"
ENDED = "the run's process has ended"


def result_row(id_: str, result: CommandResult) -> dict[str, Any]:
    """The row. Lines and table go as one text."""
    ask, action = result.ask, result.action
    return {
        "type": RESULT,
        "id": id_,
        "ok": result.ok,
        "text": answer_text(result),
        "ask": None if ask is None else {"text": ask.text, "choices": [[c.label, c.line] for c in ask.choices]},
        "action": None if action is None else [action.kind.value, action.value, action.folder],
    }


def result_of(row: dict[str, Any]) -> CommandResult:
    """The result of a row; one that cannot be understood is a result that says so."""
    try:
        text, ask, action = str(row["text"]), row.get("ask"), row.get("action")
        return CommandResult(
            tuple(text.split("\n")) if text else (),
            ok=bool(row["ok"]),
            ask=None if ask is None else _ask_of(cast(dict[str, Any], ask)),
            action=None if action is None else Action(ActionKind(action[0]), str(action[1]), str(action[2])),
        )
    except (KeyError, IndexError, TypeError, ValueError):
        return CommandResult(("the run's answer cannot be understood; it is another version of Pool",), ok=False)


def _ask_of(row: dict[str, Any]) -> Ask:
    return Ask(str(row["text"]), tuple(Choice(str(label), str(line)) for label, line in row["choices"]))
