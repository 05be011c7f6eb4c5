"""Runs that outlive a terminal: the process that works one, and the commands that find, show and stop it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pool_tools.frozen import frozen

if TYPE_CHECKING:
    from pool.agent.answerform import AnswerForm


@frozen
class LiveOptions:
    """How a live run works.

    notify is the user's command, "" for none; name what a new session is called. followed: whoever starts it attaches.
    form is what answers have to fit, artifacts the folder to leave files in.
    """

    notify: str = ""
    name: str = ""
    followed: bool = False
    form: AnswerForm | None = None
    artifacts: Path | None = None
