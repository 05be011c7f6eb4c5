"""What may follow a `$` in a prompt: the names of skills. One place for every face."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pool.agent.control import Conversation

MARK = "$"
MOST_OFFERS = 40


def skills_of(conversation: Conversation) -> tuple[tuple[str, str], ...]:
    """The skills that a conversation can use: name, and a line about each."""
    return tuple((skill.name, skill.line) for skill in conversation.session.skills.found.skills.skills)


def skills_for(word: str, skills: Iterable[tuple[str, str]]) -> Sequence[tuple[str, str]]:
    """Skills for a word that begins with the mark, as typed and with a line about each: those that begin so first."""
    if not word.startswith(MARK):
        return ()
    typed = word.removeprefix(MARK)
    found = [(name, about) for name, about in skills if typed in name]
    found.sort(key=lambda skill: not skill[0].startswith(typed))
    return [(f"{MARK}{name}", about) for name, about in found[:MOST_OFFERS]]
