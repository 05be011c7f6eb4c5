"""Write the licences of what Pool is made of into docs/licences.md, from the metadata of the installed packages.

usage: python -m release.licences [--check]
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from release.parts import EXTRAS, Part, parts

PAGE = Path(__file__).resolve().parents[1] / "docs" / "licences.md"
HEAD = """\
# Licences of what Pool is made of

Pool's own code is under the Apache License 2.0 (`LICENSE`). These packages are installed with it; the licences are
those that the packages' metadata name. Made by `make licences`; a test holds that it is current. Versions are in the
list that `make sbom` writes.

The extra `ray` brings Ray (Apache-2.0) with what it needs; `realserver` and `dev` are for working on Pool itself.
"""


def page(found: Iterable[Part]) -> str:
    """The page as Markdown."""
    all_parts = list(found)
    text = HEAD
    for extra in ("", *EXTRAS):
        rows = [part for part in all_parts if part.extras[:1] == ((extra,) if extra else ())]
        title = f"With `laguna-pool[{extra}]`" if extra else "With `laguna-pool`"
        text += f"\n## {title}\n\n| package | licence | needed by |\n|---|---|---|\n"
        for part in rows:
            text += row(part, all_parts) + "\n"
    return text


def row(part: Part, all_parts: Iterable[Part]) -> str:
    """A package's line of the table."""
    users = sorted(other.name for other in all_parts if part.name in other.needs and other.name != part.name)
    others = (", also " + ", ".join(part.extras[1:])) if part.extras[1:] else ""
    return f"| {part.name} | {part.licence} | {', '.join(['Pool'] * part.direct + users)}{others} |"


def main(argv: Sequence[str]) -> int:
    """Write the page, or with --check only compare; the exit code."""
    text = page(parts())
    if "--check" in argv:
        if PAGE.is_file() and PAGE.read_text(encoding="utf-8") == text:
            return 0
        sys.stderr.write(f"{PAGE.name} is not current: make licences\n")
        return 1
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
