"""A diff cut into parts that a model can read at once: whole files where they fit, else hunks of a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pool.agent.review.patch import Change, FilePatch, Hunk, numbered
from pool.wire.tokens import raw_tokens
from pool_tools.frozen import frozen
from pool_tools.text import printable, visible

PART_TOKENS = 12_000
"""A part has at most so many tokens: what a model reviews with care, and a local server reads in some seconds."""

WINDOW_SHARE = 0.3
"""Of the window a part takes at most this: the files that the model looks at and its thoughts need the rest."""

LEAST_PART_TOKENS = 500
LINE_CHARS = 500
"""Of a longer line so much is shown."""

LOCK_FILES = frozenset(
    {
        *("package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lockb", "bun.lock"),
        *("poetry.lock", "uv.lock", "pdm.lock", "Pipfile.lock", "Cargo.lock", "go.sum", "composer.lock"),
        *("Gemfile.lock", "flake.lock", "mix.lock", "pubspec.lock", "Podfile.lock", "packages.lock.json"),
    }
)
"""Files that programs write: nothing in them is to be reviewed line by line."""


@frozen
class Part:
    """What one run reviews: text is the diff with numbered lines, files are the names in it."""

    text: str
    files: tuple[str, ...]


@frozen
class LeftOut:
    """A file of the diff that no run gets, and why."""

    path: str
    why: str


def part_tokens(window: int) -> int:
    """Tokens that a part may have, for a context window in tokens, 0 for one that is not known."""
    return max(LEAST_PART_TOKENS, min(PART_TOKENS, int(window * WINDOW_SHARE))) if window else PART_TOKENS


def reviewable(files: Sequence[FilePatch]) -> tuple[list[FilePatch], list[LeftOut]]:
    """The files with lines that can be reviewed, and the others."""
    kept: list[FilePatch] = []
    out: list[LeftOut] = []
    for file in files:
        if file.path.rpartition("/")[2] in LOCK_FILES:
            out.append(LeftOut(file.path, "a lock file"))
        elif not file.hunks:
            out.append(LeftOut(file.path, file.note or "no lines changed"))
        else:
            kept.append(file)
    return kept, out


def parts_of(files: Sequence[FilePatch], most: int) -> list[Part]:
    """The files in parts of at most `most` tokens each, by their order. A single line may be larger than that."""
    parts: list[Part] = []
    texts: list[str] = []
    names: list[str] = []
    used = 0
    for file in files:
        for piece in _pieces(file, most):
            text = "\n".join(lines_of(piece))
            size = tokens_of(text)
            if texts and used + size > most:
                parts.append(_part(texts, names))
                texts, names, used = [], [], 0
            texts.append(text)
            names.append(file.path)
            used += size
    return [*parts, _part(texts, names)] if texts else parts


def tokens_of(text: str) -> int:
    """About how many tokens a text has."""
    return round(raw_tokens(text.encode("utf-8", "replace")))


def lines_of(file: FilePatch) -> Iterator[str]:
    """A file's changes for a model: each line with its number in the new file, lines that are gone without one."""
    renamed = f", before {visible(file.before)}" if file.before and file.before != file.path else ""
    yield f"File {visible(file.path)} ({file.change.value}{renamed})"
    for hunk in file.hunks:
        yield f"  at line {hunk.start}" if file.change is not Change.DELETED else "  removed"
        for line in hunk.lines:
            number = str(line.number or "").rjust(6)
            yield f"{number} {line.sign} {_shown(line.text)}".rstrip()


def _shown(text: str) -> str:
    text = printable(text)
    return text if len(text) <= LINE_CHARS else f"{text[:LINE_CHARS]} [{len(text) - LINE_CHARS:,} more characters]"


def _part(texts: Sequence[str], names: Sequence[str]) -> Part:
    return Part("\n\n".join(texts), tuple(dict.fromkeys(names)))


def _pieces(file: FilePatch, most: int) -> Iterator[FilePatch]:
    """A file whole if it fits, else some hunks at a time; hunks that are too large are cut between two lines."""
    if tokens_of("\n".join(lines_of(file))) <= most:
        yield file
        return
    held: list[Hunk] = []
    used = 0
    for hunk in (piece for one in file.hunks for piece in _cut(file, one, most)):
        size = tokens_of("\n".join(lines_of(replace(file, hunks=(hunk,)))))
        if held and used + size > most:
            yield replace(file, hunks=tuple(held))
            held, used = [], 0
        held.append(hunk)
        used += size
    if held:
        yield replace(file, hunks=tuple(held))


def _cut(file: FilePatch, hunk: Hunk, most: int) -> Iterator[Hunk]:
    if tokens_of("\n".join(lines_of(replace(file, hunks=(hunk,))))) <= most or len(hunk.lines) < 2:
        yield hunk
        return
    half = len(hunk.lines) // 2
    first, rest = hunk.lines[:half], hunk.lines[half:]
    start = hunk.start + sum(line.sign != "-" for line in first)
    for lines, at in ((first, hunk.start), (rest, start)):
        yield from _cut(file, numbered(((line.sign, line.text) for line in lines), at), most)
