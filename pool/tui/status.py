"""What the status bar says: model, mode and sandbox; branch, context and speed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pool.config.settings import Mode
from pool.facekit.activity import Activity
from pool.facekit.glance import OUTSIDE
from pool.tui.gitline import git_words
from pool.tui.lines import Part

if TYPE_CHECKING:
    from pool.facekit.agents.driving import AgentDriver
    from pool.facekit.driver import Driver
    from pool.facekit.live.attaching import AttachedDriver

MODE_ROLES = {
    Mode.PLAN: "mode-plan",
    Mode.DEFAULT: "mode-ask",
    Mode.ACCEPT_EDITS: "mode-ask",
    Mode.AUTO: "mode-auto",
    Mode.ALLOW_ALL: "mode-unsandboxed",
}

UNCONFINED = ("none", OUTSIDE)
"""What the sandbox is called where none holds."""

FULL_SHARE = 0.8
"""From this share of the window on the context is shown as a warning: compaction is near."""


def status_parts(driver: Driver | AttachedDriver | AgentDriver, activity: Activity) -> tuple[list[Part], list[Part]]:
    """The words on the left and on the right."""
    glance = driver.glance()
    if glance is None:
        left = [Part("the run has ended" if driver.ended else "no session yet", "muted")]
    else:
        left = [
            Part(glance.own_mode or glance.mode.value, MODE_ROLES[glance.mode], "/mode"),
            Part(glance.sandbox, "warning" if glance.sandbox in UNCONFINED else "muted", "/status"),
            Part(glance.model, "text", "server"),
        ]
    return left, _right(driver, glance.window if glance is not None else 0, activity)


def _right(driver: Driver | AttachedDriver | AgentDriver, window: int, activity: Activity) -> list[Part]:
    right: list[Part] = []
    if activity.context:
        share = activity.context / window if window else 0.0
        text = f"{share:.0%} of {_short(window)}" if window else f"{_short(activity.context)} tokens"
        right.append(Part(text, "warning" if share >= FULL_SHARE else "muted", "/context"))
    state = driver.git_state()
    if state is not None:
        right.append(Part(git_words(state), "warning" if state.operation else "muted", "/diff"))
    if activity.cached >= 0:
        right.append(Part(f"{activity.cached:.0%} cached", "muted", "/context"))
    if activity.speed.writing:
        right.append(Part(f"{activity.speed.writing:.0f} tok/s", "muted", "/usage"))
    if activity.drafts >= 0:
        right.append(Part(f"{activity.drafts:.1f} drafts/step", "muted", "/usage"))
    return right


def _short(tokens: int) -> str:
    """A count of tokens for people: 131,072 is 131k."""
    return f"{tokens / 1000:.0f}k" if tokens >= 1000 else str(tokens)
