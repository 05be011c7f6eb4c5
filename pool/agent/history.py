"""The history that a server sees: always valid, only growing.

Every call has its result, ids are unique, arguments are JSON objects, no assistant message is empty, and no two user
messages stand side by side (strict templates refuse that), whatever interrupts the run.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace

from pool.events import Body, MessageAdded
from pool.messages import Encoded, Message, ReasoningField, Role, ToolCall, encode, system, tool_result, user
from pool.wire.reading import Reading

INTERRUPTED = "Interrupted: this call was not finished."

_FIELDS = {
    "reasoning": ReasoningField.REASONING,
    "thinking": ReasoningField.REASONING,
    "reasoning_content": ReasoningField.REASONING_CONTENT,
    "": ReasoningField.BOTH,
}


def field_of(reasoning_field: str) -> ReasoningField:
    """Under which name reasoning goes back that came under reasoning_field ("" if it did not come apart)."""
    return _FIELDS.get(reasoning_field, ReasoningField.BOTH)


class History:
    """Messages as encoded bytes. record takes a `MessageAdded` for each, before anything depends on it.

    encode makes the bytes that the session's server takes.
    """

    def __init__(
        self,
        system_prompt: str,
        record: Callable[[Body], object],
        encode: Callable[[Message], Encoded] = encode,
        earlier: Sequence[Encoded] = (),
    ) -> None:
        """earlier are the messages of a session that goes on, byte for byte; with theirs system_prompt is not used."""
        self._record = record
        self._encode = encode
        self._messages: list[Encoded] = []
        self._ids: set[str] = set()
        self._open: dict[str, str] = {}
        self.unfinished: dict[str, str] = {}
        """What is said of calls that did not end, by their ids, where it is more than that."""
        if not earlier or earlier[0].message.role is not Role.SYSTEM:
            self._add(encode(system(system_prompt)))
        self._take_up(earlier)

    @property
    def data(self) -> list[bytes]:
        """The bytes of each message, in order."""
        return [m.data for m in self._messages]

    @property
    def messages(self) -> Sequence[Encoded]:
        """The messages, in order."""
        return self._messages

    @property
    def size(self) -> int:
        """Bytes of all messages."""
        return sum(len(m.data) for m in self._messages)

    def add_user(self, text: str) -> None:
        """Add what the user (or Pool on the user's side) says; joined to a user message that is last."""
        self.close_calls(INTERRUPTED)
        last = self._messages[-1].message
        if last.role is not Role.USER:
            self._add(self._encode(user(text)))
            return
        joined = self._encode(user(f"{last.content}\n\n{text}"))
        self._record(MessageAdded(Role.USER.value, joined.data.decode(), replaces_last=True))
        self._messages[-1] = joined

    def unique_id(self, wanted: str) -> str:
        """wanted if it is new in this session, else a fresh id (servers number calls anew each turn)."""
        if wanted and wanted not in self._ids:
            return wanted
        return f"call_{secrets.token_hex(8)}"

    def add_assistant(self, reading: Reading, calls: Sequence[ToolCall]) -> bool:
        """Add a reply with its calls; False if there is nothing to keep (reasoning alone is not kept)."""
        if not reading.content.strip() and not calls:
            return False
        field = field_of(reading.reasoning_field)
        message = Message(Role.ASSISTANT, reading.content, reading.reasoning, field, tuple(calls))
        self._ids.update(c.id for c in calls)
        self._open.update({c.id: c.name for c in calls})
        self._add(self._encode(message))
        return True

    def add_result(self, call_id: str, text: str) -> None:
        """Answer a call. Results enter in the order of the calls: templates tie them by order alone."""
        name = self._open.pop(call_id)
        self._add(self._encode(tool_result(call_id, text, name)))

    def encode(self, message: Message) -> Encoded:
        """A message's bytes as this session's server takes them, without adding it."""
        return self._encode(message)

    def replace(self, opening: Sequence[Message], kept: Sequence[Encoded]) -> None:
        """Replace all but the system message by opening and then kept, whose bytes stay. No call may be open."""
        del self._messages[1:]
        for message in [*(self._encode(m) for m in opening), *kept]:
            self._add(message)

    def recoded(self, encode: Callable[[Message], Encoded], reasoning: ReasoningField) -> list[Encoded]:
        """All but the system message as another server takes them, [] if their bytes stay as they are.

        From now on encode makes the bytes. reasoning is the name under which that server reads earlier thoughts.
        """
        self._encode = encode
        before = self._messages[1:]
        after: list[Encoded] = []
        waiting: list[str] = []
        for encoded in before:
            message = encoded.message
            if message.calls:
                # A log of a server without ids has none; results follow in the order of the calls.
                calls = tuple(replace(c, id=c.id or f"call_{secrets.token_hex(8)}") for c in message.calls)
                waiting = [call.id for call in calls]
                message = replace(message, calls=calls)
            if message.role is Role.TOOL and waiting:
                message = replace(message, call_id=waiting.pop(0))
            if message.reasoning:
                message = replace(message, reasoning_field=reasoning)
            after.append(encode(message))
        self._ids.update(call.id for encoded in after for call in encoded.message.calls)
        return after if any(a.data != b.data for a, b in zip(after, before, strict=True)) else []

    def rewind(self, messages: Sequence[Encoded]) -> None:
        """Go on from these messages, byte for byte, instead. Ids stay taken. Nothing is recorded here."""
        self._messages.clear()
        self._open.clear()
        self._take_up(messages)

    def close_calls(self, text: str) -> None:
        """Answer every open call with text."""
        for call_id in list(self._open):
            self.add_result(call_id, self.unfinished.get(call_id, text))

    def _take_up(self, earlier: Sequence[Encoded]) -> None:
        """Messages that are recorded already. Calls that something interrupted are open again, to be answered."""
        for encoded in earlier:
            self._messages.append(encoded)
            for call in encoded.message.calls:
                self._ids.add(call.id)
                self._open[call.id] = call.name
            self._open.pop(encoded.message.call_id, None)

    def _add(self, message: Encoded) -> None:
        self._record(MessageAdded(message.message.role.value, message.data.decode()))
        self._messages.append(message)
