"""What went through the proxy, for the result of a call and for logs."""

from __future__ import annotations

from dataclasses import dataclass

from pool_tools.frozen import frozen


@dataclass(slots=True)
class Count:
    """Bytes of a connection so far: sent by the command, received by it."""

    sent: int = 0
    received: int = 0


@frozen
class Flow:
    """One connection that a command made or wanted. refused says why it was not let through, "" if it was.

    sent and received are bytes, without what is said to the proxy itself.
    """

    host: str
    port: int
    sent: int = 0
    received: int = 0
    refused: str = ""

    @property
    def place(self) -> str:
        """Host and port as one text."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"
