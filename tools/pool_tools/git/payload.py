"""The text of a commit object, as git hands it to whoever signs."""

from __future__ import annotations

import re

from pool_tools.api import ToolError
from pool_tools.frozen import frozen

_HEADER = re.compile(rb"(tree|parent|author|committer|encoding) ([^\n]*)")
_IDENTITY = re.compile(rb"(.*) <([^<>]*)> (\d{1,20}) ([+-]\d{4})")
_OBJECT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@frozen
class Payload:
    """A commit that is not signed yet. data is all of its text; identities are `(name, email, date)` in git's bytes."""

    data: bytes
    tree: str
    parents: tuple[str, ...]
    author: tuple[bytes, bytes, bytes]
    committer: tuple[bytes, bytes, bytes]
    encoding: str
    message: bytes

    @property
    def object_format(self) -> str:
        """The kind of hash in the repository, by git's name for it."""
        return "sha1" if len(self.tree) == 40 else "sha256"


def parse_payload(data: bytes) -> Payload:
    """Take a commit's text apart. Raises `ToolError` for one with more in it than can be signed here."""
    head, _, message = data.partition(b"\n\n")
    found: dict[str, list[bytes]] = {}
    for line in head.split(b"\n"):
        header = _HEADER.fullmatch(line)
        if header is None:
            raise ToolError("The commit has a header that cannot be signed here, such as that of a merged signed tag.")
        found.setdefault(header[1].decode(), []).append(header[2])
    trees, parents = _texts(found.get("tree", [])), _texts(found.get("parent", []))
    if len(trees) != 1 or not all(_OBJECT.fullmatch(name) for name in (*trees, *parents)):
        raise ToolError("What git gave to be signed is no commit.")
    encodings = _texts(found.get("encoding", []))
    return Payload(
        data,
        trees[0],
        tuple(parents),
        _identity(found.get("author", [])),
        _identity(found.get("committer", [])),
        encodings[0] if encodings else "",
        message,
    )


def unsigned(data: bytes) -> tuple[bytes, bytes]:
    """A signed commit's text without its signature, and the signature."""
    head, blank, message = data.partition(b"\n\n")
    kept: list[bytes] = []
    signature: list[bytes] = []
    inside = False
    for line in head.split(b"\n"):
        name, _, rest = line.partition(b" ")
        inside = name in (b"gpgsig", b"gpgsig-sha256") or (inside and line.startswith(b" "))
        if inside:
            signature.append(rest)
        else:
            kept.append(line)
    return b"\n".join(kept) + blank + message, b"\n".join(signature)


def _texts(values: list[bytes]) -> list[str]:
    return [value.decode("ascii", "replace") for value in values]


def _identity(values: list[bytes]) -> tuple[bytes, bytes, bytes]:
    found = _IDENTITY.fullmatch(values[0]) if len(values) == 1 else None
    if found is None:
        raise ToolError("What git gave to be signed is no commit: its author or committer cannot be read.")
    return found[1], found[2], b"@" + found[3] + b" " + found[4]
