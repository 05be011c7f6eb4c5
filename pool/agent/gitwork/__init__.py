"""Git as people use it: commits of what the agent changed, worktrees, what a pull request says, the status line."""
