"""What a call answered, as text for the model: other content is named, never shown."""

from __future__ import annotations

import json
from collections.abc import Iterator

from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
)

from pool.messages import valid_text
from pool_tools.text import size

_BASE64_BYTES = 0.75
"""Bytes that a character of base64 stands for."""


def text_of(result: CallToolResult) -> str:
    """All of its text, one block after the other; structured content where there is nothing else."""
    parts = [valid_text(part) for block in result.content for part in _parts(block)]
    if not parts and result.structured_content is not None:
        parts = [json.dumps(result.structured_content, ensure_ascii=False)]
    return "\n".join(parts)


def _parts(block: ContentBlock) -> Iterator[str]:
    match block:
        case TextContent():
            yield block.text
        case ImageContent() | AudioContent():
            kind = "image" if isinstance(block, ImageContent) else "sound"
            yield f"[{kind}: {block.mime_type}, {_size(block.data)}, not shown]"
        case ResourceLink():
            yield f"[resource: {block.name}, {block.uri}]"
        case EmbeddedResource():
            inner = block.resource
            if isinstance(inner, BlobResourceContents):
                yield f"[resource: {inner.uri}, {inner.mime_type or 'unknown kind'}, {_size(inner.blob)}, not shown]"
            else:
                yield f"[resource: {inner.uri}]\n{inner.text}"


def _size(base64: str) -> str:
    return size(round(len(base64) * _BASE64_BYTES))
