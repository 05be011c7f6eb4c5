"""The repository in the status bar, in a few characters."""

from __future__ import annotations

import pytest

from pool.agent.gitwork.branch import GitState
from pool.tui.gitline import git_words


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (GitState("main", dirty=False), "main"),
        (GitState("main", dirty=True, ahead=1, behind=2), "main* ↑1 ↓2"),
        (GitState("main"), "main"),
        (GitState("a1b2c3d4", detached=True, dirty=False), "a1b2c3d4 (detached)"),
        (GitState("fix", dirty=True, worktree=True, operation="a merge"), "fix* (worktree, merge)"),
    ],
)
def test_words(state: GitState, words: str) -> None:
    assert git_words(state) == words
