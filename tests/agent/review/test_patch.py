"""Reading diffs: those of git and of diff, real and broken ones."""

from __future__ import annotations

import difflib
import subprocess
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from pool.agent.review.patch import Change, FilePatch, read_patch

LINES = st.lists(
    st.sampled_from(["a", "b", "", "--- x", "+++ y", "@@ -1 +1 @@", "diff --git a/x b/x", "\\"]), max_size=12
)


@given(LINES, LINES)
def test_lines_have_the_numbers_and_the_texts_of_the_new_file(old: list[str], new: list[str]) -> None:
    diff = list(difflib.unified_diff(old, new, "a/f", "b/f", lineterm=""))
    files = read_patch("\n".join(["mail before it", *diff, "-- ", "2.40.1"]))
    if old == new:
        assert files == []
        return
    (file,) = files
    assert (file.path, file.change) == ("f", Change.MODIFIED)
    shown = [line for hunk in file.hunks for line in hunk.lines]
    assert all(new[line.number - 1] == line.text for line in shown if line.sign != "-")
    assert file.counts == tuple(sum(d.startswith(s) for d in diff[2:]) for s in "+-")


@given(
    st.text(max_size=300),
    st.lists(st.sampled_from(["diff --git a/x b/x", "--- a/x", "+++ b/x", "@@ -1,3 +1,9 @@", '"']), max_size=8),
)
def test_no_text_is_refused(text: str, lines: list[str]) -> None:
    for hunk in (hunk for file in read_patch("\n".join([*lines, text])) for hunk in file.hunks):
        assert all(line.number == 0 for line in hunk.lines if line.sign == "-")


def test_git_says_what_became_of_files(tmp_path: Path) -> None:
    """Names with blanks, quotes, line ends and other scripts; new, gone, renamed, binary and empty files."""

    def git(*args: str) -> str:
        done = subprocess.run(["git", *args], cwd=tmp_path, check=True, capture_output=True)
        return done.stdout.decode("utf-8", "surrogateescape")

    odd = 'a "b"\n ü.txt'
    git("init", "-q")
    for name, data in (("gone.py", b"x\n"), (odd, b"1\n2\n"), ("before name", b"s\n" * 9), ("bin", b"\0\1")):
        (tmp_path / name).write_bytes(data)
    git("add", ".")
    git("-c", "user.name=T", "-c", "user.email=t@example.org", "commit", "-qm", "x")
    (tmp_path / "gone.py").unlink()
    (tmp_path / odd).write_bytes(b"1\r\n2\nthree")
    (tmp_path / "before name").rename(tmp_path / "after name")
    (tmp_path / "bin").write_bytes(b"\0\2")
    (tmp_path / "empty").touch()
    git("add", "-A")
    files = {file.path: file for file in read_patch(git("diff", "--cached", "-M"))}
    assert {name: file.change.value for name, file in files.items()} == {
        "gone.py": "deleted",
        odd: "modified",
        "after name": "renamed",
        "bin": "modified",
        "empty": "added",
    }
    assert (files["after name"].before, files["after name"].note) == ("before name", "only renamed")
    assert files["bin"].note == "binary"
    assert [(line.sign, line.text, line.number) for line in files[odd].hunks[0].lines] == [
        ("-", "1", 0),
        ("+", "1", 1),
        (" ", "2", 2),
        ("+", "three", 3),
    ]


def test_a_combined_diff_is_said_to_be_none() -> None:
    text = "diff --cc f\nindex 1,2..3\n--- a/f\n+++ b/f\n@@@ -1,2 -1,2 +1,3 @@@\n  a\n++b\n"
    assert read_patch(text) == [
        FilePatch("f", Change.MODIFIED, note="a merge's combined diff, which has no lines of one file")
    ]
