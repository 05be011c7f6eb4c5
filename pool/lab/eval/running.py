"""Making the runs of an evaluation: a process for each, a line on disk after each."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import BinaryIO

from pool.lab.eval.job import Job
from pool.lab.eval.plan import Cell
from pool.lab.eval.row import Row, row_of
from pool.lab.eval.suites import SHIPPED
from pool.lab.eval.worker import ROW
from pool_tools.withparent import end_with_parent

RESULTS = "results.jsonl"
STATE, ERRORS = "state", "worker.log"
GRACE_SECONDS = 60.0
"""Beyond the limits of a run and of its verifier, before its process is ended."""

END_SECONDS = 5.0


def read_rows(folder: Path) -> list[Row]:
    """The rows of an evaluation's folder; a line that was cut by a crash is left out, the last of a key counts."""
    rows: dict[tuple[str, str, bool, int], Row] = {}
    with contextlib.suppress(FileNotFoundError):
        for line in (folder / RESULTS).read_text("utf-8", "replace").splitlines():
            with contextlib.suppress(ValueError, TypeError, KeyError):
                row = row_of(json.loads(line))
                rows[row.key] = row
    return list(rows.values())


class Running:
    """Works cells one after the other. tell gets a line for each run that begins or has ended."""

    def __init__(self, folder: Path, tell: Callable[[str], None], *, unconfined: bool = False) -> None:
        self._folder = folder
        self._tell = tell
        self._unconfined = unconfined

    async def work(self, cells: Sequence[Cell], done: Iterable[Row]) -> list[Row]:
        """Make the runs that are not done; all rows. What a run leaves is kept, whatever ends this."""
        rows = {row.key: row for row in done}
        for at, cell in enumerate(cells, 1):
            known = rows.get(cell.key)
            if known is not None and not known.error:
                continue
            level = "thinking" if cell.thinking else "no thinking"
            self._tell(f"[{at}/{len(cells)}] {cell.task.name} {cell.number}, {cell.arm.name}, {level} ...")
            row = await self._run(cell)
            self._append(row)
            rows[row.key] = row
            self._tell(f"      {_said(row)}")
        return list(rows.values())

    async def _run(self, cell: Cell) -> Row:
        level = "thinking" if cell.thinking else "plain"
        place = Path(cell.task.name) / f"{cell.arm.name.replace('/', '_')}-{level}-{cell.number}"
        folder = self._folder / place
        folder.mkdir(parents=True, exist_ok=True)
        # What an earlier attempt said is not what this one says.
        (folder / ROW).unlink(missing_ok=True)
        job = Job(
            str(cell.task.folder),
            cell.arm.name,
            cell.thinking,
            cell.number,
            str(folder),
            cell.arm.flags,
            cell.arm.profile,
            cell.arm.harness,
            self._unconfined,
            _unseen(cell),
        )
        env = {**os.environ, "XDG_STATE_HOME": str(self._folder / STATE)}
        with (folder / ERRORS).open("wb") as errors:
            process = await asyncio.create_subprocess_exec(
                # -P: a folder called pool, where this runs, is not taken for Pool.
                *(sys.executable, "-P", "-m", "pool.lab.eval.worker"),
                stdin=asyncio.subprocess.PIPE,
                stdout=errors,
                stderr=errors,
                env=env,
                start_new_session=True,
                preexec_fn=end_with_parent(),
            )
            limit = cell.task.limit_seconds + cell.task.judge_seconds + GRACE_SECONDS
            try:
                async with asyncio.timeout(limit):
                    await process.communicate(json.dumps(job.to_dict()).encode())
            except TimeoutError:
                return self._lost(cell, f"it did not end within {limit:.0f} s", place)
            finally:
                await _end(process)
        try:
            row = row_of(json.loads((folder / ROW).read_text("utf-8")))
        except (OSError, ValueError, TypeError):
            said = (folder / ERRORS).read_text("utf-8", "replace").strip().splitlines()[-1:]
            return self._lost(cell, f"its process failed (exit {process.returncode}): {' '.join(said)}", place)
        return row_of({**row.to_dict(), "folder": str(place)})

    @staticmethod
    def _lost(cell: Cell, why: str, place: Path) -> Row:
        return Row(cell.task.name, cell.arm.name, cell.thinking, cell.number, error=why, folder=str(place))

    def _append(self, row: Row) -> None:
        with (self._folder / RESULTS).open("a+b") as file:
            # A line that a full disk or a crash has cut must not take this one along.
            if file.tell() and not _ends_line(file):
                file.write(b"\n")
            file.write((json.dumps(row.to_dict(), ensure_ascii=False) + "\n").encode())
            file.flush()
            os.fsync(file.fileno())


def _ends_line(file: BinaryIO) -> bool:
    file.seek(-1, os.SEEK_END)
    return file.read(1) == b"\n"


def _unseen(cell: Cell) -> tuple[str, ...]:
    """Folders with hidden tests and solutions: all shipped ones, and a suite of the user's own. None is in another."""
    own = cell.task.folder.parent
    return (str(SHIPPED),) if own.is_relative_to(SHIPPED) else (str(SHIPPED), str(own))


async def _end(process: asyncio.subprocess.Process) -> None:
    """End a worker with all that it started."""
    if process.returncode is not None:
        return
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(process.wait()), END_SECONDS)
            return


def _said(row: Row) -> str:
    if row.error:
        return f"no result: {' '.join(row.error.split())[:70]}"
    held = "" if row.held_out is None else f", held-out {'pass' if row.held_out >= 1 else 'fail'}"
    solved = "solved" if row.solved else "not solved"
    return f"{solved}{held}; {row.reason}, {row.turns} turns, {row.seconds:.1f} s, audit {row.audit or 'none'}"
