"""What stands in the status line of a face, of a conversation here or in another process."""

from __future__ import annotations

from pool.config.settings import Mode
from pool_tools.frozen import frozen


@frozen
class Glance:
    """A conversation at a glance; window is in tokens, 0 for unknown."""

    mode: Mode
    sandbox: str
    model: str
    window: int
