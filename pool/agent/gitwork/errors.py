"""What can go wrong with git-aware work."""

from __future__ import annotations


class GitWorkError(Exception):
    """It could not be done. The message names the cause and what to do; denied: somebody or a rule said no."""

    def __init__(self, message: str, *, denied: bool = False) -> None:
        super().__init__(message)
        self.denied = denied
