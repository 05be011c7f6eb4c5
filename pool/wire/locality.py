"""Whether a server is the user's own, on this machine or in his network, or somebody else's."""

from __future__ import annotations

import ipaddress

_OWN_ENDINGS = (".local", ".lan", ".home.arpa", ".internal", ".localdomain", ".localhost")
"""Names that no public name server answers (RFC 6762, RFC 8375, ICANN's `.internal`) or that routers give out."""


def is_hosted(host: str) -> bool:
    """Whether what is sent to host may leave the user's own network. In doubt it does; no name is looked up.

    Own are loopback, private, link-local and shared addresses (RFC 1918, 4193, 6598), and names without a dot.
    """
    name = host.strip("[]").lower().rstrip(".")
    try:
        address = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return "." in name and not name.endswith(_OWN_ENDINGS)
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_global
