"""Model and server: what the server said of itself, what was measured, and what every request says."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from pool.tui.screens.linelist import Row
from pool.tui.screens.report import BLANK, facts, heading, wrapped
from pool.wire.dialects import Dialect, TokenizerKind

if TYPE_CHECKING:
    from pool.agent.control import Conversation
    from pool.facekit.activity import Speed

NOT_SHOWN = frozenset({"tools", "messages", "model"})
"""Parts of a request's head that are shown elsewhere."""

MOST_MODELS = 8


def server_rows(conversation: Conversation, speed: Speed, width: int) -> Sequence[Row]:
    """The panel for a width in cells."""
    exchange = conversation.session.replies.exchange
    link, status = exchange.link, conversation.status()
    info = link.look()
    rows = [heading("Server"), *facts([("address", link.display)], width)]
    if info is None:
        rows += facts([("answer", "it was not asked yet, or has not answered")], width)
    else:
        kind = f"{info.dialect.name} {info.version}".strip()
        window = f"{exchange.window:,} tokens" if exchange.window else "unknown"
        source = f" (told by {info.window_source})" if info.window_source and link.window == info.window else ""
        spec = {None: "not told", True: "on", False: "off"}[info.speculation]
        rows += facts([("kind", kind), ("window", window + source), ("speculation", spec)], width)
        rows += facts([("models", _models(info.models))], width)
    model = [("name", status.model), ("thinking", status.thinking), *_head(conversation.session.replies.head_json)]
    rows += [BLANK, heading("Model"), *facts(model, width)]
    rows += [BLANK, heading("Measured"), *facts(_measured(exchange.prefill_rate, speed), width)]
    rows += [BLANK, heading("What the server can"), *facts(_can(link.dialect), width)]
    for note in info.notes if info else ():
        rows += [BLANK, *(Row(((part, "warning"),)) for part in wrapped(note, width))]
    return rows


def _models(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_MODELS} more" if len(names) > MOST_MODELS else ""
    return (", ".join(names[:MOST_MODELS]) + more) or "none listed"


def _head(head: str) -> list[tuple[str, str]]:
    """What every request says beside messages and tools."""
    value: Any = json.loads(head)
    fields = cast(dict[str, Any], value) if isinstance(value, dict) else {}
    return [(k, json.dumps(v) if not isinstance(v, str) else v) for k, v in fields.items() if k not in NOT_SHOWN]


def _measured(prefill: float, speed: Speed) -> list[tuple[str, str]]:
    reading = prefill or speed.reading
    return [
        ("reads", f"{reading:,.0f} tokens a second" if reading else "not measured yet"),
        ("writes", f"{speed.writing:,.0f} tokens a second" if speed.writing else "not measured yet"),
    ]


def _can(dialect: Dialect) -> list[tuple[str, str]]:
    yes = {
        "goes on with a reply": dialect.continue_message is not None,
        "limits a thought": bool(dialect.thinking_budget),
        "ends a thought": bool(dialect.reasoning_control_path),
        "stops repetition": bool(dialect.repetition_detection),
        "forces a call": dialect.structural_tags,
        "counts prompts": dialect.tokenizer is not TokenizerKind.NONE,
        "tells progress": bool(dialect.progress),
        "tells its load": bool(dialect.running_metric),
    }
    can = ", ".join(name for name, has in yes.items() if has) or "the common parts of OpenAI's interface"
    cannot = ", ".join(name for name, has in yes.items() if not has)
    return [("can", can), *([("cannot", cannot)] if cannot else [])]
