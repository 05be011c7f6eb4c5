"""A custom command: a Markdown file whose text becomes the prompt, with what was typed after its name put in."""

from __future__ import annotations

import re
from pathlib import Path

from pool.extend.frontmatter import FrontMatterError, parted
from pool.extend.plainfiles import FileFault, has_controls, read_within, shown
from pool_tools.frozen import frozen

ENDING = ".md"
MOST_FILE_BYTES = 64 * 1024
MOST_NAME = 64
MOST_DESCRIPTION = 300
MOST_HINT = 60

NAME = re.compile(r"[a-z][a-z0-9_-]*")
_FIELDS = {"description": MOST_DESCRIPTION, "argument-hint": MOST_HINT}
_PLACEHOLDER = re.compile(r"\$(?:(ARGUMENTS)\b|([1-9])(?!\d))")


class CommandFault(Exception):
    """A file that is no command. The message says why."""


@frozen
class CustomCommand:
    """A command. place is how people are told of its file; hint shows its arguments; digest is for trust, else ""."""

    name: str
    description: str
    hint: str
    body: str
    place: str
    checkout: bool = False
    digest: str = ""

    def prompt(self, typed: str) -> str:
        """The prompt for what was typed after the name.

        `$ARGUMENTS` is all of it, `$1` to `$9` its words, quotes as in a shell. A text without any of them gets it at
        its end. What was typed is put in once: a `$1` in it stays as it is.
        """
        words = _words(typed)
        used = False

        def put(found: re.Match[str]) -> str:
            nonlocal used
            used = True
            if found[1]:
                return typed
            number = int(found[2]) - 1
            return words[number] if number < len(words) else ""

        text = _PLACEHOLDER.sub(put, self.body)
        return text if used or not typed else f"{text}\n\n{typed}"


def read_command(folder: Path, file: str, place: str) -> CustomCommand:
    """Read a file of a folder of commands. Raises `CommandFault`."""
    name = file.removesuffix(ENDING)
    if not NAME.fullmatch(name) or len(name) > MOST_NAME:
        raise CommandFault(
            f"a command's name is a-z, then a-z, 0-9, - and _, at most {MOST_NAME} characters; rename the file"
        )
    try:
        both = parted(read_within(folder, file, MOST_FILE_BYTES), by_lines=True)
    except FrontMatterError as error:
        raise CommandFault(f"line {error.line}: {error}" if error.line else str(error)) from None
    except FileFault as fault:
        raise CommandFault(str(fault)) from None
    except OSError as error:
        raise CommandFault(f"it cannot be read: {error.strerror or error}") from None
    if not both.body:
        raise CommandFault("it has no text that could be a prompt")
    if has_controls(both.body.replace("\n", " ").replace("\t", " ")):
        raise CommandFault("its text holds control characters")
    texts: dict[str, str] = {}
    for field, most in _FIELDS.items():
        text = " ".join(str(both.values.get(field, "")).split())
        if len(text) > most or has_controls(text):
            raise CommandFault(f"{field}: is one line of at most {most} characters")
        texts[field] = text
    return CustomCommand(name, texts["description"] or _first(both.body), texts["argument-hint"], both.body, place)


def _first(body: str) -> str:
    """The first line of a text, as a description."""
    line = next(line.strip("# \t") for line in body.splitlines() if line.strip())
    return shown(line)[:MOST_HINT]


def _words(typed: str) -> list[str]:
    import shlex  # 3 ms of a start, and few have commands

    try:
        return shlex.split(typed)
    except ValueError:
        # A quote without its partner is an apostrophe.
        return typed.split()
