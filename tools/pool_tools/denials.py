"""Recognising that the sandbox, and not the command, is why a command failed.

For the model: which rule stopped it, at what, and the least that would lift it. Programs phrase these failures in their
own ways; only phrases seen from real programs are looked for, and only in the output of a command that failed.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from pool_tools.frozen import frozen
from pool_tools.text import visible

MOST_NAMES = 3
"""So many hosts or paths are named in one explanation."""

MOST_NAME_CHARS = 120

_QUOTES = "'\"`‘’"
_HOST = r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?"


@frozen
class Reach:
    """What commands reach in the network: nothing, or what listed says. lift is how the user can allow more.

    read_only: they write nothing but temporary files.
    """

    listed: str = ""
    lift: str = ""
    read_only: bool = False


@frozen
class _Rule:
    """A rule of the sandbox. signs tell that it stopped something, names where the output names what was stopped."""

    name: str
    signs: re.Pattern[str]
    names: re.Pattern[str]
    says: Callable[[str, Reach], str]


NO_NETWORK = Reach()


def _network(hosts: str, reach: Reach) -> str:
    asked = f"ask the user to allow the host {hosts}" if hosts else "ask the user to allow the host that is needed"
    lift = f" ({reach.lift})" if reach.lift else ""
    if reach.read_only:
        return "commands only read now, and have no network. Work with what is there"
    if reach.listed:
        return (
            f"commands reach only {reach.listed}, and only by the proxy that HTTPS_PROXY names, which this program may "
            f"not have used. For another host {asked}, and nothing more{lift}"
        )
    return f"commands have no network. Work with what is installed; if that cannot do, {asked}, and nothing more{lift}"


def _loopback(_: str, reach: Reach) -> str:
    return (
        "localhost inside the sandbox is not the machine's: only servers that were started in this call or by `job` "
        "can be reached. For another one that already runs, ask the user to allow its port"
    )


def _write(paths: str, reach: Reach) -> str:
    at = f" ({paths})" if paths else ""
    if reach.read_only:
        return f"commands only read now, and may write nowhere but in /tmp{at}. Say what you would change"
    return (
        f"commands may write only in the workspace and in /tmp{at}; git's config and hooks stay as they are. Write "
        "inside; if that cannot do, ask the user to allow that one folder or to do it himself"
    )


def _git_config(_: str, reach: Reach) -> str:
    return "git's config stays as it is. Pass the setting with `git -c`, or ask the user to change it"


_RULES = (
    _Rule(
        "git config is protected",
        re.compile(r"could not lock config file|config.*Device or resource busy"),
        re.compile(r"(?!)"),
        _git_config,
    ),
    _Rule(
        "writing outside the workspace is off",
        re.compile(r"Read-only file system|EROFS\b"),
        re.compile(
            rf"(?:cannot [a-z ]+|failed to [a-z ]+|open|Errno 30\] Read-only file system:) ?"
            rf"[{_QUOTES}](/[^{_QUOTES}\n]+)"
            r"|(/[^\s:'\"]+): Read-only file system"
        ),
        _write,
    ),
    _Rule(
        "network is off",
        re.compile(
            r"[Cc]ould not resolve|unable to resolve|Temporary failure in name resolution|Network is unreachable"
            r"|Name or service not known|getaddrinfo|gaierror|nodename nor servname|failed to lookup address"
            r"|Failed to establish a new connection|dial tcp: lookup|ENETUNREACH"
        ),
        re.compile(
            rf"(?:resolve host(?:name)?:?|unable to resolve host address|getaddrinfo \w+|dial tcp: lookup"
            rf"|Failed to resolve|host=) ?[{_QUOTES}]?({_HOST})"
        ),
        _network,
    ),
    _Rule(
        "network is off",
        re.compile(
            r"(?:127\.0\.0\.1|localhost|\[?::1\]?)\S*[^\n]{0,60}(?:[Cc]onnection refused|Failed to connect|ECONNREFUSED"
            r"|Could not connect)|(?:Failed to connect to|ECONNREFUSED) (?:127\.0\.0\.1|localhost|::1)"
        ),
        re.compile(r"(?!)"),
        _loopback,
    ),
)


def explain(output: str, reach: Reach = NO_NETWORK) -> list[str]:
    """What the sandbox's rules have to do with the output of a failed command; empty if it shows no sign of any."""
    return [
        f"Stopped by the sandbox, {rule.name}: {rule.says(_named(rule.names, output), reach)}."
        for rule in _RULES
        if rule.signs.search(output)
    ]


def missed_hosts(output: str) -> list[str] | None:
    """Hosts that the output of a failed command says it could not look up or reach; None if it missed no network."""
    found = [rule for rule in _RULES if rule.says is _network and rule.signs.search(output)]
    return [host for rule in found for host in _found(rule.names, output)] if found else None


_LANDLOCK_SIGNS = re.compile(
    r"[Pp]ermission denied|EACCES|EPERM|[Oo]peration not permitted|out of pty devices|failed in name resolution"
)


def explain_landlock(output: str, reach: Reach = NO_NETWORK) -> list[str]:
    """The same for the Landlock tier, whose denials look like those of file modes."""
    if not _LANDLOCK_SIGNS.search(output):
        return []
    if reach.read_only:
        return [
            "Perhaps stopped by the sandbox (Landlock): commands only read now, and may write nowhere but in $TMPDIR. "
            "Say what you would change"
        ]
    return [
        "Perhaps stopped by the sandbox (Landlock): commands may write only in the workspace and in $TMPDIR, which is "
        "not /tmp, and open no sockets, terminals or shared memory, so local servers and process pools do not work. "
        "If the task needs that, tell the user to install bubblewrap"
    ]


def _named(names: re.Pattern[str], output: str) -> str:
    return ", ".join(_found(names, output))


def _found(names: re.Pattern[str], output: str) -> list[str]:
    found: dict[str, None] = {}
    for match in names.finditer(output):
        name = next((group for group in match.groups() if group), "").strip()
        if name:
            found[visible(name[:MOST_NAME_CHARS])] = None
        if len(found) == MOST_NAMES:
            break
    return list(found)
