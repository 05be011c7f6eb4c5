"""What the sandbox allows a call and what not, in words for the person who approves it."""

from __future__ import annotations

from pool_tools import Effect

_FILES = "file tools work inside the workspace only and follow no link out of it"
_FOREIGN = "the server's program does it, and Pool sees its answer only; what holds that program is said with the call"
_WEB = "Pool asks that host itself, with no cookies or logins of yours; what is asked for leaves this machine"
_LEAVES = "outside the sandbox: with the network, your own settings and your own keys"


def policy_words(effect: Effect, sandbox: str) -> str:
    """sandbox is the sandbox's own line about itself, `Sandbox.describe`."""
    match effect:
        case Effect.READ | Effect.WRITE:
            return _FILES
        case Effect.EXECUTE:
            return sandbox
        case Effect.NETWORK:
            return _LEAVES
        case Effect.WEB:
            return _WEB
        case Effect.FOREIGN:
            return _FOREIGN
