"""From model text to what the client sees, step by step or whole, as vLLM 0.25.1's `poolside_v1` parsers do it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from pool.sim.calls import CallParser, CallPiece, Schemas, decoded, is_text
from pool.sim.tokens import CALL, END_CALL, END_KEY, END_THINK, END_VALUE, KEY, THINK, VALUE

_WHOLE_CALL = re.compile(re.escape(CALL) + r"(.*?)" + re.escape(END_CALL), re.DOTALL)
_ARGUMENT = re.compile(f"{KEY}(.*?){END_KEY}\\s*{VALUE}(.*?){END_VALUE}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Delta:
    """What one step shows: None means that the key is not there. calls hold pieces in order."""

    content: str | None = None
    reasoning: str | None = None
    calls: tuple[CallPiece, ...] = ()


@dataclass(slots=True)
class StreamParser:
    """Feed the text of each step.

    thinking: the thought is still open. schemas: the tools whose calls are parsed, None to pass markup as text.
    """

    thinking: bool
    schemas: Schemas | None
    _calls: CallParser | None = field(init=False)
    _held: str = field(init=False, default="")

    def __post_init__(self) -> None:
        self._calls = None if self.schemas is None else CallParser(self.schemas)

    @property
    def called(self) -> bool:
        """Whether any piece of a call was shown."""
        return self._calls is not None and self._calls.called

    def feed(self, text: str, *, last: bool = False) -> Delta | None:
        """What to show for a step, None for nothing. The last step is always shown, even if empty."""
        reasoning: str | None = None
        if self.thinking:
            before, tag, after = text.partition(END_THINK)
            reasoning = before or None
            if not tag:
                return Delta(reasoning=before) if before or last else None
            self.thinking, text = False, after
        pieces = self._split(text)
        if last:
            self._close(pieces.calls)
        if reasoning is None and not pieces.content and not pieces.calls:
            return Delta() if last else None
        return Delta(pieces.content, reasoning, pieces.calls)

    def _split(self, text: str) -> Delta:
        if self._calls is None:
            return Delta(content=text or None)
        pieces = self._calls.feed(text)
        return Delta(content=pieces.text or None, calls=tuple(pieces.calls))

    def _close(self, shown: tuple[CallPiece, ...]) -> None:
        """Append what closes the JSON to the last piece that this step shows."""
        if self._calls is not None and shown:
            shown[-1].arguments += self._calls.close()


@dataclass(frozen=True, slots=True)
class WholeMessage:
    """A reply that is not streamed. content is None where vLLM says null; calls are (name, arguments as JSON)."""

    content: str | None
    reasoning: str | None
    calls: tuple[tuple[str, str], ...] = ()


def parse_whole(text: str, thinking: bool, schemas: Schemas | None) -> WholeMessage:
    """Read a whole model text. It differs from streaming in places: see recordings 15, 27, 28, 30.

    thinking: the client asked for thoughts. Even where the prompt had closed the thought already everything then is
    reasoning until a closing tag: so vLLM 0.25.1 puts a continued turn into the wrong field.
    """
    reasoning: str | None = None
    if thinking:
        # What stands before a first opening tag is dropped, even if that tag is in the answer (recording 48).
        _, opening, after = text.partition(THINK)
        reasoning, tag, text = (after if opening else text).partition(END_THINK)
        if not tag or not text:
            return WholeMessage(None, reasoning)
    if schemas is None:
        return WholeMessage(text, reasoning)
    calls = [call for match in _WHOLE_CALL.finditer(text) if (call := _whole_call(match[1], schemas)) is not None]
    if not calls:
        return WholeMessage(text, reasoning)
    return WholeMessage(text[: text.find(CALL)] or None, reasoning, tuple(calls))


def _whole_call(body: str, schemas: Schemas) -> tuple[str, str] | None:
    name, _, _ = body.lstrip("\n").partition(KEY)
    name, _, _ = name.partition("\n")
    name = name.strip()
    if not name:
        return None
    arguments: dict[str, object] = {}
    for match in _ARGUMENT.finditer(body):
        key = match[1].strip()
        arguments[key] = match[2] if is_text(schemas, name, key) else decoded(match[2])
    return name, json.dumps(arguments, ensure_ascii=False)
