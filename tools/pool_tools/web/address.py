"""The address of a page, read strictly: what two readers could understand differently is refused."""

from __future__ import annotations

import re
from urllib.parse import quote, urljoin, urlsplit

from pool_tools.api import ToolError
from pool_tools.frozen import frozen
from pool_tools.network.rules import RuleError, host_name
from pool_tools.text import clip, visible

PORTS = {"http": 80, "https": 443}
URL_CHARS = 4_000
"""A longer address is refused."""

SHOWN_CHARS = 200

_UNSAFE = re.compile(r"[\x00-\x20\x7f-\xa0\\\u2028\u2029\ud800-\udfff]")
_KEPT = "%/:=&?~+!$,;'@()*[]|-._"
"""Characters of a path or a query that are sent as they are; all others are encoded as UTF-8 (RFC 3986)."""


@frozen
class PageAddress:
    """Where a page lies. host is as `host_name` gives it; target is path and query, encoded."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def tls(self) -> bool:
        """Whether the connection is encrypted."""
        return self.scheme == "https"

    @property
    def authority(self) -> str:
        """Host and, where it is not the scheme's own, port."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target}"


def page_address(text: str, base: PageAddress | None = None) -> PageAddress:
    """An address from its text, relative to base if there is one. The fragment is dropped. Raises `ToolError`."""
    shown = visible(clip(text, SHOWN_CHARS))
    if len(text) > URL_CHARS:
        raise ToolError(f"The address {shown} is longer than {URL_CHARS:,} characters.")
    if _UNSAFE.search(text):
        raise ToolError(f"The address {shown} holds blanks, backslashes or control characters; encode them (%20).")
    try:
        parts = urlsplit(urljoin(str(base), text) if base else text)
        if parts.scheme not in PORTS:
            raise ToolError(f"The address {shown} must begin with http:// or https://.")
        port = parts.port
        host = host_name(parts.hostname or "", typed=True)
    except (RuleError, ValueError) as error:
        raise ToolError(f"The address {shown} cannot be used: {error}.") from None
    if parts.username is not None or parts.password is not None:
        raise ToolError(f"The address of {host} holds a login. Leave it out; pages are fetched without one.")
    path = quote(parts.path or "/", safe=_KEPT)
    query = f"?{quote(parts.query, safe=_KEPT)}" if parts.query else ""
    return PageAddress(parts.scheme, host, PORTS[parts.scheme] if port is None else port, path + query)
