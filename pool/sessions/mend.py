"""A history with holes, as damaged lines of a log leave it, made into one that strict servers take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pool.messages import Encoded, Role


def acceptable(messages: Sequence[Encoded]) -> list[Encoded]:
    """The messages without those that a strict server refuses; all of them where the log has no damage.

    A reply goes with its results if one of these is missing, but for the last reply, whose calls are answered when the
    session goes on. Of two prompts or two replies in a row the later one stays, of two calls with one id the first. No
    byte of what stays is changed.
    """
    blocks = list(_blocks(messages))
    kept: list[list[Encoded]] = []
    ids: set[str] = set()
    for i, block in enumerate(blocks):
        role = block[0].message.role
        before = kept[-1][0].message.role if kept else None
        if role is Role.ASSISTANT:
            called = {call.id for call in block[0].message.calls}
            if before in (None, Role.SYSTEM) or called & ids or not _answered(block, last=i == len(blocks) - 1):
                continue
            ids |= called
        else:
            del block[1:]
        if role is Role.SYSTEM and kept:
            continue
        if before is role and (role is Role.USER or len(kept[-1]) == 1):
            kept.pop()
        kept.append(block)
    return [message for block in kept for message in block]


def _blocks(messages: Sequence[Encoded]) -> Iterator[list[Encoded]]:
    """Each message that is no result, with the results behind it. Results that nothing precedes are dropped."""
    block: list[Encoded] = []
    for message in messages:
        if message.message.role is not Role.TOOL:
            if block:
                yield block
            block = [message]
        elif block:
            block.append(message)
    if block:
        yield block


def _answered(block: Sequence[Encoded], *, last: bool) -> bool:
    """Whether a reply says something and its calls have their results, in order; of the last reply the first ones."""
    reply = block[0].message
    called = [call.id for call in reply.calls]
    answered = [result.message.call_id for result in block[1:]]
    if not called and not reply.content.strip():
        return False
    return answered == (called[: len(answered)] if last else called)
