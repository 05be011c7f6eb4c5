"""Taking out of a report what says whose machine it is: keys, names of hosts and people, paths of the home.

What is put in its place names the kind, so that a reader still sees that two lines speak of the same thing.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

LEAST_CHARS = 4
"""Shorter names, such as a user `li`, stand in too many words to be taken out everywhere."""

PLAIN_NAMES = frozenset({"root", "user", "pool", "spark", "ubuntu", "home", "local", "localhost", "model", "runner"})
"""Names that say nothing, and that the report needs as words."""

LOOPBACK = re.compile(r"127\.\d+\.\d+\.\d+|0\.0\.0\.0")
_ADDRESS = re.compile(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])")
_VERSION_BEFORE = re.compile(r"(?:version|[vV])\s?$")
_KEY = re.compile(r"\b(?:sk|hf|gh[pousr]|nvapi|xox[bap])[-_][A-Za-z0-9_-]{8,}")
_BEARER = re.compile(r"(?i)\b(bearer\s+)[A-Za-z0-9._~+/=-]{6,}")
_MAIL = re.compile(r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b")
_HOME = re.compile(r"(?:/home|/Users)/[^/\s\"'\\:,;)\]]+")
_NETWORK_CARD = re.compile(r"\b(?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}\b")


@dataclass(slots=True)
class Redactor:
    """Takes names and patterns out of texts. names maps what must not be seen to what stands there instead."""

    names: Mapping[str, str]
    counts: Counter[str] = field(default_factory=Counter[str])

    def text(self, text: str) -> str:
        """The text without them."""
        for name in sorted(self.names, key=len, reverse=True):
            text = self._out(re.compile(re.escape(name), re.IGNORECASE), self.names[name], text)
        for pattern, instead in ((_KEY, "[key]"), (_MAIL, "[mail]"), (_HOME, "[home]"), (_NETWORK_CARD, "[card]")):
            text = self._out(pattern, instead, text)
        text, found = _BEARER.subn(r"\1[key]", text)
        self.counts["[key]"] += found
        return _ADDRESS.sub(self._address, text)

    def _out(self, pattern: re.Pattern[str], instead: str, text: str) -> str:
        text, found = pattern.subn(instead.replace("\\", r"\\"), text)
        self.counts[instead] += found
        return text

    def _address(self, match: re.Match[str]) -> str:
        before = match.string[max(0, match.start() - 9) : match.start()]
        if LOOPBACK.fullmatch(match[0]) or _VERSION_BEFORE.search(before):
            return match[0]
        self.counts["[address]"] += 1
        return "[address]"

    @property
    def words(self) -> list[str]:
        """What was taken out, as lines for the report; never what it was."""
        taken = [f"{count} x {kind}" for kind, count in sorted(self.counts.items()) if count]
        return taken or ["nothing was found to take out"]


def redactor(
    environ: Mapping[str, str], *, secrets: Iterable[str], urls: Iterable[str], hosts: Iterable[str], home: str
) -> Redactor:
    """A redactor for this machine: secrets are keys, urls of servers, hosts names of this machine, home its folder."""
    names = {secret: "[key]" for secret in secrets if len(secret) >= LEAST_CHARS}
    names |= {value: "[key]" for name, value in environ.items() if _secret(name) and len(value) >= LEAST_CHARS}
    far = [urlsplit(url).hostname or "" for url in urls]
    for host in (*hosts, *far):
        for part in (host, host.partition(".")[0]):
            if _telling(part):
                names.setdefault(part, "[host]")
    if len(home) >= LEAST_CHARS:
        names[home] = "[home]"
    for variable in ("USER", "LOGNAME", "SUDO_USER"):
        if _telling(environ.get(variable, "")):
            names.setdefault(environ[variable], "[user]")
    # Names with other letters than ASCII stand in JSON as escapes.
    names |= {json.dumps(name)[1:-1]: instead for name, instead in names.items()}
    return Redactor(names)


def _secret(name: str) -> bool:
    return any(word in name.upper() for word in ("KEY", "TOKEN", "SECRET", "PASSWORD")) and "PATH" not in name.upper()


def _telling(name: str) -> bool:
    if len(name) < LEAST_CHARS or name.lower() in PLAIN_NAMES or _ADDRESS.fullmatch(name):
        return False
    return not name.replace(".", "").isdecimal()
