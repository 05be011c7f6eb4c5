"""HTML to Markdown, in a process of its own: a hostile page can cost time and memory without end.

Run as a program: a line of JSON on standard input (`url`, `sys_path`, since the interpreter starts isolated), the page
as UTF-8 after it; prints a JSON object with `title` and `text`.
"""

from __future__ import annotations

import importlib
import json
import re
import resource
import sys
from typing import Any

CPU_SECONDS = 15
MEMORY_BYTES = 1_500_000_000

TITLE_CHARS = 1_000
MAIN_LEAST = 0.25
"""Where what readability finds has less than this share of the page's text, the whole page is taken."""

DEPTH_MOST = 200
"""Elements that lie deeper are taken as their text: what makes Markdown of them walks down by recursion."""

_DROPPED = (
    "//script|//style|//noscript|//template|//svg|//iframe|//object|//canvas|//comment()|//input|//select|//button"
)
_CHROME = "//nav|//footer|//aside"
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_BLANK_LINES = re.compile(r"\n{3,}")
_LANGUAGE = re.compile(r"(?:language|lang|highlight-source)-([A-Za-z0-9+#-]+)")


def main() -> int:
    """Convert what comes. Raises what lxml does for a page that is none."""
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    request: dict[str, Any] = json.loads(sys.stdin.buffer.readline())
    sys.path[:] = request["sys_path"]
    title, text = converted(sys.stdin.buffer.read().decode("utf-8", "replace"), request["url"])
    sys.stdout.buffer.write(json.dumps({"title": title, "text": text}).encode())
    return 0


def converted(page: str, url: str) -> tuple[str, str]:
    """The title and the main part of a page as Markdown, links absolute."""
    html: Any = importlib.import_module("lxml.html")
    parser = html.HTMLParser(encoding="utf-8", huge_tree=False)
    try:
        root: Any = html.document_fromstring(page.encode("utf-8", "replace"), parser=parser)
    except importlib.import_module("lxml.etree").ParserError:
        # Nothing but comments, or not even these.
        return "", ""
    title = " ".join((root.findtext(".//title") or "")[:TITLE_CHARS].split())
    _clean(root, url)
    part = _main_part(root, url)
    return title, _BLANK_LINES.sub("\n\n", _markdown(part)).strip()


def _clean(root: Any, url: str) -> None:
    root.make_links_absolute(url, resolve_base_href=True, handle_failures="ignore")
    for element in root.xpath(f"//head|{_DROPPED}"):
        _drop(element)
    for element in root.xpath("//*[@hidden or @style]"):
        if element.get("hidden") is not None or _HIDDEN.search(element.get("style") or ""):
            _drop(element)
    for image in root.xpath("//img"):
        alt = " ".join((image.get("alt") or "").split())
        image.tag, image.text = "span", f"[image: {alt}]" if alt else ""
        image.attrib.clear()
    for link in root.xpath("//a[@href]"):
        if not link.get("href").startswith(("http://", "https://", "mailto:")):
            del link.attrib["href"]
    for depth, element in _deep(root):
        if depth == DEPTH_MOST:
            text = " ".join(element.itertext())
            for child in list(element):
                element.remove(child)
            element.text = text


def _drop(element: Any) -> None:
    if element.getparent() is not None:
        element.drop_tree()


def _deep(root: Any) -> list[tuple[int, Any]]:
    found: list[tuple[int, Any]] = []
    todo: list[tuple[int, Any]] = [(0, root)]
    while todo:
        depth, element = todo.pop()
        found.append((depth, element))
        if depth < DEPTH_MOST:
            todo += [(depth + 1, child) for child in element]
    return found


def _main_part(root: Any, url: str) -> Any:
    """The page's own `main` or only `article`; else what readability finds; else all of it but for its navigation."""
    html: Any = importlib.import_module("lxml.html")
    readability: Any = importlib.import_module("readability")
    for marked in (root.xpath("//main|//*[@role='main']"), root.xpath("//article")):
        if len(marked) == 1 and _length(marked[0]):
            return marked[0]
    body = root.find("body")
    if body is None or not _length(body):
        # Frames, or nothing.
        return root
    try:
        summary = readability.Document(html.tostring(root, encoding="unicode"), url=url).summary(html_partial=True)
    except ValueError:
        # Its word for a page that holds nothing to read.
        return body
    found: Any = html.fragment_fromstring(summary, create_parent="div") if summary.strip() else body
    if _length(found) >= MAIN_LEAST * _length(body):
        return found
    for element in body.xpath(_CHROME.replace("//", ".//")):
        _drop(element)
    return body


def _length(element: Any) -> int:
    return len(" ".join(element.text_content().split()))


def _markdown(part: Any) -> str:
    html: Any = importlib.import_module("lxml.html")
    markdownify: Any = importlib.import_module("markdownify")
    text: str = html.tostring(part, encoding="unicode", with_tail=False)
    return markdownify.markdownify(text, heading_style="ATX", bullets="-", code_language_callback=_language)


def _language(element: Any) -> str:
    """The language of a block of code, by the class that highlighters use."""
    classes: list[str] = [*(element.get("class") or []), *((element.code and element.code.get("class")) or [])]
    return next((found[1] for name in classes if (found := _LANGUAGE.search(name))), "")


if __name__ == "__main__":
    sys.exit(main())
