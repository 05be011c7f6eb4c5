"""Why runs end: the reasons, their exit codes, and what other protocols call them."""

from __future__ import annotations

from enum import StrEnum

from pool_tools.frozen import frozen


class StopReason(StrEnum):
    """Why a run ended. `STOP_TABLE` maps each to its exit code and to what other protocols call it."""

    COMPLETED = "completed"
    INTERNAL_ERROR = "internal_error"
    USAGE_ERROR = "usage_error"
    GAVE_UP = "gave_up"
    MAX_TURNS = "max_turns"
    MAX_SECONDS = "max_seconds"
    MAX_TOKENS = "max_tokens"
    MAX_REASONING = "max_reasoning"
    CONTEXT_EXHAUSTED = "context_exhausted"
    LOOP = "loop"
    OVERTHINKING = "overthinking"
    NO_PROGRESS = "no_progress"
    DENIED = "denied"
    UNUSABLE_REPLY = "unusable_reply"
    UNVERIFIED = "unverified"
    SERVER_FAILED = "server_failed"
    INTERRUPTED = "interrupted"
    SIGNALLED = "signalled"


@frozen
class StopCode:
    """What a stop reason is called elsewhere.

    exit: process exit code (128 + n is added by the caller for `SIGNALLED`). acp: ACP `stopReason`.
    atif: value for the final step's `stop_reason` in an exported trajectory.
    """

    exit: int
    acp: str
    atif: str


STOP_TABLE: dict[StopReason, StopCode] = {
    StopReason.COMPLETED: StopCode(0, "end_turn", "completed"),
    StopReason.INTERNAL_ERROR: StopCode(1, "refusal", "error"),
    StopReason.USAGE_ERROR: StopCode(2, "refusal", "error"),
    StopReason.GAVE_UP: StopCode(4, "end_turn", "gave_up"),
    StopReason.MAX_TURNS: StopCode(5, "max_turn_requests", "max_turns"),
    StopReason.MAX_SECONDS: StopCode(5, "max_turn_requests", "max_seconds"),
    StopReason.MAX_TOKENS: StopCode(5, "max_tokens", "max_tokens"),
    StopReason.MAX_REASONING: StopCode(5, "max_tokens", "max_reasoning"),
    StopReason.CONTEXT_EXHAUSTED: StopCode(5, "max_tokens", "context_exhausted"),
    StopReason.LOOP: StopCode(6, "max_turn_requests", "loop"),
    StopReason.OVERTHINKING: StopCode(6, "max_turn_requests", "overthinking"),
    StopReason.NO_PROGRESS: StopCode(6, "max_turn_requests", "no_progress"),
    StopReason.DENIED: StopCode(7, "end_turn", "denied"),
    StopReason.UNUSABLE_REPLY: StopCode(8, "refusal", "unusable_reply"),
    StopReason.UNVERIFIED: StopCode(9, "end_turn", "unverified"),
    StopReason.SERVER_FAILED: StopCode(75, "refusal", "server_failed"),
    StopReason.INTERRUPTED: StopCode(130, "cancelled", "interrupted"),
    StopReason.SIGNALLED: StopCode(128, "cancelled", "interrupted"),
}
