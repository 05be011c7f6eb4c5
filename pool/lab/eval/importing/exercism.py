"""Exercises of Exercism's tracks, and Aider's polyglot benchmark, which has them in the same form, by languages.

An exercise is a folder with `.meta/config.json`, which names its files (`solution`, `test`, `example`, `editor`), and
with `.docs/` (https://exercism.org/docs/building/tracks/practice-exercises). The agent gets neither tests nor example.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from pool.lab.eval.importing.judging import TOOLS, copying, judge
from pool.lab.eval.importing.layout import Blob, Imported, ImportedTask, ImportProblem, files_below

DOCS = ("introduction.md", "instructions.md", "instructions.append.md")
_ENDINGS = {"py": "python", "go": "go", "rs": "rust", "js": "javascript", "java": "java", "cpp": "cpp"}
_SKIPPED = {
    "javascript": (re.compile(rb"\bx(test|it|describe)\b"), rb"\1"),
    "java": (re.compile(rb"^\s*@(?:Disabled|Ignore)\b.*\n", re.MULTILINE), b""),
}
"""How tests are marked that a learner is to switch on one after the other."""


def read(source: Path, languages: Collection[str]) -> Imported:
    """The exercises below a folder: a track, several (polyglot), or one exercise; languages: only these, if any."""
    found = list(_exercises(source))
    if not found:
        raise ImportProblem(f"{source} has no exercise: no folder below it has .meta/config.json and .docs")
    tasks: list[ImportedTask] = []
    left: list[tuple[str, str]] = []
    for folder in found:
        try:
            task = _task(folder, source)
        except ImportProblem as problem:
            left.append((str(folder.relative_to(source)), str(problem)))
            continue
        if not languages or task.tags[0] in languages:
            tasks.append(task)
    return Imported(tasks, left)


def _exercises(source: Path) -> Iterator[Path]:
    if (source / ".meta" / "config.json").is_file():
        yield source
        return
    for config in sorted(source.rglob(".meta/config.json")):
        folder = config.parent.parent
        if (folder / ".docs").is_dir() and "concept" not in folder.relative_to(source).parts:
            yield folder


def _task(folder: Path, source: Path) -> ImportedTask:
    named = _named(folder)
    files = files_below(folder, skip=(".meta", ".docs", ".approaches", ".articles"))
    language = _language(named)
    tool = TOOLS[language]
    hidden = [name for name in (*named["test"], *named["editor"]) if name in files]
    if not hidden:
        raise ImportProblem("its tests are not there")
    tests = {f"files/{name}": _all_tests(files[name], language) for name in hidden}
    app = {name: blob for name, blob in files.items() if name not in hidden}
    slug = folder.name
    arguments = [name for name in named["test"] if name in files] if language == "python" else []
    task_files = {"test.sh": judge(tool, slug, arguments=arguments), **tests}
    stubs = ", ".join(f"`{name}`" for name in named["solution"])
    words = f"Write your solution in {stubs}. It is judged by tests that you do not see; keep the names that are there."
    single = folder == source
    return ImportedTask(
        slug if single else f"{language}-{slug}",
        f"{_docs(folder)}\n\n{words}",
        (f"FROM {tool.image}", "WORKDIR /app", "COPY app/ /app/", *tool.prepare),
        task_files,
        app=app,
        solution=_solution(folder, named),
        tags=(language, "exercism"),
        source="" if single else folder.relative_to(source).as_posix(),
    )


def _named(folder: Path) -> dict[str, list[str]]:
    """The files that an exercise's configuration names, by what they are."""
    try:
        config: Any = json.loads((folder / ".meta" / "config.json").read_bytes())
        files = cast("Mapping[str, Any]", config["files"])
        named = {kind: _texts(files.get(kind)) for kind in ("solution", "test", "example", "editor")}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ImportProblem(f".meta/config.json cannot be read: {error!r}") from None
    if not named["solution"] or not named["test"]:
        raise ImportProblem(".meta/config.json names no solution or no test")
    return named


def _texts(value: Any) -> list[str]:
    """Names of files; none where the configuration has none."""
    return [str(name) for name in cast("list[Any]", value or [])]


def _language(named: Mapping[str, list[str]]) -> str:
    for name in (*named["test"], *named["solution"]):
        if language := _ENDINGS.get(name.rpartition(".")[2]):
            return language
    raise ImportProblem(f"its language is none of {', '.join(TOOLS)}")


def _docs(folder: Path) -> str:
    parts = [(folder / ".docs" / name) for name in DOCS]
    return "\n\n".join(part.read_text("utf-8", "replace").strip() for part in parts if part.is_file())


def _all_tests(blob: Blob, language: str) -> Blob:
    """A file of tests with all of them switched on."""
    if language not in _SKIPPED:
        return blob
    pattern, instead = _SKIPPED[language]
    return Blob(pattern.sub(instead, blob.data), blob.executable)


def _solution(folder: Path, named: Mapping[str, list[str]]) -> dict[str, Blob]:
    """The example, put in the place of the solution's files; {} where it does not fit, or needs other crates."""
    if (folder / ".meta" / "Cargo-example.toml").exists():
        return {}
    examples = [name for name in named["example"] if (folder / name).is_file()]
    pairs: dict[str, str] = {}
    for name in examples:
        ending = name.rpartition(".")[2]
        same = [one for one in named["solution"] if one.rpartition("/")[2] == name.rpartition("/")[2]]
        fitting = same or [one for one in named["solution"] if one.rpartition(".")[2] == ending]
        if not fitting:
            continue
        pairs[f"files/{fitting[0]}"] = fitting[0]
    if not pairs or len(pairs) != len(examples):
        return {}
    copies = dict(zip(pairs, examples, strict=True))
    return copying(pairs, {target: Blob((folder / source).read_bytes()) for target, source in copies.items()})
