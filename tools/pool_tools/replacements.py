"""What an edit call asks for: one replacement or several, each found in the file as it is, none over another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from pool_tools.api import ToolError
from pool_tools.arguments import flag_argument, text_argument
from pool_tools.frozen import frozen
from pool_tools.match import Found, Match, Step, line_number

NAMED_PLACES = 20
"""Line numbers that a refusal for several matches names."""

ALL_STEPS = frozenset({Step.EXACT, Step.LINE_ENDS, Step.TRAILING_BLANKS})
"""Steps of matching by which every occurrence may be replaced."""


@frozen
class Replacement:
    """One text for another. label begins messages about it: "" for the only one, `Edit 2 of 3: ` else."""

    old: str
    new: str
    every: bool
    label: str = ""


@frozen
class Placed:
    """A replacement and where it was found."""

    replacement: Replacement
    found: Found


def replacements(args: Mapping[str, Any]) -> tuple[Replacement, ...]:
    """The replacements of a call: `old_text` and `new_text`, or the objects in `edits`."""
    several: object = args.get("edits")
    if several is None or several == []:
        return (_one(args, ""),)
    if not isinstance(several, list):
        raise ToolError("`edits` must be a list of objects with old_text and new_text.")
    if args.get("old_text") or args.get("new_text"):
        raise ToolError("Give either `old_text` and `new_text`, or `edits`, not both. Nothing was changed.")
    edits = cast("list[object]", several)
    out: list[Replacement] = []
    for number, edit in enumerate(edits, 1):
        label = f"Edit {number} of {len(edits)}: " if len(edits) > 1 else ""
        if not isinstance(edit, dict):
            raise ToolError(f"{label}it must be an object with old_text and new_text. Nothing was changed.")
        try:
            out.append(_one(cast("dict[str, Any]", edit), label))
        except ToolError as error:
            raise ToolError(f"{label}{error}", edit=number) from None
    return tuple(out)


def _one(args: Mapping[str, Any], label: str) -> Replacement:
    return Replacement(
        text_argument(args, "old_text"), text_argument(args, "new_text"), flag_argument(args, "all"), label
    )


def refuse_empty(name: str, wanted: Replacement, data: bytes) -> None:
    """Raise `ToolError` for a replacement that says nothing. data is what the file name holds."""
    if wanted.old == wanted.new:
        raise ToolError(f"{wanted.label}No change: old_text and new_text are the same. {name} is as it was.")
    if not wanted.old:
        remedy = "use `write`" if not data else "put the lines next to which it belongs into old_text and new_text"
        raise ToolError(f"{wanted.label}old_text is empty. Nothing was changed in {name}. To add text, {remedy}.")


def refuse_several(name: str, text: str, placed: Placed) -> None:
    """Raise `ToolError` where more places were found than may be replaced."""
    wanted, found = placed.replacement, placed.found
    count = len(found.matches)
    if count == 1 or (wanted.every and found.step in ALL_STEPS):
        return
    numbers = [str(line_number(text, m.start)) for m in found.matches[:NAMED_PLACES]]
    places = ", ".join(numbers[:-1]) + f" and {numbers[-1]}" if count <= NAMED_PLACES else ", ".join(numbers) + ", …"
    how = "" if found.step is Step.EXACT else f" (when {found.step} are ignored)"
    remedy = " or set `all` to true" if found.step in ALL_STEPS else ""
    raise ToolError(
        f"{wanted.label}old_text occurs {count} times in {name}{how}, at lines {places}. Nothing was changed. Add "
        f"lines around it to make it unique{remedy}."
    )


def apply(name: str, text: str, placed: Sequence[Placed]) -> str:
    """text with everything replaced. Raises `ToolError` where two replacements want the same characters."""
    every: list[tuple[Match, Replacement]] = [(match, p.replacement) for p in placed for match in p.found.matches]
    every.sort(key=lambda pair: (pair[0].start, pair[0].end))
    out: list[str] = []
    at = 0
    last: Replacement | None = None
    for match, wanted in every:
        if match.start < at and last is not None:
            line = line_number(text, match.start)
            raise ToolError(
                f"{last.label.rstrip(': ')} and {wanted.label.rstrip(': ').lower()} overlap at line {line} of {name}. "
                "Nothing was changed. All edits are found in the file as it is now: put these two into one.",
                overlap=True,
            )
        out += [text[at : match.start], match.new]
        at, last = match.end, wanted
    return "".join([*out, text[at:]])
