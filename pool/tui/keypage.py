"""The tables of keys as Markdown, for docs/interface.md; a test holds the page against them."""

from __future__ import annotations

from pool.tui.keys import APP_KEYS, PROMPT_KEYS, shown


def key_tables() -> str:
    """One row an action: its keys, its name in `[keys]`, what it does."""
    parts: list[str] = []
    for title, keys in (("In the prompt box", PROMPT_KEYS), ("Everywhere", APP_KEYS)):
        rows = [f"### {title}", "", "| keys | action | does |", "|---|---|---|"]
        rows += [f"| {', '.join(shown(x) for x in k.keys)} | `{k.id}` | {k.help} |" for k in keys]
        parts.append("\n".join(rows) + "\n")
    return "\n".join(parts)


if __name__ == "__main__":
    print(key_tables(), end="")
