"""The signals: each looks at a record and says where it sees something, with what speaks against it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pool.agent.audit.finding import Finding
from pool.agent.audit.record import Record

Signal = Callable[[Record], Iterator[Finding]]
