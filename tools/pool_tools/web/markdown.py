"""A page's HTML as Markdown, by a worker process with limits."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

from pool_tools.api import ToolError
from pool_tools.frozen import frozen
from pool_tools.text import size

CONVERT_SECONDS = 20.0
PACKAGES = ("lxml", "readability", "markdownify")
"""What the worker imports: the extra `fetch`."""

_WORKER = Path(__file__).with_name("convert_worker.py")


@frozen
class Converted:
    """What a page says: its title, "" if it has none, and its main part as Markdown."""

    title: str
    text: str


def missing_packages() -> tuple[str, ...]:
    """Which packages are not there. Imports nothing."""
    return tuple(name for name in PACKAGES if importlib.util.find_spec(name) is None)


async def markdown_of(page: str, url: str) -> Converted:
    """The main part of a page. Raises `ToolError` for a page that costs too much or cannot be read."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", str(_WORKER)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={},
        start_new_session=True,
    )
    head = json.dumps({"url": url, "sys_path": sys.path}).encode() + b"\n"
    try:
        async with asyncio.timeout(CONVERT_SECONDS):
            out, _ = await process.communicate(head + page.encode("utf-8", "replace"))
    except TimeoutError:
        out = b""
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    try:
        found: dict[str, Any] = json.loads(out)
        return Converted(str(found["title"]), str(found["text"]))
    except (ValueError, KeyError, TypeError):
        raise ToolError(
            f"{url} came, but its HTML ({size(len(page))}) could not be made text (it may take {CONVERT_SECONDS:g} s). "
            "Look for a plainer page, such as one for printing or its source."
        ) from None
