"""What a subagent hands back: how it ended, its last message, capped, and where its work is."""

from __future__ import annotations

from pool.agent.state import RunState
from pool.agent.subagents.trees import Left, Tree
from pool.events import RunFinished, StopReason
from pool.sessions.store import short_id
from pool.wire.tokens import raw_tokens
from pool_tools import ToolResult
from pool_tools.frozen import frozen

_GOOD = frozenset({StopReason.COMPLETED, StopReason.UNVERIFIED})
NO_ANSWER = "It gave no answer."


@frozen
class Ended:
    """A subagent that has ended: its kind, its session, how its run ended, and what it left in its worktree, if any."""

    kind: str
    session: str
    finished: RunFinished
    tree: Tree | None
    left: Left


def result_of(ended: Ended, state: RunState, answer_tokens: int) -> ToolResult:
    """The call's result. A stop by a guard or a budget is one too: it says so, with what the subagent said last."""
    finished, session = ended.finished, short_id(ended.session)
    reason = finished.reason.value + (f" ({finished.detail})" if finished.detail else "")
    used = f"{state.turns} turns, {state.all_usage.total:,} tokens, {finished.seconds:.0f} s"
    answer = finished.answer.strip() or NO_ANSWER
    capped = _capped(answer, answer_tokens)
    if capped != answer:
        capped += f"\n[cut; all of it: pool sessions show {session}]"
    parts = [f"{ended.kind} ended: {reason}; {used}; its session is {session}.", capped, *_branch(ended)]
    data = {
        "agent": ended.kind,
        "session": ended.session,
        "reason": finished.reason.value,
        "turns": state.turns,
        "tokens": state.all_usage.total,
        "branch": ended.tree.branch if ended.tree and ended.left.stat else "",
    }
    return ToolResult(finished.reason in _GOOD, "\n\n".join(parts), data)


def _branch(ended: Ended) -> list[str]:
    tree, left = ended.tree, ended.left
    if tree is None:
        return []
    if not left.stat:
        return ["It changed no file; its worktree is removed."]
    begins = " It began at HEAD, without what is not committed here." if tree.dirty else ""
    words = f"Its work is on the branch {tree.branch} ({left.stat}); `git merge {tree.branch}` brings it here.{begins}"
    return ["\n".join([words, *left.files])]


def _capped(text: str, tokens: int) -> str:
    while raw_tokens(text.encode()) > tokens:
        shorter = text.rpartition("\n")[0]
        text = shorter if len(shorter) > len(text) // 2 else text[: len(text) * 3 // 4]
    return text
