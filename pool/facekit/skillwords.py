"""What may follow a `$` in a prompt: the names of skills. One place for every face."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pool.agent.control import Conversation

MARK = "$"
MOST_OFFERS = 40


def skills_for(word: str, conversation: Conversation | None) -> Sequence[tuple[str, str]]:
    """Skills for a word that begins with the mark, as typed and with a line about each: those that begin so first."""
    if conversation is None or not word.startswith(MARK):
        return ()
    typed = word.removeprefix(MARK)
    found = [skill for skill in conversation.session.skills.found.skills.skills if typed in skill.name]
    found.sort(key=lambda skill: not skill.name.startswith(typed))
    return [(f"{MARK}{skill.name}", skill.line) for skill in found[:MOST_OFFERS]]
