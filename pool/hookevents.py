"""The event of a hook: a command of the user or of a trusted checkout that ran at a fixed point of a session."""

from __future__ import annotations

from typing import ClassVar

from pool.eventbase import Body
from pool_tools.frozen import frozen


@frozen
class HookRan(Body):
    """A hook ran. hook is its name, `project/NAME` for one of the checkout; point is where, such as `before-tool`.

    outcome is ok, added (it told the model something), rewrote, blocked, go-on (the run should not end yet) or failed.
    detail is for people, clean of escapes: its reason, what it added, what was wrong. It belongs to
    the call that it is about, if it is about one.
    """

    type: ClassVar[str] = "hook.ran"
    hook: str
    point: str
    outcome: str
    detail: str
    seconds: float
    sandboxed: bool = True

    @property
    def line(self) -> str:
        """The event in one line for people."""
        where = "" if self.sandboxed else ", outside the sandbox"
        said = f": {self.detail}" if self.detail else ""
        return f"hook {self.hook} ({self.point}{where}, {self.seconds:.1f} s): {self.outcome}{said}"
