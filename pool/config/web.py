"""The web, and the keys of its table: nothing leaves the machine unless they say so."""

from __future__ import annotations

from dataclasses import field
from typing import cast

from pool.config.keys import Key
from pool.config.kinds import Switch, Text, TextTable
from pool_tools.frozen import frozen

TABLE = "Pages of the web, and a search. Both are off unless you switch them on. See web.md."


@frozen
class WebSettings:
    """fetch: the model may ask for pages. search_url: the provider's address, with `{query}` in it; "" for no search.

    It and search_headers may hold `${NAME}` for variables of the user's environment. search_fields say where its JSON
    keeps what, as in `pool_tools.web.provider.FIELDS`.
    """

    fetch: bool = False
    search_url: str = field(default="", repr=False)
    search_headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    search_fields: tuple[tuple[str, str], ...] = ()


def _pairs(value: object) -> tuple[tuple[str, str], ...]:
    return cast(tuple[tuple[str, str], ...], value)


WEB_KEYS = (
    Key(
        "web.fetch",
        Switch(),
        "Give the model a tool that reads web pages. It asks for each host that no rule `fetch(HOST)` allows.",
        "web.fetch",
        flag="--fetch",
        danger="the model may ask to read pages of the web; an address can carry out what it has read",
    ),
    Key(
        "web.search_url",
        Text(),
        "Give the model a search: the address of a provider that answers in JSON, with `{query}` for the words.",
        "web.search_url",
        danger="what the model searches for is sent there",
    ),
    Key(
        "web.search_headers",
        TextTable(),
        "Header fields of each search; `${NAME}` stands for a variable of your environment.",
        "web.search_headers",
        danger="what stands in your environment can be sent there",
        make=_pairs,
        secret=True,
    ),
    Key(
        "web.search_fields",
        TextTable(),
        "Where the provider's JSON keeps `results`, and in each `title`, `url` and `text`. Not set: SearXNG's names.",
        "web.search_fields",
        danger="other parts of the provider's answers reach the model",
        make=_pairs,
    ),
)
