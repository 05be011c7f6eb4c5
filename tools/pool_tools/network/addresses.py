"""Addresses that a name on the list must not lead to: this machine, its network, and what clouds keep there."""

from __future__ import annotations

import socket
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

_ALWAYS = {
    # Single addresses of cloud metadata services that lie in no link-local range: Alibaba, Azure, AWS over IPv6.
    "a metadata service": ("100.100.100.200/32", "168.63.129.16/32", "fd00:ec2::254/128"),
    "a loopback address": ("127.0.0.0/8", "::1/128"),
    "a link-local address": ("169.254.0.0/16", "fe80::/10", "fec0::/10"),
    "a multicast address": ("224.0.0.0/4", "ff00::/8"),
    "a reserved address": ("0.0.0.0/8", "192.0.0.0/24", "240.0.0.0/4", "::/96", "64:ff9b:1::/48"),
    "a tunnel's address": ("2002::/16", "2001::/32"),
}
"""IANA's special-purpose registries (RFC 6890), without the ranges for documentation, which lead nowhere."""

_UNLESS_PRIVATE = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "198.18.0.0/15", "fc00::/7")

_NAT64 = IPv6Network("64:ff9b::/96")
"""Holds an IPv4 address in its last 32 bits (RFC 6052); networks without IPv4 reach all of it so."""

_Network = IPv4Network | IPv6Network
_REFUSED: tuple[tuple[_Network, str], ...] = tuple(
    (ip_network(network), what) for what, networks in _ALWAYS.items() for network in networks
)
_PRIVATE: tuple[_Network, ...] = tuple(map(ip_network, _UNLESS_PRIVATE))


def refusal(text: str, *, private: bool = False) -> str:
    """What kind of address this is if it must not be reached, such as `a loopback address`; "" if it may.

    private: private addresses may be reached.
    """
    address = _plain(ip_address(text))
    for network, what in _REFUSED:
        if address in network:
            return what
    if not private and any(address in network for network in _PRIVATE):
        return "a private address"
    return "an address of this machine" if is_own(str(address)) else ""


def _plain(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """The IPv4 address that an IPv6 address stands for, if it does."""
    if isinstance(address, IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return IPv6Address(int(address))  # without a zone


def is_own(address: str) -> bool:
    """Whether an address is one of this machine's: packets to it would leave from the same address.

    Connecting a datagram socket chooses a route and sends nothing.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as route:
            route.connect((address, 9))
            return route.getsockname()[0] == address
    except OSError:
        return False
