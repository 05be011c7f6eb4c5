"""llama.cpp's own server with the tiny agent, until a signal: `python -m tests.lab.serve.llamacpp --port 8080`."""

from __future__ import annotations

import io
import signal
import sys

from tests.realserver.serve import main


class Endless(io.StringIO):
    """A standard input that never ends."""

    def read(self, size: int | None = -1, /) -> str:
        """Wait for a signal that ends this process."""
        while True:
            signal.pause()


if __name__ == "__main__":
    sys.stdin = Endless()
    main()
