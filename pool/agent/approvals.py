"""What runs unasked, what asks, and who answers."""

from __future__ import annotations

from pool.config.settings import Mode
from pool.ports import ApprovalAnswer, ApprovalRequest, Approver
from pool_tools import Effect


class Approvals:
    """Decides by mode first, then asks. sandboxed: commands are confined by a sandbox that was proven to work."""

    def __init__(self, mode: Mode, *, sandboxed: bool, approver: Approver) -> None:
        self.mode = mode
        self.sandboxed = sandboxed
        self._approver = approver

    def by_mode(self, effect: Effect) -> ApprovalAnswer | str:
        """An answer where the mode has one, else why a person must be asked."""
        match self.mode, effect:
            case _, Effect.READ:
                return ApprovalAnswer(True, "mode")
            case Mode.PLAN, _:
                return ApprovalAnswer(False, "mode", "plan mode is read-only: say what you would do instead")
            case Mode.ALLOW_ALL, _:
                return ApprovalAnswer(True, "mode")
            case ((Mode.AUTO | Mode.ACCEPT_EDITS), Effect.WRITE):
                return ApprovalAnswer(True, "mode")
            case Mode.AUTO, Effect.EXECUTE:
                return ApprovalAnswer(True, "mode") if self.sandboxed else "no sandbox confines this command"
            case _:
                return f"mode {self.mode.value} asks before it can {effect.value}"

    def can_run_commands(self, *, interactive: bool) -> bool:
        """Whether any command could run at all in this mode."""
        answer = self.by_mode(Effect.EXECUTE)
        return answer.allowed if isinstance(answer, ApprovalAnswer) else interactive

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Ask whoever answers for this run."""
        return await self._approver.ask(request)


class NobodyThere:
    """Answers for a run without a person: no, and what would allow it."""

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        flag = "--mode accept-edits" if request.effect == Effect.WRITE.value else "--mode auto or --mode allow-all"
        reason = f"nobody is there to approve it ({request.why}); the user can allow it with {flag}"
        return ApprovalAnswer(False, "rule", reason)
