"""The file in which the catalogue is kept."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from library.books import Book
from library.catalogue import Catalogue
from library.errors import LibraryError


def save(catalogue: Catalogue, path: Path) -> None:
    """Write all books, in one step."""
    rows = [asdict(book) for _, book in sorted(catalogue.books.items())]
    new = path.with_name(path.name + ".new")
    new.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    new.replace(path)


def load(path: Path) -> Catalogue:
    """Read a catalogue; a missing file is an empty one. Raises LibraryError if it is damaged."""
    catalogue = Catalogue()
    if not path.exists():
        return catalogue
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise LibraryError(f"{path} is damaged: {error}") from error
    for row in rows:
        catalogue.add(Book(**row))
    return catalogue
