"""The folders that a session worked in: it can be gone on with in another one, and each keeps changes of its own."""

from __future__ import annotations

from collections.abc import Sequence

from pool.sessions.rewinds import Prompt, Row, prompts
from pool_tools.frozen import frozen


@frozen
class Place:
    """The folder to act on, and the others that the session worked in."""

    folder: str
    others: tuple[str, ...] = ()


def place_of(rows: Sequence[Row], made_in: str, here: str) -> Place:
    """The folder that is meant without a prompt's name: here if the session worked here, else that of its last prompt.

    made_in is where the session was made.
    """
    worked = _worked(prompts(rows), made_in)
    folder = here if here in worked else worked[-1]
    return Place(folder, tuple(other for other in dict.fromkeys(worked) if other != folder))


def place_of_prompt(prompt: Prompt, rows: Sequence[Row], made_in: str) -> Place:
    """The folder that a prompt was worked in, and others that later ones were."""
    folder = prompt.workspace or made_in
    later = _worked([p for p in prompts(rows) if p.seq > prompt.seq], folder)
    return Place(folder, tuple(other for other in dict.fromkeys(later) if other != folder))


def _worked(every: Sequence[Prompt], made_in: str) -> list[str]:
    """The folders of prompts in their order; made_in where none is known."""
    return [p.workspace or made_in for p in every] or [made_in]
