"""The simulated server as a child of a face, for people who have no model server yet."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from importlib.util import find_spec

START_SECONDS = 20.0
STOP_SECONDS = 3.0

NEEDS = ("starlette", "uvicorn")
"""Packages of the extra `sim`."""

MISSING = "the simulated server needs an extra: pip install 'laguna-pool[sim]'"


def can_simulate() -> bool:
    """Whether the packages of the simulated server are there."""
    return all(find_spec(name) is not None for name in NEEDS)


class Simulated:
    """One simulated server, ended with `stop`."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> str:
        """Start it on a free port; its URL. Raises OSError with what it said if it does not start."""
        self._process = process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "pool", "sim", "--port", "0", "--end-with-stdin"),
            # Never written to: it closes with this process, however that ends.
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            # Ctrl-C in the terminal is the face's.
            start_new_session=True,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            async with asyncio.timeout(START_SECONDS):
                line = (await process.stdout.readline()).decode("utf-8", "replace").strip()
                if not line.startswith("http"):
                    said = (await process.stderr.read()).decode("utf-8", "replace").strip()
                    raise OSError(f"the simulated server did not start: {said[-400:] or 'it said nothing'}")
        except TimeoutError:
            await self.stop()
            raise OSError(f"the simulated server did not start within {START_SECONDS:g} s") from None
        return line

    async def stop(self) -> None:
        """End it."""
        process, self._process = self._process, None
        if process is None or process.returncode is not None:
            return
        process.terminate()
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await process.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
