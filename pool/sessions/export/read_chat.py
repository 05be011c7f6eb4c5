"""Reading chat messages in OpenAI's form back into a session: one conversation a line."""

from __future__ import annotations

from typing import Any, cast

from pool.messages import Message, ReasoningField, Role, ToolCall, encode_json
from pool.sessions.export.incoming import Builder, ImportProblem, Incoming, arguments_text, content_text, field_at

Json = dict[str, Any]

_SYSTEM = ("system", "developer")


def read_chat(row: Any, where: str, now: float) -> Incoming:
    """One conversation, `{"messages": [...], "tools": [...]}`. where names its line. Raises `ImportProblem`."""
    messages: list[Any] = field_at(row, "messages", list, where)
    tools: Any = field_at(row, "tools", list, where, needed=False)
    if not messages:
        raise ImportProblem(f"{where}: messages is empty")
    out = Incoming()
    reader = _Reader(out, now)
    if tools:
        reader.builder.event("head.set", head=encode_json({"tools": tools}).decode(), why="imported")
    for number, message in enumerate(messages):
        reader.take(message, f"{where}: messages[{number}]")
    reader.end()
    return out


class _Reader:
    def __init__(self, out: Incoming, now: float) -> None:
        self.builder = Builder(out)
        self.builder.place.wall = now
        self._runs = 0
        self._results: dict[str, str] = {}
        self._calls: list[tuple[str, str]] = []

    def take(self, message: Any, where: str) -> None:
        """Take the next message."""
        role = field_at(message, "role", str, where)
        content = content_text(message.get("content"), f"{where}.content", self.builder.note)
        if role == Role.TOOL:
            self._result(message, content, where)
            return
        self.end()
        if role in _SYSTEM:
            self.builder.system(content)
        elif role == Role.USER:
            self._begin(content)
            self.builder.user(content)
        elif role == Role.ASSISTANT:
            self._assistant(message, content, where)
        else:
            raise ImportProblem(f"{where}.role: system, user, assistant or tool is expected, not {role!r}")

    def end(self) -> None:
        """Results are kept in the order of their calls, whatever their order in the file."""
        for given, kept in self._calls:
            if given in self._results:
                self.builder.result(kept, self._results[given])
        self._calls, self._results = [], {}

    def _begin(self, prompt: str) -> None:
        self._runs += 1
        place = self.builder.place
        place.run, place.turn = f"imported-{self._runs}", 0
        words = {"workspace": "", "model": "", "server": "", "mode": "", "sandbox": ""}
        self.builder.event("run.started", prompt=prompt, **words)

    def _assistant(self, message: Json, content: str, where: str) -> None:
        calls = [
            _call(c, f"{where}.tool_calls[{i}]")
            for i, c in enumerate(field_at(message, "tool_calls", list, where, needed=False) or [])
        ]
        reasoning, name = _reasoning(message, where)
        if not content.strip() and not calls:
            self.builder.note("replies without content and without calls were left out")
            return
        self.builder.place.turn += 1
        kept = self.builder.assistant(Message(Role.ASSISTANT, content, reasoning, name, tuple(calls)))
        self._calls = [(c.id, k) for c, k in zip(calls, kept, strict=True)]

    def _result(self, message: Json, content: str, where: str) -> None:
        call_id = field_at(message, "tool_call_id", str, where)
        if call_id not in [given for given, _ in self._calls]:
            raise ImportProblem(f"{where}.tool_call_id: no call {call_id!r} in the reply before it")
        if call_id in self._results:
            raise ImportProblem(f"{where}.tool_call_id: a second result of the call {call_id!r}")
        self._results[call_id] = content


def _call(call: Any, where: str) -> ToolCall:
    function: Json = field_at(call, "function", dict, where)
    name = field_at(function, "name", str, f"{where}.function")
    call_id = cast(str, field_at(call, "id", str, where))
    return ToolCall(call_id, name, arguments_text(function.get("arguments", "{}"), f"{where}.function.arguments"))


def _reasoning(message: Json, where: str) -> tuple[str, ReasoningField]:
    names = [n for n in ("reasoning", "reasoning_content", "thinking") if message.get(n)]
    if not names:
        return "", ReasoningField.NONE
    text = field_at(message, names[0], str, where)
    if len(names) > 1:
        return text, ReasoningField.BOTH
    return text, ReasoningField.REASONING_CONTENT if names[0] == "reasoning_content" else ReasoningField.REASONING
