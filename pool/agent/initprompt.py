"""The prompt of `/init`: the agent looks at a repository and writes its AGENTS.md."""

from __future__ import annotations

NAME = "init"

_PROMPT = (
    "Look at this repository and write an AGENTS.md in its root: what a coding agent has to know to work here. Read "
    "what is there first: README, build files, test set-up, CI, a few sources of each kind. Then say, briefly and only "
    "what you have seen: how to build, run and test (the exact commands; try the test command once), how the folders "
    "are laid out, conventions of the code that are not obvious, and what must not be done. At most 60 lines, no "
    "praise, no general advice. If there is an AGENTS.md already, improve it and keep what is still true."
)


def init_prompt(wishes: str) -> str:
    """The prompt, with what the user adds to it, "" for nothing."""
    return f"{_PROMPT}\n\nThe user adds: {wishes}" if wishes else _PROMPT
