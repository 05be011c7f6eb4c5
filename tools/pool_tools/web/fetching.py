"""Fetching a page: each hop of a redirect is checked and, where it leads to another host, approved."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from typing import Protocol

from pool_tools.api import ToolError
from pool_tools.frozen import frozen
from pool_tools.network.dial import Route
from pool_tools.network.head import Refused
from pool_tools.network.rules import HostRule
from pool_tools.text import clip, size, visible
from pool_tools.web.address import PageAddress, page_address
from pool_tools.web.exchange import Answer, BadAnswer, asking
from pool_tools.web.kinds import Kind, is_text, kind_of

PAGE_BYTES = 5_000_000
"""So much of a page is read, unpacked."""

HOPS_MOST = 5
TOTAL_SECONDS = 30.0
"""For all hops of one page, without the time that questions take."""

_FIELDS = {
    "User-Agent": "laguna-pool (a person's coding agent)",
    "Accept": "text/markdown, text/html;q=0.9, text/plain;q=0.9, application/json;q=0.8, */*;q=0.1",
    "Accept-Encoding": "gzip",
}
_MOVED = frozenset({301, 302, 303, 307, 308})
_REASON_CHARS = 300

Approve = Callable[[PageAddress], Awaitable[str]]
"""Asks for another host that a redirect leads to; "" if it is approved, else why not."""


class Opens(Protocol):
    """Opens connections to hosts that may be reached: `network.dial.Dialer`. Raises `Refused`."""

    async def open(self, host: str, port: int, rule: HostRule, *, tunnel: bool) -> Route: ...


@frozen
class Fetched:
    """A page as it came. address is where it was in the end; cut: there is more than was read."""

    address: PageAddress
    status: int
    kind: Kind
    body: bytes
    cut: bool


class Fetcher:
    """Fetches pages. rule_for tells which rule of the network covers a host; tls is what encrypted connections use."""

    def __init__(
        self, opener: Opens, rule_for: Callable[[PageAddress], HostRule], tls: ssl.SSLContext | None = None
    ) -> None:
        self._opener = opener
        self._rule_for = rule_for
        self._tls = tls

    async def fetch(self, address: PageAddress, approve: Approve) -> Fetched:
        """The page at an address that is approved. Raises `ToolError`."""
        left = TOTAL_SECONDS
        loop = asyncio.get_running_loop()
        for _ in range(HOPS_MOST + 1):
            began = loop.time()
            found = await self._hop(address, left)
            left -= loop.time() - began
            if isinstance(found, Fetched):
                return found
            if address.tls and not found.tls:
                raise ToolError(f"{address} leads to {found}, which is not encrypted; fetch that if it is wanted.")
            if (found.host, found.port) != (address.host, address.port) and (why := await approve(found)):
                raise ToolError(f"{address} leads to {found}, which was not approved: {why}")
            address = found
        raise ToolError(f"{address} leads on and on: {HOPS_MOST} redirects were followed.")

    async def _hop(self, address: PageAddress, seconds: float) -> Fetched | PageAddress:
        try:
            async with asyncio.timeout(max(seconds, 0.0)):
                route = await self._opener.open(address.host, address.port, self._rule_for(address), tunnel=address.tls)
                async with asking(route, address, _FIELDS, self._tls) as answer:
                    return await self._taken(address, answer)
        except TimeoutError:
            raise ToolError(f"{address.authority} took longer than {TOTAL_SECONDS:g} s.") from None
        except Refused as error:
            raise ToolError(_sentence(error.reason)) from None
        except ssl.SSLCertVerificationError as error:
            raise ToolError(f"The certificate of {address.authority} is not valid: {error.verify_message}.") from None
        except (BadAnswer, OSError) as error:
            why = visible(clip(str(error) or type(error).__name__, _REASON_CHARS))
            raise ToolError(f"{address} could not be fetched: {why}.") from None

    async def _taken(self, address: PageAddress, answer: Answer) -> Fetched | PageAddress:
        if answer.status in _MOVED and (place := answer.fields.get("location")):
            return page_address(place.encode("latin-1").decode("utf-8", "replace"), address)
        kind = kind_of(answer.fields.get("content-type", ""))
        told = answer.fields.get("content-length", "")
        if not kind.may_be_text:
            long = f", {size(int(told))}" if told.isdecimal() and len(told) < _LENGTH_DIGITS else ""
            raise ToolError(f"{address} is {visible(clip(kind.name, _KIND_CHARS))}{long}, no text; it was not read.")
        body, cut = await answer.body(PAGE_BYTES)
        if not is_text(body):
            raise ToolError(f"{address} holds bytes that are no text; it is not shown.")
        return Fetched(address, answer.status, kind, body, cut)


_LENGTH_DIGITS = 19
_KIND_CHARS = 60


def _sentence(text: str) -> str:
    shown = visible(clip(text, _REASON_CHARS))
    return f"{shown.rstrip('.')}."
