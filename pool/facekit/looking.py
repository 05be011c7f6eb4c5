"""Looking at a model server for a person who has typed its address, and keeping the address."""

from __future__ import annotations

import asyncio
import sys

from pool.config.settings import Settings
from pool.wire.endpoint import EndpointError, parse_endpoint
from pool.wire.probe import probe
from pool.wire.transport import Transport
from pool_tools.frozen import frozen

KEEP_SECONDS = 20.0

KEY = "server.base_url"


@frozen
class Look:
    """What was found at an address: usable says whether a session can begin, words are for people."""

    base_url: str
    usable: bool
    words: str


async def look_at(address: str, settings: Settings) -> Look:
    """Ask a server what it is, by GETs only. Never raises for what is typed or answered."""
    try:
        endpoint = parse_endpoint(address, settings.api_key, settings.headers)
    except EndpointError as error:
        return Look("", False, str(error))
    async with Transport(endpoint) as transport:
        info = await probe(transport, settings.model or None)
    lines = [f"{endpoint.display}: {info.describe()}"] if info.reachable else []
    lines += info.notes
    if info.locked:
        lines.append("Leave, then keep its key with: pool config key (it is asked for, and shown nowhere)")
    elif info.reachable and not info.models:
        lines.append("It names no model; is this the address of a model server?")
    elif info.reachable and not info.model:
        lines.append(f"It has {len(info.models)} models: {', '.join(info.models[:8])}. Name one: pool --model NAME")
    return Look(endpoint.base_url, info.reachable and not info.locked and bool(info.model), "\n".join(lines))


async def keep(base_url: str) -> str:
    """Write the address into the user's configuration, as `pool config set` does; what that said. Raises OSError."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "pool", "config", "set", KEY, base_url),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(KEEP_SECONDS):
            said, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        raise OSError(f"pool config set {KEY} did not end within {KEEP_SECONDS:g} s") from None
    text = said.decode("utf-8", "replace").strip()
    if process.returncode:
        raise OSError(text or f"pool config set ended with {process.returncode}")
    return text
