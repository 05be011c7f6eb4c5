"""Links between pages lead somewhere, and the site's menu holds every page. `make docs` checks anchors too."""

from __future__ import annotations

import re

import pytest

from tests.cli.pages import ROOT, pages

LINK = re.compile(r"\]\(([^)\s#:]+)(?:#[^)\s]*)?\)")
MENU = (ROOT / "website" / "mkdocs.yml").read_text("utf-8")


@pytest.mark.parametrize("page", [*pages(), "AGENTS.md", "CONTRIBUTING.md"])
def test_links_lead_somewhere(page: str) -> None:
    folder = (ROOT / page).parent
    text = re.sub(r"^```.*?^```", "", (ROOT / page).read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    assert [link for link in LINK.findall(text) if not (folder / link).exists()] == []


def test_the_menu_holds_every_page() -> None:
    own = {page.removeprefix("docs/") for page in pages() if page.startswith("docs/")}
    named = set(re.findall(r"^ +- .*?: (\S+\.md)$", MENU, re.MULTILINE))
    assert {name for name in named if not name.startswith("project/")} - {"index.md"} == own
