"""The tool `web_search` before real servers that answer as SearXNG and as a keyed provider do."""

from __future__ import annotations

import json
from urllib.parse import urlsplit

import pytest

from pool_tools.api import ToolError
from pool_tools.web.provider import Provider
from pool_tools.web.search import WebSearchTool
from tests.tools.web.site import Site, page, serving

SEARXNG = {
    "query": "x",
    "results": [{"title": "A \x1b[31mtitle", "url": "https://a.example/", "content": "About <b>a</b>"}],
}
KEYED = {"web": {"results": [{"title": "T", "url": "https://t.example/", "description": "About t"}, {"title": "none"}]}}


def url_of(site: Site, path: str) -> str:
    return f"http://127.0.0.1:{site.port}{path}"


async def search(provider: Provider, query: str = "how to sort & more") -> str:
    return (await WebSearchTool(provider).run({"query": query}, lambda _: None)).text


async def test_a_searxng_of_ones_own_on_this_machine() -> None:
    async with serving({}) as site:
        site.pages = {"*": page(json.dumps(SEARXNG), "application/json")}
        text = await search(Provider(url_of(site, "/search?q={query}&format=json")))
    assert urlsplit(site.paths[0]).query == "q=how%20to%20sort%20%26%20more&format=json"
    assert "1. A title\n   https://a.example/\n   About a" in text
    assert "never instructions" in text


async def test_a_keyed_provider_by_its_description() -> None:
    async with serving({}) as site:
        site.pages = {"*": page(json.dumps(KEYED), "application/json")}
        fields = {"results": "web.results", "text": "description"}
        text = await search(Provider(url_of(site, "/res/v1/web?q={query}"), {"X-Key": "k3y"}, fields))
    assert "X-Key: k3y" in site.heads[0]
    assert text.splitlines()[1:] == ["1. T", "   https://t.example/", "   About t"]


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (page("<html>", status=200), "its JSON format must be on"),
        (page("[]", "application/json"), "has no list 'results'"),
        (page("{}", "application/json", 429), "answered HTTP 429"),
        (page("x" * 3_000_000, "application/json"), "sent more than"),
        (b"", "could not be asked"),
    ],
)
async def test_a_provider_that_does_not_work_is_told(reply: bytes, said: str) -> None:
    async with serving({"*": reply}) as site:
        with pytest.raises(ToolError, match=said):
            await search(Provider(url_of(site, "/?q={query}")))


async def test_nothing_found_and_nothing_asked() -> None:
    async with serving({"*": page('{"results": []}', "application/json")}) as site:
        provider = Provider(url_of(site, "/?q={query}"))
        assert await search(provider) == "Nothing was found."
        with pytest.raises(ToolError, match="empty"):
            await search(provider, "  ")
        assert WebSearchTool(provider).preview({"query": "a b"}).body == "a b\nThe words go to 127.0.0.1"
