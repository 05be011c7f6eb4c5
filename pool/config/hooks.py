"""Hooks as they are configured: commands that run at fixed points of a session."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, cast

from pool_tools.frozen import frozen

PROJECTS = "project/"
"""How the names of hooks of a checkout's files begin, so that none takes the place of one of the user's own."""

USUAL_SECONDS = 30.0


class HookPoint(StrEnum):
    """When a hook runs. What each may do is in docs/hooks.md."""

    SESSION_START = "session-start"
    PROMPT = "prompt"
    BEFORE_TOOL = "before-tool"
    AFTER_TOOL = "after-tool"
    BEFORE_COMPACTION = "before-compaction"
    STOP = "stop"


class OnError(StrEnum):
    """What a hook that fails does: `allow` goes on as if it were not there, `deny` as if it had said no."""

    ALLOW = "allow"
    DENY = "deny"


@frozen
class Hook:
    """One hook. match is a rule, as in `[approvals]`, for the calls that it is about, "" for all.

    command is a line for bash. seconds is how long it may take. sandbox is always true for those of a checkout.
    """

    name: str
    point: HookPoint
    command: str
    match: str = ""
    seconds: float = USUAL_SECONDS
    on_error: OnError = OnError.ALLOW
    sandbox: bool = True
    disabled: bool = False

    @property
    def projects(self) -> bool:
        """Whether it comes from a file of the checkout."""
        return self.name.startswith(PROJECTS)


def hooks_of(value: object) -> tuple[Hook, ...]:
    """Hooks from what the configuration's kind reads; the user's own come first."""
    found = [_hook(name, one) for name, one in cast(Mapping[str, Mapping[str, Any]], value).items()]
    return tuple(sorted(found, key=lambda hook: hook.projects))


def _hook(name: str, given: Mapping[str, Any]) -> Hook:
    return Hook(
        name,
        HookPoint(given["on"]),
        given["command"],
        match=given.get("match", ""),
        seconds=given.get("seconds", USUAL_SECONDS),
        on_error=OnError(given.get("on_error", OnError.ALLOW)),
        sandbox=given.get("sandbox", True),
        disabled=given.get("disabled", False),
    )


def for_checkout(value: object) -> tuple[object, str]:
    """What a checkout's hooks may be, and what was taken from them: none runs outside the sandbox."""
    hooks = cast(Mapping[str, Mapping[str, Any]], value)
    freed = [name for name, one in hooks.items() if one.get("sandbox") is False]
    held = {f"{PROJECTS}{name}": {**one, "sandbox": True} for name, one in hooks.items()}
    if not freed:
        return held, ""
    return held, f"sandbox = false of {', '.join(freed)} counts only in files of your own; it runs in the sandbox"
