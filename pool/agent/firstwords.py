"""What people are told before a session's first run: how it was opened, what was read, the sandbox."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pool.agent.confinement import Confinement
from pool.agent.hub import EventHub
from pool.agent.server import ServerLink
from pool.config.settings import SandboxChoice, Settings
from pool.events import Notice
from pool.sessions.store import commits_folder
from pool_tools.home import homeless_note
from pool_tools.sandbox import NoSandbox

if TYPE_CHECKING:
    from pool_tools.sandbox.probe import Probe


def of_choice(link: ServerLink, settings: Settings) -> Sequence[str]:
    """What is to be said of a server whose model nobody named."""
    return link.info.notes if link.info and not settings.model else ()


def say_first(
    hub: EventHub, settings: Settings, confinement: Confinement, opening: Sequence[str], read: Sequence[str]
) -> None:
    """Say what people should know before the first run: of how the session was opened, what was read, the sandbox."""
    lesser = (confinement.lesser,) if confinement.lesser else ()
    homeless = (note,) if (note := homeless_note()) else ()
    noticed = () if settings.parent else settings.notices
    for note in [*homeless, *noticed, *opening, *read, *lesser, *_begun(settings)]:
        hub.emit(Notice("warning", note))
    if confinement.found.sandbox.name != NoSandbox.name and confinement.found.reason:
        hub.emit(_weaker(confinement.found, settings))


def _begun(settings: Settings) -> list[str]:
    """What is to be said of a commit that was left unfinished here."""
    if not commits_folder().is_dir():
        return []
    from pool.agent.gitwork.begun import begun_words

    words = begun_words(settings.workspace)
    return [words] if words else []


def _weaker(found: Probe, settings: Settings) -> Notice:
    """What people are told, in scripts too, where commands are confined by less than the strongest tier."""
    level = "info" if settings.sandbox is SandboxChoice.EXTERNAL else "warning"
    return Notice(level, f"the sandbox is weaker than it could be: {found.tier}, since {found.reason}", found.remedy)
