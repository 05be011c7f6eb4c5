"""The page and the Markdown: whatever a session holds stays text, and nothing is loaded from anywhere."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from pool.messages import ToolCall
from pool.sessions.export.fold import folded
from pool.sessions.export.markdown import markdown
from pool.sessions.export.page import Page
from pool.sessions.export.text import LINE_CHARS
from tests.sessions.export.logs import Script, edit_call, everything

HOSTILE = [
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "![x](http://tracker.example/p.png) <iframe src=//evil.example></iframe>",
    "</pre></details></main><h1>forged</h1>",
    "<!-- open comment",
    "<details><summary>open",
    "[go](javascript:alert(1)) <javascript:alert(1)>",
    "```\nopen fence\n`````\n# heading",
    "\x1b[31mred\x1b]8;;http://evil.example\x07link\x00",
    "user\u202egnp.exe",
    "> quote\n\n- list\n\n    code",
    "&lt;b&gt; &#60;script&#62;",
]

ALLOWED_SCRIPTS = 1
MARK = "MARK"


class Reader(HTMLParser):
    """Notes tags, what they could load, and the text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.loads: list[str] = []
        self.text: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.loads += [str(v) for k, v in attrs if k in ("src", "srcset", "action", "data", "poster", "background")]
        self.loads += [str(v) for k, v in attrs if k == "href" and tag == "link"]
        assert not [k for k, _ in attrs if k.startswith("on")]
        assert not [v for k, v in attrs if k == "href" and str(v).lower().startswith("javascript")]
        if tag not in ("meta", "link", "input", "br", "hr", "img"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ("br", "hr", "img")
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def page_of(rows: list[dict[str, Any]], *, whole: bool = False) -> tuple[str, Reader]:
    html = Page(folded(rows), None, whole=whole).html()
    reader = Reader()
    reader.feed(html)
    assert reader.open == []
    assert reader.tags.count("script") == ALLOWED_SCRIPTS
    assert reader.loads == ["data:,"]
    assert not set(reader.tags) & {"img", "iframe", "object", "embed", "form", "svg", "base"}
    return html, reader


def hostile_script(folder: Path, text: str) -> Script:
    script = Script(folder)
    script.begin(text)
    call = ToolCall(text, text, '{"path": "x"}')
    script.reply(text, [call, edit_call("e")], text)
    script.call(call, text, text)
    script.end(text)
    return script


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_text_on_the_page(text: str, tmp_path: Path) -> None:
    html, reader = page_of(hostile_script(tmp_path, text).rows())
    assert "script-src 'sha256-" in html
    assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e]", html)
    assert "open" in "".join(reader.text) or "open" not in text


def with_text(rows: list[dict[str, Any]], text: str) -> list[dict[str, Any]]:
    """The rows with `MARK` replaced by a text, also in the JSON that messages are."""
    once = json.dumps(text)[1:-1]
    inside = {"message.added": json.dumps(once)[1:-1]}
    return [json.loads(json.dumps(row).replace(MARK, inside.get(row["type"], once))) for row in rows]


@pytest.fixture(scope="module")
def marked(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    return hostile_script(tmp_path_factory.mktemp("log"), MARK).rows()


@settings(max_examples=50)
@given(text=st.text(st.sampled_from("<>\"'&/`[]()!#*-=\n aimgscriptx\u202e\x1b"), max_size=60))
def test_no_text_breaks_the_page(marked: list[dict[str, Any]], text: str) -> None:
    page_of(with_text(marked, text))


def test_all_that_happened_is_on_the_page(tmp_path: Path) -> None:
    _, reader = page_of(everything(tmp_path).rows())
    text = "".join(reader.text)
    for wanted in ("Thinking, 5 words", "Edit x.py", "denied", "not now", "thought went in circles", "window is small"):
        assert wanted in text
    for wanted in (
        "compacted",
        "asked for compaction",
        "completed",
        "first token 0.5 s",
        "tools 0.2 s",
        "Nothing was redacted",
    ):
        assert wanted in text
    assert text.count("a = 2") >= 1


def test_long_text_is_cut_with_a_note_unless_all_is_wanted(tmp_path: Path) -> None:
    script = Script(tmp_path)
    script.begin("x")
    call = edit_call()
    script.reply("", [call])
    script.call(call, "y" * 1_000_000 + "\nend")
    html, _ = page_of(script.rows())
    assert len(html) < 200_000
    assert "characters left out" in html
    assert "end" in html
    assert len(page_of(script.rows(), whole=True)[0]) > 1_000_000
    assert "y" * (LINE_CHARS + 1) not in markdown(folded(script.rows()), None)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_does_not_break_out_of_the_markdown(text: str, tmp_path: Path) -> None:
    document = markdown(folded(hostile_script(tmp_path, text).rows()), None)
    html = MarkdownIt("commonmark").render(document)
    reader = Reader()
    reader.feed(html)
    assert not set(reader.tags) & {"img", "iframe", "script"}
    assert reader.tags.count("details") == html.count("</details>")
    assert reader.open == []
    headings = re.findall(r"<h2>(.*?)</h2>", html)
    assert headings == ["Before the first prompt", "Prompt 1"]


def test_the_markdown_holds_the_diff_and_the_answer(tmp_path: Path) -> None:
    document = markdown(folded(everything(tmp_path).rows()), None)
    assert "```diff\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a = 1\n+a = 2\n```" in document
    assert "\n> You are welcome.\n" in document
    assert "**completed**, 2 turns, 3.5 s" in document
