"""Messages: the repository's manner, plain ones by rule, and what a model's reply is cleaned of."""

from __future__ import annotations

from pathlib import Path

import pytest

from pool.agent.gitwork.message import cleaned, diff_text
from pool.agent.gitwork.proposal import CommitFile, propose
from pool.agent.gitwork.style import plain_subject, style_of

from .conftest import Work, change_line, opened


def file(path: str, before: bytes = b"a\n", after: bytes = b"b\n") -> CommitFile:
    mode = ("100644" if before else "", "100644" if after else "")
    return CommitFile(path, before, after, *mode, ())


def test_the_manner_is_what_most_subjects_do() -> None:
    conventional = style_of(["fix(api): mend it", "feat(ui): show it", "Merge stuff", "docs: say it"])
    assert conventional.prefixed
    assert conventional.scoped
    assert not conventional.capital
    plain = style_of(["Mend it", "Show it: the whole", "say it"])
    assert not plain.prefixed
    assert plain.capital
    assert style_of([]).capital


@pytest.mark.parametrize(
    ("files", "subjects", "subject"),
    [
        ([file("src/a.py")], ["Mend it"], "Change a.py"),
        ([file("src/a.py")], ["mend it"], "change a.py"),
        ([file("a.py", before=b"")], ["Mend it"], "Add a.py"),
        ([file("a.py", after=b""), file("b.py", after=b"")], ["Mend it"], "Remove a.py and b.py"),
        ([file(f"src/x/{n}.py") for n in range(3)], ["Mend it"], "Change 3 files in src/x"),
        ([file("tests/test_a.py")], ["fix: mend it"], "test: change test_a.py"),
        ([file("docs/a.md"), file("README.md")], ["fix: mend it"], "docs: change a.md and README.md"),
        ([file("src/api/a.py", before=b"")], ["fix(ui): mend it"], "feat(api): add a.py"),
        ([file("src/" + "x" * 90)], ["Mend it"], "Change " + "x" * 64 + "…"),
    ],
)
def test_subjects_by_rule(files: list[CommitFile], subjects: list[str], subject: str) -> None:
    assert plain_subject(files, style_of(subjects)) == subject


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ("Mend the total", "Mend the total"),
        ("```\nMend the total\n\nIt was off by one.\n```", "Mend the total\n\nIt was off by one."),
        ('Commit message: "fix: mend it"', "fix: mend it"),
        ("Mend it\n\nWhy.\n\nCo-authored-by: Somebody <x@y.z>", "Mend it\n\nWhy."),
        ("Mend\x1b[31m it", "Mend\\x1b[31m it"),
        ("<tool_call>shell", ""),
        ("   \n", ""),
        ("x" * 121, ""),
    ],
)
def test_what_a_model_says_is_cleaned(reply: str, message: str) -> None:
    assert cleaned(reply) == message


async def test_the_diff_holds_what_is_chosen_and_is_bounded(repo: Path) -> None:
    work = Work(repo)
    work.agent(lambda: change_line(repo / "a.txt", 2, "taken"))
    work.agent(lambda: change_line(repo / "a.txt", 9, "left"))
    work.agent(lambda: (repo / "long.txt").write_text("x" * 79 + "\n" + "y\n" * 5000))
    with work.view() as view:
        async with opened(repo) as here:
            proposal = await propose(here, view)
    text = "\n".join(diff_text(proposal, {1, 3}))
    assert "+taken" in text
    assert "+left" not in text
    assert "more characters of this file" in text
    assert len(text) < 5_000
