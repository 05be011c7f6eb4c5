"""Skills that come with Pool: `pool-docs` answers questions about Pool from its pages, `write-skill` writes skills."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pool.extend.skills.skill import FILE, Skill

BUNDLED = "Pool"
"""The place of these, for people."""

DOCS = "docs"
_FOLDER = Path(__file__).parent / "bundled"
_PACKAGE = Path(__file__).parents[2]
_WITH_DOCS = "pool-docs"
NAMES = (_WITH_DOCS, "write-skill")


def docs_folder() -> Path:
    """The folder of Pool's pages: in the package, or where Pool runs from its sources, in these."""
    packed = _PACKAGE / DOCS
    return packed if packed.is_dir() else _PACKAGE.parent / DOCS


def bundled_skills() -> Iterator[Skill]:
    """All of them. Their front matter is known to be plain lines, so no YAML is loaded at the start of a session."""
    for name in NAMES:
        folder = _FOLDER / name
        _, head, body = (folder / FILE).read_text(encoding="utf-8").split("---\n", 2)
        values = dict(line.split(": ", 1) for line in head.splitlines())
        docs = ((DOCS, docs_folder()),) if name == _WITH_DOCS else ()
        yield Skill(name, values["description"], body.strip(), folder, BUNDLED, values["license"], also=docs)
