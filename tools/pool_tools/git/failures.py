"""What git's complaints mean, and what would help."""

from __future__ import annotations

import os
import re
import time

from pool_tools.commands import Commands
from pool_tools.denials import Reach, explain
from pool_tools.git.runner import Output
from pool_tools.text import printable, visible

_LOCK = re.compile(r"'([^'\n]+\.lock)': File exists")

_HINTS = (
    (
        re.compile(r"not a git repository", re.IGNORECASE),
        "The workspace is in no git repository. `git init` in the shell makes one, if the user wants it.",
    ),
    (
        re.compile(r"dubious ownership"),
        "The repository belongs to another user, so git takes no orders from it. The user can allow it with "
        "git config --global --add safe.directory.",
    ),
    (
        re.compile(r"Please tell me who you are|identity unknown|unable to auto-detect email|empty ident name"),
        "No identity is set, and none is invented here. The user sets it with git config user.name and user.email.",
    ),
    (
        re.compile(r"failed to sign|signing failed|no secret key|gpg failed|ssh-keygen", re.IGNORECASE),
        "Commits are to be signed (commit.gpgsign) and the key is out of reach of the sandbox. Nothing was committed "
        "and signing was not switched off: what is staged stays. The action commit of the tool `git` asks the user to "
        "sign; or the user can run git commit in a terminal.",
    ),
    (
        re.compile(r"does not have any commits yet|ambiguous argument 'HEAD'|bad revision 'HEAD'|invalid object.*HEAD"),
        "There are no commits yet.",
    ),
    (
        re.compile(r"No editor here|Terminal is dumb", re.IGNORECASE),
        "There is no editor: give the text as `message`.",
    ),
    (
        re.compile(r"could not lock config|update of config-file failed|could not write config file", re.IGNORECASE),
        "The sandbox keeps git's config as it is. The user can change it.",
    ),
)


def lock_hint(text: str) -> str:
    """What to say of a lock file that git found; "" if it found none. It is never removed here."""
    found = _LOCK.search(text)
    if not found:
        return ""
    path = found[1]
    try:
        age = f", made {max(0.0, time.time() - os.lstat(path).st_mtime):.0f} s ago"
    except OSError:
        age = ""
    return (
        f"{visible(path)} exists{age}: another git is at work, or one was killed and left it. It was not removed. Wait "
        "and try again; if no git is running, ask the user whether to remove it."
    )


def reach_of(commands: Commands) -> Reach | None:
    """What commands reach, for `failure`; None where no sandbox can be the reason of one."""
    return commands.reach() if commands.sandbox.contains_processes else None


def failure(what: str, output: Output, reach: Reach | None) -> str:
    """A failed call for the model: git's own words, then what they mean. reach: a sandbox may be the reason."""
    told = "\n".join(part for part in (output.err, output.text.strip()) if part)
    if output.ended.timed_out:
        head = f"{what} took too long and was ended."
    elif output.status is None:
        head = (
            f"{what} failed: git was not started, or was killed{f': {output.ended.killed}' if _killed(output) else ''}."
        )
    else:
        head = f"{what} failed (exit {output.status})."
    hints = [hint for pattern, hint in _HINTS if pattern.search(told)]
    lock = lock_hint(told)
    if reach is not None and not hints and not lock:
        hints += explain(told, reach)
    parts = [head, printable(told), *(f"[{hint}]" for hint in (*hints, lock) if hint)]
    return "\n".join(part for part in parts if part)


def _killed(output: Output) -> bool:
    return bool(output.ended.killed)
