"""Plan mode as a state of a session: a plan is proposed, the user edits it, approves it or drops it.

In plan mode nothing can be changed (`pool.agent.approvals`). The answer of a run that ends in it is the plan. It waits,
in the session's log too, until the user decides; approving it puts its text, with the user's changes, into the
conversation as the next prompt, where a compaction keeps it word for word.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from pool.config.settings import Mode, SettingsError
from pool.events import Body, PlanDecided, PlanProposed, RunFinished, StopReason

ASK = (
    "[Pool] Plan mode: nothing may be changed now. If a change is asked for, look at what matters and answer with the "
    "plan alone: the goal, the numbered steps with the files of each, how they are checked. The user edits or approves "
    "it first."
)
"""What is added to each prompt in plan mode."""

WAITS = "the plan waits: /plan shows it, and carries it out, edits or drops it"
"""Said to people who have not decided."""

CARRY_OUT = "I approve this plan. Carry it out:"
"""What the prompt begins with that an approved plan becomes."""

_ENDINGS = frozenset({StopReason.COMPLETED, StopReason.UNVERIFIED})
"""Ends of a run whose answer is a plan."""


class Decision(StrEnum):
    """What became of a plan. EDITED: it still waits."""

    APPROVED = "approved"
    EDITED = "edited"
    DROPPED = "dropped"


class PlanState:
    """The plan of one session that waits for the user. tell takes the events."""

    def __init__(self, tell: Callable[[Body], object], waiting: str = "", widest: Mode = Mode.AUTO) -> None:
        """widest is the mode that a plan is carried out in if nobody names another, and there was none before."""
        self._tell = tell
        self._widest = widest
        self._before: Mode | None = None
        self._plans = False
        self.waiting = waiting

    @property
    def usual_mode(self) -> Mode:
        """The mode to carry a plan out in if nobody names one: that from before plan mode, if there was one."""
        return self._before or self._widest

    def follow(self, mode: Mode) -> None:
        """The mode is this from now on."""
        self._plans = mode is Mode.PLAN
        if not self._plans:
            self._before = mode

    def for_model(self) -> str:
        """What a history that is replaced has to say of plan mode; "" outside of it."""
        return ASK if self._plans else ""

    def begin(self, mode: Mode) -> str:
        """A run begins in this mode; what is added to its prompt. Outside of plan mode a plan waits no longer."""
        if mode is Mode.PLAN:
            return ASK
        self.waiting = ""
        return ""

    def end(self, finished: RunFinished, mode: Mode) -> None:
        """A run is about to end in this mode: its answer may be a plan."""
        if mode is Mode.PLAN and finished.reason in _ENDINGS and finished.answer.strip():
            self.waiting = finished.answer.strip()
            self._tell(PlanProposed(self.waiting, self.usual_mode.value))

    def edit(self, text: str) -> None:
        """Put the user's text in the place of the plan. Raises `SettingsError` if none waits, or for an empty text."""
        self._need()
        if not text.strip():
            raise SettingsError("the plan is empty; /plan drop takes it away")
        self.waiting = text.strip()
        self._tell(PlanDecided(Decision.EDITED.value, self.waiting, self.usual_mode.value))

    def drop(self) -> None:
        """Take the plan away. Raises `SettingsError` if none waits."""
        self._need()
        text, self.waiting = self.waiting, ""
        self._tell(PlanDecided(Decision.DROPPED.value, text))

    def approve(self, mode: Mode) -> str:
        """Approve it, to be carried out in this mode; the prompt to work next. Raises `SettingsError` if none waits."""
        self._need()
        if mode is Mode.PLAN:
            raise SettingsError("a plan is carried out in another mode than plan")
        text, self.waiting = self.waiting, ""
        self._tell(PlanDecided(Decision.APPROVED.value, text, mode.value))
        return f"{CARRY_OUT}\n\n{text}"

    def restore(self, waiting: str) -> None:
        """Go back to what the log says."""
        self.waiting = waiting

    def _need(self) -> None:
        if not self.waiting:
            raise SettingsError("no plan waits; in plan mode each prompt ends with one (/plan PROMPT makes one)")
