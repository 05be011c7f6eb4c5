"""`pool run --detach` and `--on-hangup detach`: the run begins in a process of its own, which the terminal cannot take.

The process is forked before any event loop runs: its settings, prompt and worktree are those that the command line has
led to. It has a session of its own, no terminal, and takes no notice of SIGHUP. Whoever started it waits until the
run can be attached to, so that a server which is not there is told at once, with its exit code.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import traceback
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, cast

from pool.config.settings import Settings, SettingsError
from pool.facekit.live.place import LOG, LiveRecord, PlaceError, live_folder, log_of, socket_of
from pool.headless.gitwishes import GitWishes
from pool.headless.live import LiveOptions
from pool.headless.live.working import work
from pool.headless.output import JsonOutput, Output, Progress
from pool.headless.plain import safe
from pool.stops import STOP_TABLE, StopReason
from pool.wire.errors import ServerProblem

DETACHED_TYPE, DETACHED_VERSION = "run.detached", 1
_LOG_MODE = 0o600


class NotStarted(Exception):
    """The run did not begin: the stop reason, what is said of it, and what to do."""

    def __init__(self, reason: StopReason, detail: str, remedy: str = "") -> None:
        super().__init__(detail)
        self.reason, self.detail, self.remedy = reason, detail, remedy


def run_detached(settings: Settings, prompt: str, wishes: GitWishes, options: LiveOptions, output: str) -> int:
    """`--detach`: start the run, say its id, and leave; the exit code. Raises `NotStarted`."""
    record = start(settings, prompt, wishes, options)
    if output == "text":
        print(record.session)
    else:
        place = {"pid": record.pid, "workspace": record.workspace, "socket": str(socket_of(record))}
        row = {"type": DETACHED_TYPE, "v": DETACHED_VERSION, "session": record.session, **place}
        print(json.dumps(row, ensure_ascii=True, separators=(",", ":")))
    if sys.stderr.isatty():
        sys.stderr.write(f"pool attach {record.session[-8:]} shows it, pool stop {record.session[-8:]} ends it\n")
    return 0


def run_followed(
    settings: Settings, prompt: str, wishes: GitWishes, options: LiveOptions, faces: tuple[Output | Progress, ...]
) -> int:
    """`--on-hangup detach`: start the run and show it here; the exit code. Raises `NotStarted`."""
    from pool.headless.live.following import follow

    record = start(settings, prompt, wishes, replace(options, followed=True))
    for face in faces:
        if wishes and isinstance(face, JsonOutput):
            face.hold()
    return asyncio.run(follow(record, faces))


def start(settings: Settings, prompt: str, wishes: GitWishes, options: LiveOptions) -> LiveRecord:
    """Start a live run; its record once it can be attached to. Raises `NotStarted`."""
    try:
        folder = live_folder()
    except PlaceError as error:
        raise NotStarted(StopReason.INTERNAL_ERROR, str(error)) from None
    sys.stdout.flush()
    sys.stderr.flush()
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        code = STOP_TABLE[StopReason.INTERNAL_ERROR].exit
        try:
            code = _child(settings, prompt, wishes, options, write, folder)
        finally:
            with contextlib.suppress(OSError, ValueError):
                sys.stderr.flush()
            os._exit(code)
    os.close(write)
    return _reported(read, pid)


def _reported(read: int, pid: int) -> LiveRecord:
    """What the process says when it has begun, or that it has not."""
    try:
        with open(read, "rb") as pipe:
            line = pipe.readline()
    except KeyboardInterrupt:
        os.kill(pid, signal.SIGTERM)
        raise
    if not line:
        _, status = os.waitpid(pid, 0)
        code = os.waitstatus_to_exitcode(status)
        raise NotStarted(StopReason.INTERNAL_ERROR, f"the run's process ended with {code} before it began")
    row = cast(dict[str, Any], json.loads(line))
    if "reason" in row:
        os.waitpid(pid, 0)
        raise NotStarted(StopReason(row["reason"]), row["detail"], row["remedy"])
    return LiveRecord(**row)


def _child(settings: Settings, prompt: str, wishes: GitWishes, options: LiveOptions, write: int, folder: Path) -> int:
    """The whole life of the process; its exit code."""
    log = folder / f"start-{os.getpid()}{LOG}"
    _leave_terminal(log)

    def tell(row: dict[str, Any]) -> None:
        with contextlib.suppress(BrokenPipeError), open(write, "wb") as pipe:
            pipe.write(json.dumps(row).encode() + b"\n")

    session: list[str] = []

    def report(record: LiveRecord) -> None:
        session.append(record.session)
        with contextlib.suppress(OSError):
            log.rename(log_of(record.session))
        tell({one.name: getattr(record, one.name) for one in fields(LiveRecord)})

    try:
        return asyncio.run(work(settings, prompt, wishes, options, report))
    except (SettingsError, ServerProblem, PlaceError) as error:
        if session:
            sys.stderr.write(safe(f"pool run: {error}\n", terminal=False))
        reason = _reason_of(error)
        if not session:
            tell({"reason": reason.value, "detail": str(error), "remedy": str(getattr(error, "remedy", ""))})
        return STOP_TABLE[reason].exit
    except Exception as error:
        # Nobody is there to see a traceback: who started the run is told, and the log keeps it if the disk takes it.
        if not session:
            tell({"reason": StopReason.INTERNAL_ERROR.value, "detail": f"Pool failed inside: {error!r}", "remedy": ""})
        with contextlib.suppress(OSError):
            traceback.print_exc()
        return STOP_TABLE[StopReason.INTERNAL_ERROR].exit
    finally:
        _drop_empty(log_of(session[0]) if session else log)


def _reason_of(error: Exception) -> StopReason:
    match error:
        case SettingsError():
            return StopReason.USAGE_ERROR
        case ServerProblem():
            return StopReason.SERVER_FAILED
        case _:
            return StopReason.INTERNAL_ERROR


def _leave_terminal(log: Path) -> None:
    """A session of its own, no terminal, stderr in a file; SIGHUP is for those who have one."""
    os.setsid()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    said = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, _LOG_MODE)
    for target, source in ((0, null), (1, null), (2, said)):
        os.dup2(source, target)
    os.close(null)
    os.close(said)


def _drop_empty(log: Path) -> None:
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.flush()
        if not log.stat().st_size:
            log.unlink()
