"""A tokenizer of the simulator's own: about four characters a token, the template's marks one token each.

It is not Laguna's. Ids need no table: an ordinary piece is its UTF-8 bytes read as a number after a leading 1, so that
`decode` undoes `ids` without state. Ids of marks up to 10 are those of the recordings (`</assistant>` is 6).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

BOS = "〈|EOS|〉"
THINK, END_THINK = "<think>", "</think>"
ASSISTANT, END_TURN = "<assistant>", "</assistant>"
CALL, END_CALL = "<tool_call>", "</tool_call>"
KEY, END_KEY = "<arg_key>", "</arg_key>"
VALUE, END_VALUE = "<arg_value>", "</arg_value>"

_FIRST_MARK_ID = 2
_MARKS = (
    *(BOS, THINK, END_THINK, ASSISTANT, END_TURN, "<user>", "</user>", "<system>", "</system>"),
    *("<tool_response>", "</tool_response>", CALL, END_CALL, KEY, END_KEY, VALUE, END_VALUE),
    *("<available_tools>", "</available_tools>"),
)
_ID_OF_MARK = {mark: number for number, mark in enumerate(_MARKS, _FIRST_MARK_ID)}
_MARK_OF_ID = {number: mark for mark, number in _ID_OF_MARK.items()}
END_TURN_ID = _ID_OF_MARK[END_TURN]

# Every piece but a mark has at most 6 bytes, so that its id stays below 2**53 and survives any JSON reader.
_PIECE = re.compile(
    "|".join(map(re.escape, _MARKS)) + r"| ?[A-Za-z]{1,5}| ?[0-9]{1,3}| ?[!-/:;=-@\[-`{-~]{1,3}|\n{1,6}| {1,6}|.",
    re.DOTALL,
)


def encode(text: str) -> list[str]:
    """Split text into tokens. Joined, they are the text again."""
    return _PIECE.findall(text)


def ids(tokens: Iterable[str]) -> list[int]:
    """The numbers of tokens."""
    return [
        _ID_OF_MARK.get(token) or int.from_bytes(b"\x01" + token.encode("utf-8", "surrogatepass")) for token in tokens
    ]


def decode(numbers: Iterable[int]) -> str:
    """The text of token numbers; a number that no token has is left out."""
    return "".join(_MARK_OF_ID.get(number) or _piece(number) for number in numbers)


def _piece(number: int) -> str:
    if number < 0:
        return ""
    data = number.to_bytes((number.bit_length() + 7) // 8 or 1)
    return data[1:].decode("utf-8", "replace") if data[0] == 1 else ""
