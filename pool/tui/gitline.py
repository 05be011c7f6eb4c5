"""The repository for the status bar: branch, changes, the way to its upstream, worktree."""

from __future__ import annotations

from pool.agent.gitwork.branch import GitState

DIRTY = "*"


def git_words(state: GitState) -> str:
    """The state in a few characters: `main* ↑1 ↓2`, `fix (worktree)`; no mark where changes are not known."""
    mark = DIRTY if state.dirty else ""
    ways = [f"↑{state.ahead}"] * bool(state.ahead) + [f"↓{state.behind}"] * bool(state.behind)
    notes = ["detached"] * state.detached + ["worktree"] * state.worktree
    notes += [state.operation.removeprefix("a ")] if state.operation else []
    said = f"({', '.join(notes)})" if notes else ""
    return " ".join(part for part in (f"{state.branch}{mark}", *ways, said) if part)
