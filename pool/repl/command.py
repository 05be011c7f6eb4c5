"""Running the line interface: from settings to the exit code, and the words that are left on the terminal."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING

from pool.config.settings import Settings
from pool.facekit.comeback import come_back
from pool.repl.ink import Ink

if TYPE_CHECKING:
    from pool.facekit.live.place import Attachment
    from pool.repl.chat import Chat


def run_chat(settings: Settings, prompt: str = "", attachment: Attachment | None = None) -> int:
    """Talk until it is left; the exit code. Afterwards says how to come back to the session.

    attachment is a run in another process, to talk to in the place of a session here.

    With a person it is 0 unless the session could not be opened; without one it is that of the first prompt that was
    not worked to a good end.
    """
    return asyncio.run(_run(settings, prompt, attachment))


async def _run(settings: Settings, prompt: str, attachment: Attachment | None) -> int:
    if can_edit():
        from pool.repl.screen import Screen

        ink = Ink(colours="NO_COLOR" not in os.environ or not os.environ["NO_COLOR"])
        face = Screen(settings, ink, attachment)
    else:
        from pool.agent.approvals import NobodyThere
        from pool.repl.plainface import PlainFace

        nobody = None if sys.stdin.isatty() else NobodyThere()
        face = PlainFace(settings, Ink(colours=False, marks=False), nobody, attachment)
    code = await face.run(prompt)
    _tell(face.chat)
    return code


def can_edit() -> bool:
    """Whether the terminal lets a line be edited: it is one, and moves its cursor."""
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "") not in ("", "dumb")


def _tell(chat: Chat) -> None:
    if words := chat.driver.last_words():
        print(words, flush=True)
    elif chat.ran and (session := chat.driver.kept_session):
        print(f"To go on with this session: {come_back('pool chat', session, chat.settings)}", flush=True)
