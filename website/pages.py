"""Pages of the site that lie outside docs/, and links to what lies there.

The same files are read on a disk, in a repository's viewer and on the site, so their links go by the tree. Here
README.md becomes the first page, other pages of the top folder lie under project/, and so does every file linked to.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
PROJECT = "project"
FIRST = "index.md"
LINK = re.compile(r"(\]\(|src=\")([^)\s\"#:]+)(#[^)\s\"]*)?(?=[)\"])")
"""A relative link or picture: opening, path, anchor. What has a colon is an address."""


def on_files(files: Files, config: Any) -> Files:
    """Adds the top folder's pages, and whatever a page links to outside of docs/."""
    pages = {"README.md": FIRST} | {page.name: f"{PROJECT}/{page.name}" for page in ROOT.glob("*.md")}
    pages["README.md"] = FIRST
    for name, uri in pages.items():
        files.append(File.generated(config, uri, content=(ROOT / name).read_text("utf-8")))
    for linked in sorted(_linked(files, pages)):
        files.append(File.generated(config, f"{PROJECT}/{linked}", content=(ROOT / linked).read_bytes()))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Links by the tree become links by the site."""
    here = page.file.src_uri

    def moved(match: re.Match[str]) -> str:
        target = _target(here, match[2])
        if target is None:
            return match[0]
        return f"{match[1]}{_relative(_place(target), here)}{match[3] or ''}"

    return LINK.sub(moved, markdown)


def _linked(files: Files, pages: dict[str, str]) -> set[str]:
    out: set[str] = set()
    for file in files.documentation_pages():
        for match in LINK.finditer(file.content_string):
            target = _target(file.src_uri, match[2])
            if target and target not in pages and not target.startswith("docs/") and (ROOT / target).is_file():
                out.add(target)
    return out


def _target(uri: str, link: str) -> str | None:
    """What a link of a page means in the tree, as a path from its root; None outside of it."""
    folder = ROOT if uri == FIRST or uri.startswith(f"{PROJECT}/") else (ROOT / "docs" / uri).parent
    path = (folder / link).resolve()
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else None


def _place(target: str) -> str:
    """Where a file of the tree is on the site."""
    if target == "README.md":
        return FIRST
    return target.removeprefix("docs/") if target.startswith("docs/") else f"{PROJECT}/{target}"


def _relative(uri: str, here: str) -> str:
    up = "../" * (len(PurePosixPath(here).parts) - 1)
    return up + uri
