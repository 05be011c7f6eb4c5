"""Which hosts commands may reach: names as they are compared, rules as data, and rules from text."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable

from pool_tools.frozen import frozen

WEB_PORTS = frozenset({80, 443})
"""Ports of a rule that names none."""

HIGHEST_PORT = 65_535
_NAME_CHARS = 253
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
# Resolvers read a name whose last label is a number as an IPv4 address, in odd notations too (127.1, 0x7f000001).
_NUMBER = re.compile(r"\d+|0x[0-9a-f]*")
_PRIVATE = "private:"
_LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")


class RuleError(ValueError):
    """A rule or a host name that cannot be used. The message says why and what would do."""


@frozen
class HostRule:
    """A host that may be reached.

    name is a host (`example.org`), all names below one (`.example.org`, which is not `example.org` itself) or an IP
    address. private: the host may lie at a private address, as a company's own servers do.
    """

    name: str
    ports: frozenset[int] = WEB_PORTS
    private: bool = False

    def matches(self, host: str, port: int) -> bool:
        """Whether host, as `host_name` gives it, and port fall under this rule."""
        same = host.endswith(self.name) if self.name.startswith(".") else host == self.name
        return same and port in self.ports

    def __str__(self) -> str:
        prefix = _PRIVATE if self.private else ""
        name = f"[{self.name}]" if ":" in self.name else self.name
        if self.ports == WEB_PORTS:
            return prefix + name
        return ",".join(f"{prefix}{name}:{port}" for port in sorted(self.ports))


@frozen
class AllowList:
    """All that commands may reach: hosts, through the proxy, and ports on this machine's loopback address."""

    hosts: tuple[HostRule, ...] = ()
    loopback_ports: tuple[int, ...] = ()

    def rule(self, host: str, port: int) -> HostRule | None:
        """The rule that lets host through at port; among several one that also allows a private address."""
        found = [rule for rule in self.hosts if rule.matches(host, port)]
        return next((rule for rule in found if rule.private), found[0] if found else None)

    def __str__(self) -> str:
        parts = [*map(str, self.hosts), *(f"localhost:{port}" for port in self.loopback_ports)]
        return ", ".join(parts) or "no host"

    def merged(self, other: AllowList) -> AllowList:
        """Both lists as one."""
        hosts = dict.fromkeys((*self.hosts, *other.hosts))
        ports = dict.fromkeys((*self.loopback_ports, *other.loopback_ports))
        return AllowList(tuple(hosts), tuple(ports))


def allow_list(entries: Iterable[str]) -> AllowList:
    """The list that entries say: `HOST`, `.HOST`, either with `:PORT`, `private:` before it, or `localhost:PORT`.

    Raises `RuleError`.
    """
    hosts: list[HostRule] = []
    ports: list[int] = []
    for entry in entries:
        found = _entry(entry.strip())
        if isinstance(found, int):
            ports.append(found)
        else:
            hosts.append(found)
    return AllowList(tuple(dict.fromkeys(hosts)), tuple(dict.fromkeys(ports)))


def _entry(text: str) -> HostRule | int:
    if "/" in text:
        raise RuleError(f"{text!r} is an address of a page; give the host alone, such as example.org")
    private = text.startswith(_PRIVATE)
    bare = text.removeprefix(_PRIVATE)
    name, port = split_port(bare) if not is_address(bare) else (bare, None)
    below = name.startswith((".", "*."))
    host = host_name(name[name.index(".") + 1 :] if below else name, typed=True)
    if host in _LOOPBACK_NAMES:
        if port is None or below:
            raise RuleError(f"{text!r} is this machine; name the port that commands may reach, such as localhost:5432")
        return port
    if below and ("." not in host or is_address(host)):
        raise RuleError(f"{text!r} allows too much; name a host, or the network as a whole: on")
    return HostRule(f".{host}" if below else host, WEB_PORTS if port is None else frozenset({port}), private)


def split_port(text: str) -> tuple[str, int | None]:
    """`HOST`, `HOST:PORT`, `[IPV6]` and `[IPV6]:PORT` to host and port. Raises `RuleError`."""
    if text.startswith("["):
        host, closed, rest = text[1:].partition("]")
        if not closed or (rest and not rest.startswith(":")) or ":" not in host:
            raise RuleError(f"{text!r} is no address; write [ADDRESS]:PORT")
        return host, _port(rest[1:]) if rest else None
    host, colon, port = text.partition(":")
    return host, _port(port) if colon else None


def _port(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,5}", text) or not 0 < int(text) <= HIGHEST_PORT:
        raise RuleError(f"{text!r} is no port; ports are 1 to {HIGHEST_PORT}")
    return int(text)


def host_name(text: str, *, typed: bool = False) -> str:
    """A host as it is compared: lower case, without the dot at the end, addresses in their shortest form.

    typed: a person wrote it, so letters beyond ASCII are encoded (IDNA); a program has to send it encoded. Raises
    `RuleError` for what is no host, also for IPv4 addresses in notations that resolvers understand but no one reads.
    """
    if is_address(text):
        return str(ipaddress.ip_address(text))
    name = _ascii(text) if typed else text
    name = name.lower().removesuffix(".") if name.isascii() else name
    labels = name.split(".")
    if len(name) > _NAME_CHARS or not all(_LABEL.fullmatch(label) for label in labels):
        raise RuleError(f"{text!r} is no host name")
    if _NUMBER.fullmatch(labels[-1]):
        raise RuleError(f"{text!r} is neither a host name nor a plain IP address")
    return name


def is_address(text: str) -> bool:
    """Whether a host is an IP address in a plain notation, without a zone."""
    try:
        return not getattr(ipaddress.ip_address(text), "scope_id", None)
    except ValueError:
        return False


def _ascii(text: str) -> str:
    if text.isascii():
        return text
    try:
        name = text.encode("idna").decode("ascii")
        same = name.encode("ascii").decode("idna") == text.lower()
    except UnicodeError:
        same, name = False, ""
    if not same:
        # The built-in codec follows the older standard, in which some letters (ß) become others: another host.
        raise RuleError(f"{text!r} cannot be encoded without doubt; write it in its encoded form (xn--...)")
    return name
