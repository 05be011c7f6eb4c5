"""Where the server is, and how to speak of it without giving its secrets away."""

from __future__ import annotations

import base64
import ipaddress
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from pool.wire.dialects import for_address

REDACTED = "[redacted]"
MIN_SECRET_CHARS = 4
"""Shorter values are not removed from running text: they would take harmless words with them."""

OPAQUE_CHARS = 16
"""A query value of this length counts as a secret whatever its parameter is called."""

PLACEHOLDER_KEYS = frozenset(
    {"empty", "none", "null", "dummy", "test", "token", "ollama", "lm-studio"}
    | {"not-needed", "not-required", "no-key", "no-key-required", "sk-no-key-required"}
)
"""Values that people give where a server asks for no key. They are no secrets."""

_API_SUFFIXES = ("/chat/completions", "/completions", "/models", "/responses", "/messages")
_VERSION_SEGMENT = re.compile(r"^v\d+\w*$")
_SECRET_NAMES = re.compile(r"auth|cookie|key|token|secret|passw|signature", re.IGNORECASE)
_PARAMETER = re.compile(r"([?&])([\w.-]{1,64})=([^\s&#\"'<>\\]+)")
_PATTERNS = (
    (re.compile(r"\b(Bearer|Basic)(\s+)(?=\S*[\d=])[A-Za-z0-9._~+/=-]{8,}"), rf"\1\2{REDACTED}"),
    (re.compile(r"(://)[^\s/@:\"'\\]{0,200}:[^\s/@\"'\\]{1,200}@"), rf"\1{REDACTED}@"),
    (
        re.compile(
            r"\b((?:proxy-)?authorization|x-api-key|api-key)([\"']?\s*:\s*[\"']?)(?!Bearer|Basic)[^\s\"',}\\]+",
            re.IGNORECASE,
        ),
        rf"\1\2{REDACTED}",
    ),
)


class EndpointError(ValueError):
    """An address, key or header that cannot be used. The message holds no secret and says what to write instead."""


@dataclass(frozen=True, slots=True, repr=False)
class Endpoint:
    """A server's address and what it wants to see before it answers.

    base_url has a scheme, a host and a path, without trailing slash, user, password or query. The path ends in the API
    version, `http://127.0.0.1:8000/v1`, or is that of an API of its own, `http://127.0.0.1:11434/api` (Ollama). headers
    are sent with every request. query (without `?`) is appended to every address. Make one with `parse_endpoint`. Its
    text forms show no secret.
    """

    base_url: str
    api_key: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    query: str = ""
    password: str = ""

    def __repr__(self) -> str:
        return f"Endpoint({self.display!r})"

    __str__ = __repr__

    @property
    def host(self) -> str:
        """Host name or address, in lower case and without brackets."""
        return urlsplit(self.base_url).hostname or ""

    @property
    def root(self) -> str:
        """The address that `/version`, `/props` and the like hang below: base_url without its API version."""
        parts = urlsplit(self.base_url)
        path = "" if parts.path in for_address(self.base_url).paths else parts.path
        kept: list[str] = []
        for segment in path.split("/"):
            if _VERSION_SEGMENT.match(segment):
                break
            kept.append(segment)
        return f"{parts.scheme}://{parts.netloc}{'/'.join(kept).rstrip('/')}"

    @property
    def display(self) -> str:
        """The address for people: no key, no user, no password; values of query parameters are hidden."""
        if not self.query:
            return self.base_url
        names = [name for name, _ in parse_qsl(self.query, keep_blank_values=True)]
        return f"{self.base_url}?{'&'.join(f'{name}={REDACTED}' for name in names)}"

    @property
    def is_loopback(self) -> bool:
        """Whether the server is on this machine: `localhost`, 127.x.x.x, ::1, or the unspecified address."""
        host = self.host
        if host == "localhost" or host.endswith(".localhost"):
            return True
        try:
            address = ipaddress.ip_address(host.partition("%")[0])
        except ValueError:
            return False
        mapped = getattr(address, "ipv4_mapped", None)
        if isinstance(mapped, ipaddress.IPv4Address):
            address = mapped
        return address.is_loopback or address.is_unspecified

    def url(self, path: str) -> str:
        """The full address of path: `chat/completions` is below base_url, `/version` (leading slash) below the root."""
        base = self.root if path.startswith("/") else self.base_url
        full = f"{base}/{path.lstrip('/')}"
        if not self.query:
            return full
        return f"{full}{'&' if '?' in full else '?'}{self.query}"

    def secrets(self) -> tuple[str, ...]:
        """Every value that must not be shown, longest first, in each spelling in which it could turn up."""
        values = [self.api_key, self.password]
        values += [v for name, v in parse_qsl(self.query) if _SECRET_NAMES.search(name) or len(v) >= OPAQUE_CHARS]
        for name, value in self.headers:
            if _SECRET_NAMES.search(name):
                values += [value, value.partition(" ")[2]]
        found: set[str] = set()
        for value in values:
            if len(value) < MIN_SECRET_CHARS or value.lower() in PLACEHOLDER_KEYS:
                continue
            found |= {value, quote(value, safe=""), json.dumps(value, ensure_ascii=False)[1:-1]}
        return tuple(sorted(found, key=len, reverse=True))


def parse_endpoint(text: str, api_key: str = "", headers: Iterable[tuple[str, str]] = ()) -> Endpoint:
    """Read an address as people write it.

    `h:8000`, `http://h:8000`, `http://h:8000/v1/` and `http://h:8000/v1/chat/completions` mean the same. A path with
    a version in it (`/api/v1`, `/v1beta/openai`) is kept, and so is `/api`, which means Ollama's own API (`/api/chat`
    too); any other gets `/v1` appended. `user:password@` becomes an
    Authorization header and takes precedence over api_key, since it was written for this very server; a header
    named Authorization takes precedence over both. Raises `EndpointError`.
    """
    text = text.strip()
    if not text:
        raise EndpointError("no server address was given; write one such as http://127.0.0.1:8000/v1")
    if any(ch.isspace() or not ch.isprintable() for ch in text):
        raise EndpointError("the server address has a blank or a control character in it; write http://HOST:PORT/v1")
    if "://" not in text:
        text = f"http://{text}"
    scheme, host, port, path = _split(text)
    parts = urlsplit(text)
    key = _clean_key(api_key)
    sent = tuple(_clean_header(name, value) for name, value in headers)
    password = unquote(parts.password or "")
    if parts.username is not None and not _has_authorization(sent):
        pair = f"{unquote(parts.username)}:{password}"
        sent = (*sent, ("Authorization", "Basic " + base64.b64encode(pair.encode()).decode("ascii")))
    netloc = f"[{host}]" if ":" in host else host
    if port is not None:
        netloc += f":{port}"
    origin = f"{scheme}://{netloc}"
    return Endpoint(f"{origin}{_api_path(origin, path)}", key, sent, parts.query, password)


def redact(text: str, endpoint: Endpoint | None = None) -> str:
    """text without the endpoint's secrets, and without what looks like a key, password or token in a URL or header."""
    if endpoint is not None:
        for secret in endpoint.secrets():
            text = text.replace(secret, REDACTED)
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    return _PARAMETER.sub(_redact_parameter, text)


def authorization(endpoint: Endpoint) -> tuple[tuple[str, str], ...]:
    """All headers that the endpoint wants, its key among them as a bearer token."""
    if not endpoint.api_key or _has_authorization(endpoint.headers):
        return endpoint.headers
    return (*endpoint.headers, ("Authorization", f"Bearer {endpoint.api_key}"))


def _redact_parameter(match: re.Match[str]) -> str:
    mark, name, _ = match.groups()
    return f"{mark}{name}={REDACTED}" if _SECRET_NAMES.search(name) else match[0]


def _split(text: str) -> tuple[str, str, int | None, str]:
    try:
        parts = urlsplit(text)
        scheme, host, port = parts.scheme.lower(), parts.hostname or "", parts.port
    except ValueError:
        raise EndpointError(
            "host or port of the server address cannot be read; write http://HOST:PORT/v1, an IPv6 host in brackets"
        ) from None
    if scheme not in ("http", "https"):
        raise EndpointError(f"the server address begins with {scheme}://; only http:// and https:// work")
    if not host:
        raise EndpointError("the server address names no host; write http://HOST:PORT/v1")
    return scheme, host, port, parts.path


def _api_path(origin: str, path: str) -> str:
    path = re.sub(r"/{2,}", "/", path).rstrip("/")
    for own in (path, path.removesuffix("/chat")):
        if own in for_address(f"{origin}{own}").paths:
            return own
    for suffix in _API_SUFFIXES:
        if path.endswith(suffix):
            path = path.removesuffix(suffix)
            break
    if any(_VERSION_SEGMENT.match(segment) for segment in path.split("/")):
        return path
    return f"{path}/v1"


def _has_authorization(headers: Iterable[tuple[str, str]]) -> bool:
    return any(name.lower() == "authorization" for name, _ in headers)


def _clean_key(key: str) -> str:
    key = key.strip()
    if not (key.isascii() and key.isprintable()):
        raise EndpointError("the API key has a character that no HTTP header may carry; copy it again, on one line")
    return key


def _clean_header(name: str, value: str) -> tuple[str, str]:
    if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name):
        raise EndpointError(f"{name!r} is not a header name; write NAME: VALUE")
    value = value.strip()
    if not (value.isascii() and value.isprintable()):
        raise EndpointError(f"the value of header {name} has a character that no HTTP header may carry")
    return name, value
