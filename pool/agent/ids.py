"""Ids of sessions and runs: UUIDv7, so that they sort by time (RFC 9562, section 5.7)."""

from __future__ import annotations

import secrets
import time


def new_id() -> str:
    """A new UUIDv7 as text."""
    value = (time.time_ns() // 1_000_000) << 80 | secrets.randbits(80)
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    digits = f"{value:032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
