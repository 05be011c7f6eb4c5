"""How a repository words its commits, and a plain subject by rule in that manner, for when no model writes one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import PurePosixPath

from pool.agent.gitwork.opening import RepoGit
from pool.agent.gitwork.proposal import CommitFile
from pool_tools.frozen import frozen

SUBJECTS = 20
"""So many of the last subjects are looked at."""

MOST_SUBJECT_CHARS = 72
USUAL_SHARE = 0.5
"""What at least this share of the subjects does is the repository's manner."""

NAMED_FILES = 2

_CONVENTIONAL = re.compile(r"(?P<type>[a-z]+)(?:\((?P<scope>[^()\s]+)\))?!?: \S")
_PROSE = (".md", ".rst", ".adoc")
_TESTS = re.compile(r"(?:^|/)(?:tests?|__tests__|spec)/|(?:^|/)test_[^/]*$|[._]test\.[^/]*$|[._]spec\.[^/]*$")
_CI = re.compile(r"^\.github/workflows/|^\.gitlab-ci|^\.ci/")


@frozen
class Style:
    """The manner of the last subjects, newest first. prefixed: they begin as in Conventional Commits, `fix(x): `.

    scoped: most of those name a scope. capital: what follows begins with a capital letter.
    """

    subjects: tuple[str, ...] = ()
    prefixed: bool = False
    scoped: bool = False
    capital: bool = True
    types: tuple[str, ...] = ()


def style_of(subjects: Sequence[str]) -> Style:
    """The manner of subjects."""
    if not subjects:
        return Style()
    found = [match for subject in subjects if (match := _CONVENTIONAL.match(subject))]
    prefixed = len(found) >= len(subjects) * USUAL_SHARE
    scoped = prefixed and sum(bool(match["scope"]) for match in found) >= len(found) * USUAL_SHARE
    bodies = [subject.partition(": ")[2] if prefixed else subject for subject in subjects]
    letters = [body[0] for body in bodies if body and body[0].isalpha()]
    capital = sum(not letter.islower() for letter in letters) >= len(letters) * USUAL_SHARE
    types = tuple(name for name, _ in Counter(match["type"] for match in found).most_common())
    return Style(tuple(subjects), prefixed, scoped, capital, types)


async def read_style(repo: RepoGit) -> Style:
    """The manner of the repository's last commits; the default one where there are none."""
    output = await repo.git.read("log", f"--max-count={SUBJECTS}", "--no-merges", "--format=%s")
    return style_of([line for line in output.text.split("\n") if line.strip()] if output.ok else [])


def plain_subject(files: Sequence[CommitFile], style: Style) -> str:
    """A subject that says which files a commit changes and how, in the repository's manner."""
    kinds = {file.kind for file in files}
    verb = {frozenset({"new"}): "Add", frozenset({"deleted"}): "Remove"}.get(frozenset(kinds), "Change")
    names = [PurePosixPath(file.path).name for file in files]
    shown = " and ".join(names[:NAMED_FILES]) if len(names) <= NAMED_FILES else f"{len(names)} files"
    folder = _folder(files)
    where = f" in {folder}" if len(names) > NAMED_FILES and folder else ""
    text = f"{verb} {shown}{where}"
    if not style.capital or style.prefixed:
        text = text if style.prefixed and style.capital else text[:1].lower() + text[1:]
    if style.prefixed:
        scope = f"({folder.rpartition('/')[2]})" if style.scoped and folder else ""
        text = f"{_type(files, kinds)}{scope}: {text}"
    return text if len(text) <= MOST_SUBJECT_CHARS else f"{text[: MOST_SUBJECT_CHARS - 1].rstrip()}…"


def _type(files: Sequence[CommitFile], kinds: set[str]) -> str:
    """The type of a Conventional Commit; whether a change of code mends or adds cannot be told by rule."""
    if all(_TESTS.search(file.path) for file in files):
        return "test"
    if all(_CI.search(file.path) for file in files):
        return "ci"
    if all(file.path.lower().endswith(_PROSE) for file in files):
        return "docs"
    return "feat" if kinds == {"new"} else "chore"


def _folder(files: Sequence[CommitFile]) -> str:
    """The folder that all files have in common, "" for the top."""
    folders = [PurePosixPath(file.path).parts[:-1] for file in files]
    shared: list[str] = []
    for parts in zip(*folders, strict=False):
        if len(set(parts)) > 1:
            break
        shared.append(parts[0])
    return "/".join(shared)
