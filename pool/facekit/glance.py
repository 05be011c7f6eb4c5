"""What stands in the status line of a face, of a conversation here or in another process."""

from __future__ import annotations

from pool.config.settings import Mode
from pool_tools.frozen import frozen

OUTSIDE = "outside Pool's sandbox"
"""The sandbox of an agent that is not Pool's own."""


@frozen
class Glance:
    """A conversation at a glance; window is in tokens, 0 for unknown.

    own_mode is the mode of an agent that is not Pool's own, in its words: then mode says nothing.
    """

    mode: Mode
    sandbox: str
    model: str
    window: int
    own_mode: str = ""
