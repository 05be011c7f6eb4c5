"""A skill's file: the format of agentskills.io, and every way to miss it."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pool.extend.frontmatter import FrontMatterError, parted
from pool.extend.skills.bundled import NAMES, bundled_skills, docs_folder
from pool.extend.skills.skill import SkillError, read_skill

FULL = """\
---
name: pdf-tables
description: |
  Takes tables out of PDF files.
  Use it for reports.
license: Apache-2.0
compatibility: Needs poppler.
allowed-tools: Bash(git:*) Read
metadata:
  author: somebody
  version: 1.0
color: blue
---

Use pdftotext.
"""


def skill_in(base: Path, text: str, name: str = "pdf-tables") -> Path:
    folder = base / name
    folder.mkdir()
    (folder / "SKILL.md").write_text(text)
    return folder


def test_a_whole_skill(tmp_path: Path) -> None:
    skill = read_skill(skill_in(tmp_path, FULL), "here")
    assert (skill.name, skill.body, skill.license) == ("pdf-tables", "Use pdftotext.", "Apache-2.0")
    assert skill.line == "Takes tables out of PDF files. Use it for reports."
    assert skill.compatibility == "Needs poppler."
    assert skill.allowed_tools == "Bash(git:*) Read"
    assert dict(skill.metadata) == {"author": "somebody", "version": "1.0"}
    assert skill.unknown == ("color",)


def front(lines: str, body: str = "Do it.") -> str:
    return f"---\n{lines}\n---\n{body}\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("# No front matter", "has no front matter"),
        ("---\nname: pdf-tables\n", "has no end"),
        (front("name: pdf-tables\ndescription: a: b"), "SKILL.md:3: this is no YAML: mapping values are not allowed"),
        (front("name: pdf-tables\ndescription: a: b"), "put the value in quotes"),
        (front("- name\n- description"), "lines of `name: value`"),
        (front("name: &a pdf-tables\ndescription: *a"), "anchors"),
        (front("name: " + "[" * 15_000), "no YAML"),
        (front("x: " + "y" * 20_000), "longer than"),
        (front("description: d"), "name: is missing"),
        (front("name: 42\ndescription: d"), "name: has to be text"),
        (front("name: other\ndescription: d"), "they have to be the same"),
        (front("name: PDF-Tables\ndescription: d"), "a to z"),
        (front("name: pdf--tables\ndescription: d"), "single hyphens"),
        (front("name: ../x\ndescription: d"), "a to z"),
        (front(f"name: {'a' * 65}\ndescription: d"), "has 65 characters; 64 are allowed"),
        (front("name: pdf-tables"), "description: is missing"),
        (front("name: pdf-tables\ndescription: ' '"), "description: is missing"),
        (front(f"name: pdf-tables\ndescription: {'d' * 1025}"), "1,025 characters; 1,024 are allowed"),
        (front('name: pdf-tables\ndescription: "a\\e[31mb"'), "description: holds control characters"),
        (front('name: pdf-tables\ndescription: "a\\u202eb"'), "description: holds control characters"),
        (front(f"name: pdf-tables\ndescription: d\ncompatibility: {'c' * 501}"), "500 are allowed"),
        (front("name: pdf-tables\ndescription: d\nmetadata: {tags: [a]}"), "metadata: has to be a table of texts"),
        (front("name: pdf-tables\ndescription: d\nallowed-tools: 7"), "allowed-tools: has to be text"),
        (front("name: pdf-tables\ndescription: d", ""), "no instructions"),
        (front("name: pdf-tables\ndescription: d", "a\x1b]0;title\x07b"), "instructions hold control characters"),
        (front("name: pdf-tables\ndescription: d", "a" * 140_000), "larger than"),
        ("\0", "it is no text"),
    ],
)
def test_what_is_wrong_is_said(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(SkillError) as failed:
        read_skill(skill_in(tmp_path, text), "here")
    assert says in str(failed.value)
    assert "\x1b" not in str(failed.value)


def test_all_faults_come_at_once(tmp_path: Path) -> None:
    with pytest.raises(SkillError) as failed:
        read_skill(skill_in(tmp_path, front("name: No Name\nlicense: 3", "")), "here")
    assert len(failed.value.faults) == 5


def test_a_file_under_another_name_or_none(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "skill.md").touch()
    with pytest.raises(SkillError, match=r"there is no SKILL.md; rename skill.md"):
        read_skill(tmp_path / "a", "here")


@given(st.text(alphabet=st.sampled_from("-a: \n\t[]{}&*!|>'\"#%@`,?\x00\x1b\ud800"), max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    for by_lines in (False, True):
        with contextlib.suppress(FrontMatterError):
            found = parted(f"---\n{text}\n---\nbody", by_lines=by_lines)
            assert all(isinstance(name, str) for name in found.values)


def test_the_bundled_ones_hold_to_the_format() -> None:
    bundled = {skill.name: skill for skill in bundled_skills()}
    assert tuple(bundled) == NAMES
    for skill in bundled.values():
        read = read_skill(skill.folder, skill.place)
        assert (read.name, read.description, read.body, read.license) == (
            *(skill.name, skill.description, skill.body),
            skill.license,
        )
    named = [word.strip("`,.") for word in bundled["pool-docs"].body.split() if word.strip("`,.").endswith(".md")]
    assert len(named) > 8
    assert [name for name in named if not (docs_folder() / name).is_file()] == []
