"""`pool config schema` and `pool config reference`: the keys for editors and for people."""

from __future__ import annotations

import json
from pathlib import Path

from pool.config.describe import reference, schema
from pool.config.settings import SettingsError

BEGIN = "<!-- keys: begin -->\n"
END = "<!-- keys: end -->\n"


def show_schema() -> int:
    """Print the JSON Schema."""
    print(json.dumps(schema(), indent=2, ensure_ascii=False))
    return 0


def show_reference(into: str | None) -> int:
    """Print the keys as Markdown, or put them between the marks of a file. Raises `SettingsError`, OSError."""
    if not into:
        print(reference(), end="")
        return 0
    path = Path(into)
    path.write_text(placed(path.read_text(encoding="utf-8"), str(path)), encoding="utf-8")
    return 0


def placed(text: str, name: str) -> str:
    """A text with the reference between its marks. Raises `SettingsError` for a text without them."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SettingsError(f"{name} has no lines {BEGIN.strip()} and {END.strip()}, between which the keys would go")
    return f"{before}{BEGIN}\n{reference()}\n{END}{after}"
