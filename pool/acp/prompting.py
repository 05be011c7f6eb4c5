"""From the content blocks of `session/prompt` to the text that the model gets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from pool.acp.params import optional_text, table, text
from pool.extend.acp.errors import bad_params
from pool.messages import valid_text

Json = dict[str, Any]

RESOURCE_LIMIT_BYTES = 512 * 1024
"""All embedded texts of a prompt together; larger files are better linked, so that the model reads what it needs."""

_TICKS = re.compile("`{3,}")


def prompt_text(blocks: Sequence[Json], folder: Path) -> str:
    """The prompt as text. Raises `RpcError` for a block that Pool does not take, or a prompt without any text.

    Links become paths relative to the workspace where they lie in it; embedded files are put after the text, in fences.
    """
    said, files = list[str](), list[str]()
    for block in blocks:
        match block.get("type"):
            case "text":
                said.append(text(block, "text"))
            case "resource_link":
                said.append(f"`{_shown(text(block, 'uri'), folder)}`")
            case "resource":
                uri, content = _embedded(table(block, "resource"))
                shown = _shown(uri, folder)
                said.append(f"`{shown}`")
                files.append(f"File: {shown}\n{_fenced(content)}")
            case "image" | "audio" as kind:
                raise bad_params(f"a block of type {kind} cannot be used: the model reads text only")
            case other:
                raise bad_params(f"a block of type {other!r} is not known")
    if sum(len(part.encode("utf-8", "replace")) for part in files) > RESOURCE_LIMIT_BYTES:
        raise bad_params(f"embedded files have more than {RESOURCE_LIMIT_BYTES:,} bytes; link them instead")
    prompt = "\n\n".join(["".join(said), *files])
    if not prompt.strip():
        raise bad_params("the prompt is empty")
    return valid_text(prompt)


def _embedded(resource: Json) -> tuple[str, str]:
    if "text" not in resource:
        raise bad_params("an embedded resource without text cannot be used: the model reads text only")
    return optional_text(resource, "uri") or "(without a name)", text(resource, "text")


def _shown(uri: str, folder: Path) -> str:
    """A file's path for the model; what is no file keeps its address. A fragment names lines, as `#L10-20`."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return _line(uri)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return _line(uri)
    path = Path(unquote(parts.path))
    shown = str(path.relative_to(folder)) if path.is_relative_to(folder) else str(path)
    return _line(f"{shown}#{parts.fragment}" if parts.fragment else shown)


def _line(name: str) -> str:
    return name if name.isprintable() and "`" not in name else repr(name)


def _fenced(content: str) -> str:
    fence = "`" * max([3, *(len(ticks) + 1 for ticks in _TICKS.findall(content))])
    ended = content if content.endswith("\n") or not content else f"{content}\n"
    return f"{fence}\n{ended}{fence}"
