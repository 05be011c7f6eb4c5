"""Live output of a call: its end, sent at most so often, or all of it where the client has a terminal to show it in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pool.acp.toolcalls import fenced
from pool_tools.colours import last_frames, plain_text

TAIL_CHARS = 4_000
"""So much of the output's end is shown while a command runs: each update carries all of it."""

UPDATE_SECONDS = 0.25
"""Output within this time goes into one update."""

Json = dict[str, Any]


@dataclass(slots=True)
class LiveOutput:
    """Output of one call. terminal: the client takes pieces of it, as `_meta` of updates."""

    call: str
    terminal: bool
    used_terminal: bool = False
    _tail: str = ""
    _unsent: list[str] = field(default_factory=list[str])

    def add(self, text: str) -> None:
        """More of it."""
        if self.terminal:
            self._unsent.append(text)
        else:
            self._tail = (self._tail + text)[-TAIL_CHARS:]

    def update(self) -> Json:
        """An update with what there is now."""
        out: Json = {"sessionUpdate": "tool_call_update", "toolCallId": self.call}
        if not self.terminal:
            return out | {"content": [fenced(plain_text(last_frames(self._tail)))]}
        self.used_terminal = True
        data = "".join(self._unsent).replace("\n", "\r\n")
        self._unsent.clear()
        return out | {"_meta": {"terminal_output": {"terminal_id": self.call, "data": data}}}

    def ended(self, status: object) -> Json:
        """What the last update says of the terminal."""
        code = status if isinstance(status, int) and not isinstance(status, bool) else None
        return {"terminal_exit": {"terminal_id": self.call, "exit_code": code, "signal": None}}
