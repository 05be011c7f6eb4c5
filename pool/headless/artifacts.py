"""`--artifacts DIR`: the files that a run leaves for whoever looks at it later."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pool import __version__
from pool.agent.digest import result_of, runs_of
from pool.events import Event, to_dict
from pool.jsonable import plain

if TYPE_CHECKING:
    from pool.agent.answerform import AnswerForm
    from pool.agent.factory import Session
    from pool.sessions.export.session import Read

ANSWER = "answer.md"
ANSWER_JSON = "answer.json"
DIFF = "changes.diff"
RESULT = "result.json"
STATS = "stats.json"
TRAJECTORY = "trajectory.json"
TRANSCRIPT = "transcript.md"


class Artifacts:
    """Takes every event of a run, and writes the files at its end."""

    def __init__(self, folder: Path, form: AnswerForm | None) -> None:
        self._folder = folder
        self._form = form
        self._rows: list[dict[str, Any]] = []

    def show(self, event: Event) -> None:
        """Keep a durable event."""
        if not event.body.transient:
            self._rows.append(plain(to_dict(event)))

    def write(self, session: Session) -> list[str]:
        """Write the files; what could not be written, a line each. Blocks while it reads and writes files."""
        failed: list[str] = []
        for name, make in self._files(session):
            try:
                text = make()
                _write(self._folder / name, text.encode("utf-8", "surrogateescape"))
            except (OSError, ValueError) as error:
                failed.append(f"{self._folder / name} was not written: {getattr(error, 'strerror', None) or error}")
        return failed

    def _files(self, session: Session) -> Iterator[tuple[str, Callable[[], str]]]:
        rows = runs_of(self._rows)
        result = result_of(rows[-1] if rows else [], form=self._form)
        if self._form is None:
            yield ANSWER, lambda: f"{result.answer}\n" if result.answer else ""
        else:
            yield ANSWER_JSON, lambda: _json(result.output) if result.exit_code == 0 else ""
        yield RESULT, lambda: _json(result.to_dict())
        yield STATS, lambda: _stats(rows[-1] if rows else [])
        if not session.settings.ephemeral:
            yield DIFF, lambda: _diff(session, result.run)
        read = self._read(session)
        yield TRAJECTORY, lambda: _exported(read, "atif")
        yield TRANSCRIPT, lambda: _exported(read, "md")

    def _read(self, session: Session) -> Read:
        """The session as an export reads it: from its log, or from what was seen where no log is kept."""
        from pool.sessions.export.own import own_redactor
        from pool.sessions.export.session import read_rows_of, read_session
        from pool.sessions.store import SUFFIX, sessions_folder

        workspace = str(session.settings.workspace)
        redactor = own_redactor(os.environ, workspace)
        path = sessions_folder() / f"{session.hub.session}{SUFFIX}"
        if not session.settings.ephemeral and path.is_file():
            return read_session(path, redactor)
        head = {"type": "session", "v": 1, "id": session.hub.session, "workspace": workspace}
        return read_rows_of([{**head, "created": time.time(), "pool": __version__}, *self._rows], 0, redactor)


def _exported(read: Read, form: str) -> str:
    from pool.sessions.export.session import Format, exported

    return exported(read, Format(form))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


def _stats(rows: list[dict[str, Any]]) -> str:
    """What `pool stats --json` says, of this run alone."""
    from pool.sessions.figures import Figures, figures_of

    figures = Figures()
    for one in figures_of(rows).values():
        figures.add(one)
    return _json(asdict(figures))


def _diff(session: Session, run: str) -> str:
    from pool.sessions.checkpoints.changes import ChangesView
    from pool.sessions.checkpoints.checkpoints import checkpoints_folder
    from pool.sessions.checkpoints.difftext import diff_lines
    from pool.sessions.store import sessions_folder

    folder = checkpoints_folder(sessions_folder(), session.hub.session)
    with ChangesView(folder, session.settings.workspace) as view:
        return "".join(f"{line}\n" for change in view.of_runs({run}) for line in diff_lines(change))


def _write(path: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_bytes(data)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
