"""What an agent offers by name: commands, modes, settings. Nothing of it is trusted to be of the right kind."""

from __future__ import annotations

from collections.abc import Sequence

from pool.facekit.agents.translating import Json, rows_of
from pool.facekit.clean import one_line
from pool_tools.frozen import frozen

NAMES_MOST = 20


@frozen
class Offered:
    """Something that the agent offers by name: a command, or a mode."""

    name: str
    about: str


@frozen
class Option:
    """A setting of the agent's, its value and those that it may have: "on" and "off" where it is a switch."""

    id: str
    name: str
    value: str
    choices: tuple[Offered, ...]
    switch: bool = False


def offered_names(many: Sequence[Offered]) -> str:
    """Names for a line of text; of very many the first."""
    names = [one.name for one in many[:NAMES_MOST]]
    more = [f"and {len(many) - NAMES_MOST} more"] if len(many) > NAMES_MOST else []
    return ", ".join([*names, *more])


def offered(row: Json, key: str) -> Offered:
    """What a row offers; its name is what stands under key."""
    about = row.get("description") if key == "name" else row.get("name")
    return Offered(one_line(str(row.get(key) or "")), one_line(str(about or "")))


def option_of(row: Json) -> Option:
    """A config option."""
    current = row.get("currentValue")
    name, switch = one_line(str(row.get("name") or row.get("id"))), isinstance(current, bool)
    if switch:
        return Option(
            str(row.get("id")), name, "on" if current else "off", (Offered("on", ""), Offered("off", "")), switch
        )
    # Choices may stand in groups, each with a list of its own.
    rows = [one for group in rows_of(row.get("options")) for one in rows_of(group.get("options")) or [group]]
    return Option(str(row.get("id")), name, str(current), tuple(offered(one, "value") for one in rows))
