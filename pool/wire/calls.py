"""Assembles tool calls from the `tool_calls` items of a streamed reply, whatever the server makes of the format."""

from __future__ import annotations

from typing import Any, cast

from pool.messages import valid_text
from pool.wire.argscan import ArgumentScan
from pool.wire.jsontext import BadJson, Mend, as_mapping, canonical, read_object
from pool.wire.reading import MAX_CALLS, MOST_REPLY_CHARS, TOO_MANY_CALLS, BrokenCall, CallText, RawCall
from pool_tools.frozen import frozen

NAMELESS = "The call came without a tool name. Name the tool and repeat the whole call."
MAX_ITEMS = 1024
"""Most items of one delta that are looked at."""

MAX_INDEX_DIGITS = 9
"""Longest index in text that is read as a number."""

UNREADABLE = "The arguments are nested too deeply to be read."


class CallAssembler:
    """Takes the decoded `tool_calls` value of each delta, in order, and gives the calls at the end.

    Cost is linear in the length of the arguments: pieces are kept as they come and parsed once, by `finish`. No more
    than `MAX_CALLS` calls and room characters of them are kept.
    """

    def __init__(self, room: int = MOST_REPLY_CHARS) -> None:
        self.room = room
        """Characters that may still come; below 0 once something was left out."""
        self._flooded = False
        self._calls: list[_OpenCall] = []
        self._by_index: dict[int | None, int] = {}
        self._by_id: dict[str, int] = {}

    @property
    def open(self) -> bool:
        """Whether any call has been seen."""
        return bool(self._calls)

    def feed(self, items: Any) -> list[CallText]:
        """Take one delta's `tool_calls`, of any shape; what is no item is skipped. Never raises.

        Gives an event for each call that began, grew or showed its path. Its index counts calls in order of their
        first appearance, which is not the server's index where that is missing or always 0.
        """
        quick = self._continuation(items)
        if quick is not None:
            return [quick]
        events: list[CallText] = []
        for item in _items(items):
            piece = _read_piece(item)
            if piece is None:
                continue
            position = self._place(piece)
            if position is None:
                continue
            call = self._calls[position]
            if call.take(piece, self._fitted(piece.arguments or "")):
                events.append(CallText(position, call.name, call.chars, call.scan.path))
        return events

    def _continuation(self, items: Any) -> CallText | None:
        """The common case, fast: one piece that holds an index and more arguments, and nothing else."""
        try:
            (item,) = items
            if len(item) != 2 or len(item["function"]) != 1:
                return None
            index, arguments = item["index"], item["function"]["arguments"]
        except (TypeError, ValueError, KeyError):
            return None
        position = self._by_index.get(index) if type(index) is int else None
        if position is None or not arguments or type(arguments) is not str:
            return None
        call = self._calls[position]
        call.add(self._fitted(arguments))
        return CallText(position, call.name, call.chars, call.scan.path)

    def _fitted(self, text: str) -> str:
        """As much of text as there is room for."""
        room = max(0, self.room)
        self.room -= len(text)
        return text if self.room >= 0 else text[:room]

    def finish(self) -> tuple[tuple[RawCall, ...], tuple[BrokenCall, ...], tuple[str, ...]]:
        """Whole calls in order of first appearance, broken ones, and the names of what was mended."""
        whole: list[RawCall] = []
        broken: list[BrokenCall] = []
        mends: list[str] = []
        for call in self._calls:
            try:
                done, mended = call.finished()
            except BadJson as error:
                broken.append(BrokenCall(call.id, call.name, valid_text(call.text), str(error)))
                continue
            whole.append(done)
            mends.extend(mend.value for mend in mended)
        if self._flooded:
            broken.append(BrokenCall("", "", "", TOO_MANY_CALLS))
        return tuple(whole), tuple(broken), tuple(dict.fromkeys(mends))

    def _place(self, piece: _Piece) -> int | None:
        """Where the piece belongs: the position of its call, a new one if need be; None if it says nothing."""
        known = self._known(piece)
        if known is not None and not self._begins_another(self._calls[known], piece):
            self._calls[known].adopt(piece)
            position = known
        elif not (piece.id or piece.name or piece.arguments is not None):
            return None
        elif len(self._calls) >= MAX_CALLS:
            # Later pieces of this call must not end up in the one that had its index.
            self._flooded = True
            self._by_index.pop(piece.index, None)
            return None
        else:
            position = len(self._calls)
            self.room -= len(piece.id) + len(piece.name)
            self._calls.append(_OpenCall(piece.id, piece.name))
        if piece.index is not None:
            self._by_index[piece.index] = position
        if self._calls[position].id:
            self._by_id.setdefault(self._calls[position].id, position)
        return position

    def _known(self, piece: _Piece) -> int | None:
        if piece.index is not None:
            return self._by_index.get(piece.index)
        if piece.id in self._by_id:
            return self._by_id[piece.id]
        return len(self._calls) - 1 if self._calls and not self._flooded else None

    @staticmethod
    def _begins_another(call: _OpenCall, piece: _Piece) -> bool:
        """Whether a piece that points at a known call is the start of another one.

        With an index, only a new id together with a name says so: Ollama gives every parallel call index 0 (CALL-03).
        A server that makes up an id for every piece and repeats the name is told apart by arguments that go on in the
        middle of an object.
        """
        new_id = bool(piece.id) and piece.id != call.id
        if piece.index is None:
            started = bool(call.id) or call.scan.whole
            return (new_id and started) or (bool(piece.name) and not piece.id and call.scan.whole)
        if not (new_id and piece.name):
            return False
        if not call.id:
            return call.scan.whole
        return not (piece.name == call.name and call.chars and not call.scan.whole and piece.continues)


@frozen
class _Piece:
    """One item, made regular: index and arguments are None where missing, id and name ""."""

    index: int | None
    id: str
    name: str
    arguments: str | None
    as_object: bool = False
    unreadable: bool = False

    @property
    def continues(self) -> bool:
        """Whether the arguments look like the middle of an object rather than its start."""
        return bool(self.arguments) and not str(self.arguments).lstrip().startswith("{")


class _OpenCall:
    """A call that is still being received."""

    __slots__ = ("_as_object", "_pieces", "_shown", "_unreadable", "chars", "id", "name", "scan")

    def __init__(self, id: str, name: str) -> None:
        self.id = id
        self.name = name
        self.chars = 0
        self.scan = ArgumentScan()
        self._pieces: list[str] = []
        self._as_object = False
        self._unreadable = False
        self._shown = False

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    def adopt(self, piece: _Piece) -> None:
        """Fill in what was missing. What is there stays: later pieces repeat it, or carry an empty or null one."""
        self.id = self.id or piece.id
        self.name = self.name or piece.name

    def take(self, piece: _Piece, arguments: str) -> bool:
        """Add the piece, and what of its arguments is kept; whether there is something to show."""
        self._unreadable = self._unreadable or piece.unreadable
        self._as_object = self._as_object or piece.as_object
        if arguments:
            self.add(arguments)
        elif self._shown or not self.name:
            return False
        self._shown = True
        return True

    def add(self, arguments: str) -> None:
        """Append argument text."""
        self._shown = True
        self._pieces.append(arguments)
        self.chars += len(arguments)
        self.scan.feed(arguments)

    def finished(self) -> tuple[RawCall, tuple[Mend, ...]]:
        """The whole call. Raises `BadJson` with what was wrong."""
        if self._unreadable:
            raise BadJson(UNREADABLE)
        if not self.name:
            raise BadJson(NAMELESS)
        read = read_object(self.text)
        mends = (*read.mends, Mend.SENT_AS_OBJECT) if self._as_object else read.mends
        return RawCall(self.id, self.name, canonical(read.value)), mends


def _items(value: Any) -> list[Any]:
    if isinstance(value, list):
        return cast("list[Any]", value)[:MAX_ITEMS]
    return [value]


def _read_piece(item: object) -> _Piece | None:
    outer = as_mapping(item)
    if outer is None:
        return None
    inner = as_mapping(outer.get("function"))
    function = outer if inner is None else inner
    arguments, as_object, unreadable = _arguments(function.get("arguments"))
    return _Piece(
        _index(outer.get("index")),
        _text(outer.get("id")),
        _text(function.get("name")),
        arguments,
        as_object,
        unreadable,
    )


def _arguments(value: object) -> tuple[str | None, bool, bool]:
    """Arguments as text; whether they came as an object (Ollama's own API), and whether they cannot be written down."""
    if value is None or isinstance(value, str):
        return value, False, False
    try:
        return canonical(value), as_mapping(value) is not None, False
    except (TypeError, ValueError, RecursionError):
        return None, False, True


def _index(value: object) -> int | None:
    match value:
        case bool():
            return None
        case int():
            return value
        case float() if value.is_integer():
            return int(value)
        case str() if value.isdecimal() and value.isascii() and len(value) <= MAX_INDEX_DIGITS:
            return int(value)
        case _:
            return None


def _text(value: object) -> str:
    return valid_text(value).strip() if isinstance(value, str) else ""
