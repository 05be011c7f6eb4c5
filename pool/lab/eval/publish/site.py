"""Writing a publication: an index, and for each run its trajectory as ATIF and as a page, its answer, diff and audit.

Everything is files that name each other by relative links; nothing is loaded from anywhere. What a model or a task said
is cleaned of the user's secrets and names, escaped in pages, and never published in a form that a browser would run.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from pool.lab.eval.publish.cleaning import cleaned, learn
from pool.lab.eval.publish.index import RunFiles, index_page
from pool.lab.eval.publish.publication import Publication, PublishedRun
from pool.messages import valid_text
from pool.sessions.export.incoming import ImportProblem
from pool.sessions.export.kept import incoming
from pool.sessions.export.own import own_redactor
from pool.sessions.export.redact import Found, Redactor
from pool.sessions.export.session import read_rows_of

MARK = "publication.json"
"""Lies in every publication: what it holds, for programs. A folder with it may be written anew."""

MOST_PICTURE_BYTES = 8 * 1024 * 1024
MOST_PICTURES = 20
_PNG = b"\x89PNG\r\n\x1a\n"
_UNSAFE = re.compile(r"[^a-z0-9]+")
SLUG_CHARS = 60
DIGEST_CHARS = 6

Row = dict[str, Any]


class PublishProblem(Exception):
    """A publication cannot be written there. The message says why, and what to do."""


def publish(publication: Publication, into: Path, env: Mapping[str, str] | None = None) -> list[str]:
    """Write a publication into a folder that is empty, new, or held one before; what a person should know of it.

    env holds the user's keys, which are taken out. Raises `PublishProblem` and `OSError`. Blocks.
    """
    _make_room(into)
    variables = dict(os.environ if env is None else env)
    whole, notes, shown = Found(), list[str](), list[RunFiles]()
    for number, run in enumerate(publication.runs, 1):
        redactor = own_redactor(variables, str(into))
        shown.append(_Run(run, into, _slug(run, number), redactor, notes).write())
        whole.secrets.update(redactor.found.secrets)
        whole.names += redactor.found.names
    redactor = own_redactor(variables, str(into))
    copied = _copied(publication, into, redactor)
    row = _row(publication, shown)
    learn(row, redactor)
    row = cleaned(row, redactor)
    row["files"] = copied
    for one, run in zip(row["runs"], shown, strict=True):
        one["files"] = dict(run.files)
    whole.secrets.update(redactor.found.secrets)
    whole.names += redactor.found.names
    row["redaction"] = whole.as_json()
    _write(into / MARK, json.dumps(row, ensure_ascii=False, indent=1) + "\n")
    _write(into / "index.html", index_page(row, whole.sentence()))
    return [f"published {len(shown)} runs in {into}", whole.sentence(), *notes]


class _Run:
    """One run's files."""

    def __init__(self, run: PublishedRun, into: Path, slug: str, redactor: Redactor, notes: list[str]) -> None:
        self._run, self._redactor, self._notes = run, redactor, notes
        self._folder, self._lead = into / "runs" / slug, f"runs/{slug}"
        self._files: dict[str, str] = {}

    def write(self) -> RunFiles:
        self._folder.mkdir(parents=True)
        run, trajectory = self._run, self._read()
        for value in (trajectory, run.answer, run.diff, dict(run.audit or {}), dict(run.figures)):
            learn(value, self._redactor)
        if trajectory is not None:
            self._write_trajectory(trajectory)
        for name, text in (("answer.txt", run.answer), ("changes.diff", run.diff)):
            if text:
                self._add(name.partition(".")[0], name, self._redactor.clean(text))
        if run.audit is not None:
            audit = cleaned(dict(run.audit), self._redactor)
            self._add("audit", "audit.json", json.dumps(audit, ensure_ascii=False, indent=1) + "\n")
        self._copy_pictures()
        return RunFiles(run, self._files)

    def _read(self) -> Any:
        path = self._run.trajectory
        if path is None:
            return None
        try:
            return json.loads(path.read_bytes())
        except (OSError, ValueError, RecursionError) as error:
            self._note(f"its trajectory cannot be read: {error}")
            return None

    def _write_trajectory(self, trajectory: Any) -> None:
        value: Any = cleaned(trajectory, self._redactor)
        found = self._redactor.found
        if isinstance(value, dict):
            # What was taken out is said in the file itself, where ATIF has room for it.
            root = cast("Row", value)
            root["extra"] = {**(root.get("extra") or {}), "publication": {"redaction": found.as_json()}}
        text = valid_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n")
        self._add("atif", "trajectory.json", text)
        try:
            one = incoming(text.encode(), 0.0)[0]
            head = {
                "type": "session",
                "v": 1,
                "id": f"{self._run.task}, {self._run.arm}",
                "workspace": "",
                "created": 0,
            }
            self._add("page", "index.html", _page([head, *one.rows], found))
        except ImportProblem as problem:
            self._note(f"its trajectory has no page, since it is not whole ATIF: {problem}")

    def _copy_pictures(self) -> None:
        for number, picture in enumerate(self._run.pictures[:MOST_PICTURES], 1):
            try:
                data = picture.read_bytes()[: MOST_PICTURE_BYTES + 1]
            except OSError as error:
                self._note(f"the picture {picture.name} cannot be read: {error.strerror}")
                continue
            if not data.startswith(_PNG) or len(data) > MOST_PICTURE_BYTES:
                self._note(f"the picture {picture.name} is left out: no PNG, or too large")
                continue
            name = f"picture-{number}.png"
            (self._folder / name).write_bytes(data)
            self._files[f"picture {number}"] = f"{self._lead}/{name}"

    def _add(self, what: str, name: str, text: str) -> None:
        _write(self._folder / name, text)
        self._files[what] = f"{self._lead}/{name}"

    def _note(self, text: str) -> None:
        self._notes.append(f"{self._run.task}, {self._run.arm}, run {self._run.number}: {text}")


def _page(rows: list[Row], found: Found) -> str:
    from pool.sessions.export.page import Page

    read = read_rows_of(rows, 0, None)
    return Page(read.transcript, found, whole=True).html()


def _make_room(into: Path) -> None:
    if into.exists() and not into.is_dir():
        raise PublishProblem(f"{into} is no folder; name a new one, or an empty one")
    if into.is_dir() and any(into.iterdir()):
        if not (into / MARK).is_file():
            raise PublishProblem(f"{into} holds other files; name a new folder, or one that was published before")
        shutil.rmtree(into / "runs", ignore_errors=True)
    into.mkdir(parents=True, exist_ok=True)


def _slug(run: PublishedRun, number: int) -> str:
    """A folder's name for a run: plain letters, and never the same for two runs."""
    name = f"{run.task}-{run.arm}-{run.number}"
    plain = _UNSAFE.sub("-", name.lower()).strip("-")[:SLUG_CHARS]
    digest = hashlib.sha256(f"{name}\0{number}".encode("utf-8", "replace")).hexdigest()[:DIGEST_CHARS]
    return f"{plain}-{digest}".lstrip("-")


def _copied(publication: Publication, into: Path, redactor: Redactor) -> dict[str, str]:
    """The evaluation's own page and figures, clean."""
    names: dict[str, str] = {}
    for what, path, name in (
        ("report", publication.report, "report.html"),
        ("results", publication.results, f"results{publication.results.suffix if publication.results else ''}"),
    ):
        if path is not None:
            text = path.read_text(encoding="utf-8", errors="replace")
            redactor.learn(text)
            _write(into / name, redactor.clean(text))
            names[what] = name
    return names


def _row(publication: Publication, shown: list[RunFiles]) -> Row:
    """The publication as JSON, but for the names of its files."""
    return {
        "type": "publication",
        "v": 1,
        "title": publication.title,
        "suite": publication.suite,
        "started": publication.started,
        "pool": publication.pool,
        "arms": {name: dict(known) for name, known in publication.arms.items()},
        "runs": [one.row() for one in shown],
    }


def _write(path: Path, text: str) -> None:
    path.write_text(valid_text(text), encoding="utf-8")
