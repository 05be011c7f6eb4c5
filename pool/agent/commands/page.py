"""The table of commands as Markdown, for docs/commands.md; a test holds the page against it."""

from __future__ import annotations

from pool.agent.commands.table import COMMANDS


def command_table() -> str:
    """One row a command: how it is typed, what it does, its other names."""
    rows = ["| command | does | also | waits for the run |", "|---|---|---|---|"]
    for command in COMMANDS:
        typed = f"/{command.name} {command.hint}".rstrip().replace("|", "\\|")
        also = ", ".join(f"`/{alias}`" for alias in command.aliases)
        rows.append(f"| `{typed}` | {command.help} | {also} | {'yes' if command.needs_idle else ''} |")
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    print(command_table(), end="")
