"""A search provider as the user describes it: an address with `{query}`, and where its JSON keeps what."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field
from typing import Any, cast
from urllib.parse import quote

from pool_tools.api import ToolError
from pool_tools.frozen import frozen

FIELDS = {"results": "results", "title": "title", "url": "url", "text": "content"}
"""Where the results are, and what the parts of one are called, by SearXNG's names. A dot goes into a table."""

QUERY = "{query}"


@frozen
class Provider:
    """url is a template with `{query}`; headers go with each request; fields replace those of `FIELDS`."""

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    fields: Mapping[str, str] = field(default_factory=dict[str, str])

    def address(self, query: str) -> str:
        """The address that answers a query."""
        return self.url.replace(QUERY, quote(query, safe=""))

    def results(self, body: bytes) -> list[Found]:
        """What an answer holds. Raises `ToolError` for one that is of another form."""
        names = {**FIELDS, **self.fields}
        try:
            rows = _below(json.loads(body), names["results"])
        except (ValueError, RecursionError):
            raise ToolError(
                "The search provider's answer is no JSON; for SearXNG, its JSON format must be on."
            ) from None
        if not isinstance(rows, list):
            raise ToolError(
                f"The search provider's answer has no list {names['results']!r}; web.search_fields names it."
            )
        made = [
            Found(*(str(_below(row, names[part]) or "") for part in ("title", "url", "text")))
            for row in cast(list[Any], rows)
        ]
        return [one for one in made if one.url]


@frozen
class Found:
    """One result, as the provider gives it."""

    title: str
    url: str
    text: str


def _below(value: Any, path: str) -> Any:
    for name in path.split("."):
        value = cast(Mapping[str, Any], value).get(name) if isinstance(value, Mapping) else None
    return value
