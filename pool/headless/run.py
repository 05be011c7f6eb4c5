"""One prompt, worked to its end without a person: start-up, signals, output, exit code."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from pool.agent.approvals import NobodyThere
from pool.agent.factory import Session, open_session
from pool.agent.hub import EventHub
from pool.agent.ids import new_id
from pool.agent.state import Stop
from pool.config.settings import Settings, SettingsError
from pool.events import STOP_TABLE, Event, RunFinished, SessionNamed, StopReason, Usage
from pool.headless.gitwishes import GitWishes
from pool.headless.options import NO_OPTIONS, RunOptions, extras_for
from pool.headless.output import JsonOutput, Output, Progress, output_for
from pool.headless.plain import safe
from pool.wire.errors import ServerProblem

if TYPE_CHECKING:
    from pool.headless.artifacts import Artifacts
    from pool.headless.driving import ProgramThere
    from pool.headless.live.notify import Notifier

    Face = Output | Progress | Artifacts

EXIT_USAGE = STOP_TABLE[StopReason.USAGE_ERROR].exit
GONE = "the reader has gone"
NO_WISHES = GitWishes()


def run_to_end(
    settings: Settings,
    prompt: str,
    *,
    output: str,
    level: int,
    wishes: GitWishes = NO_WISHES,
    options: RunOptions = NO_OPTIONS,
    out: Output | None = None,
) -> int:
    """Work the prompt; returns the exit code. wishes is what is to be done in git besides, options what else.

    out is an output of the caller's in place of the named one.
    """
    out = out or output_for(output, form=options.form)
    early: list[int] = []
    try:
        return asyncio.run(_begun(_run(settings, prompt, out, Progress(sys.stderr, level), wishes, options), early))
    except SettingsError as error:
        return fail_early(out, StopReason.USAGE_ERROR, str(error))
    except ServerProblem as problem:
        return fail_early(out, StopReason.SERVER_FAILED, str(problem), problem.remedy)
    except KeyboardInterrupt:
        return fail_early(out, StopReason.INTERRUPTED, "interrupted, before the run could begin or end in order")
    except asyncio.CancelledError:
        number = early[0] if early else signal.SIGTERM
        words = f"signal {signal.Signals(number).name}, before the run could begin"
        return fail_early(out, StopReason.SIGNALLED, words, number=number)


async def _begun(work: Coroutine[Any, Any, int], early: list[int]) -> int:
    """Do the work; SIGTERM and SIGHUP cancel it until it takes them itself, and stand in early then."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None

    def asked(number: int) -> None:
        early.append(number)
        task.cancel()

    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, asked, number)
    return await work


def fail_early(out: Output, reason: StopReason, detail: str, remedy: str = "", *, number: int = 0) -> int:
    """End a run that never began: words on stderr, and the same last event as every run has for the JSON outputs.

    number is that of the signal, where one was the reason.
    """
    sys.stderr.write(safe(f"pool run: {detail}" + (f"\n  {remedy}" if remedy else ""), terminal=True) + "\n")
    return show_early_end(out, reason, detail, number=number)


def show_early_end(out: Output, reason: StopReason, detail: str, *, number: int = 0) -> int:
    """Print the last event of a run that never began, on stdout alone; returns its exit code."""
    code = STOP_TABLE[reason].exit + number
    body = RunFinished(reason, code, detail, answer="", turns=0, seconds=0.0, usage=Usage())
    with contextlib.suppress(BrokenPipeError):
        out.show(EventHub(new_id()).emit(body))
    return code


async def _run(
    settings: Settings, prompt: str, output: Output, progress: Progress, wishes: GitWishes, options: RunOptions
) -> int:
    if wishes and (said := await wishes.before(settings)):
        sys.stderr.write(safe(f"pool run: {said}", terminal=True) + "\n")
    program = _program(options)
    async with open_session(settings, program or NobodyThere(), extras_for(options.form)) as session:
        if program is None:
            _refuse_or_warn(settings, session)
        if options.name:
            session.hub.emit(SessionNamed(options.name))
        work: _Work = _Driven(session, program, options) if program else _Alone(session, options)
        left = _artifacts(options)
        notifier = _notifier(session, options)
        if wishes and isinstance(output, JsonOutput):
            output.hold()
        faces: Sequence[Face] = (progress, output, *([left] if left else []))
        printing = asyncio.create_task(_print(session.hub.subscribe(), faces, work.stop))
        with ended_by_signals(work.stop):
            finished, faulty = await work.run(prompt)
        failed = await wishes.after(session, finished) if wishes and finished else 0
        # All that the run said has been shown before what it leaves is written.
        session.hub.close()
        await printing
        if notifier is not None:
            await notifier.close()
        missing = await asyncio.to_thread(left.write, session) if left and finished else []
        for line in missing:
            sys.stderr.write(safe(f"pool run: {line}", terminal=True) + "\n")
        code = _exit_code(finished, unwritten=printing.result()) or failed or faulty
        return code or (STOP_TABLE[StopReason.INTERNAL_ERROR].exit if missing else 0)


class _Work(Protocol):
    """What works: one prompt, or what a program sends. run gives the last run, None for none, and an exit code."""

    def stop(self, stop: Stop) -> None: ...

    async def run(self, prompt: str) -> tuple[RunFinished | None, int]: ...


class _Alone:
    def __init__(self, session: Session, options: RunOptions) -> None:
        self._session = session
        self._options = options
        self.stop = session.agent.stop

    async def run(self, prompt: str) -> tuple[RunFinished | None, int]:
        if self._options.approves_plan:
            from pool.agent.control import Conversation

            prompt = Conversation(self._session).approve_plan(text=prompt)
        return await self._session.agent.run(self._options.asked(prompt), new_id()), 0


class _Driven:
    def __init__(self, session: Session, program: ProgramThere, options: RunOptions) -> None:
        from pool.headless.driving import Driving

        self._driving = Driving(session, program, options.asked)
        self.stop = self._driving.leave

    async def run(self, prompt: str) -> tuple[RunFinished | None, int]:
        """The exit code is for what the last run's own does not say: a signal between two runs, lines of no use."""
        ended = await self._driving.run(prompt)
        if ended.left is not None:
            signalled = ended.left.reason is StopReason.SIGNALLED
            return ended.finished, STOP_TABLE[ended.left.reason].exit + (ended.left.number if signalled else 0)
        if ended.finished is None:
            sys.stderr.write("pool run: no prompt came on stdin\n")
        return ended.finished, EXIT_USAGE if ended.faults or ended.finished is None else 0


def _program(options: RunOptions) -> ProgramThere | None:
    if not options.driven:
        return None
    from pool.headless.driving import ProgramThere

    return ProgramThere()


def _notifier(session: Session, options: RunOptions) -> Notifier | None:
    if not options.notify:
        return None
    from pool.headless.live.notify import Notifier

    return Notifier(options.notify, session.hub, str(session.settings.workspace))


def _artifacts(options: RunOptions) -> Artifacts | None:
    if options.artifacts is None:
        return None
    from pool.headless.artifacts import Artifacts

    return Artifacts(options.artifacts, options.form)


def _refuse_or_warn(settings: Settings, session: Session) -> None:
    """Say before the first request if no command could run; refuse if that was nobody's choice."""
    if session.approvals.can_run_commands(interactive=False):
        return
    why = f"in mode {session.approvals.mode.value} no command can run, since nobody is there to approve it"
    if settings.mode is None:
        raise SettingsError(
            f"{why} and no sandbox confines it ({session.sandbox_note}); "
            "use --mode allow-all to run commands unconfined, or --mode accept-edits for edits only"
        )
    sys.stderr.write(f"pool run: {why}\n")


@contextlib.contextmanager
def ended_by_signals(stop: Callable[[Stop], None]) -> Generator[None]:
    """SIGINT, SIGTERM and SIGHUP end the run with its reason; a second SIGINT ends the process."""
    loop = asyncio.get_running_loop()

    def asked(number: int) -> None:
        reason = StopReason.INTERRUPTED if number == signal.SIGINT else StopReason.SIGNALLED
        stop(Stop(reason, f"signal {signal.Signals(number).name}", number))
        loop.remove_signal_handler(number)

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    for number in numbers:
        loop.add_signal_handler(number, asked, number)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)


async def _print(events: AsyncIterator[Event], faces: Sequence[Face], stop: Callable[[Stop], None]) -> str:
    """Show every event; why it could not be written, which ends the run, "" if all was."""
    try:
        async for event in events:
            for face in faces:
                face.show(event)
        for face in faces:
            if isinstance(face, JsonOutput):
                face.release()
    except BrokenPipeError:
        _silence()
        stop(Stop(StopReason.SIGNALLED, "the reader of the output has gone", signal.SIGPIPE))
        return GONE
    except OSError as error:
        stop(Stop(StopReason.INTERNAL_ERROR, f"the output cannot be written: {error.strerror}"))
        with contextlib.suppress(OSError):
            sys.stderr.write(f"pool run: the output cannot be written: {error.strerror}\n")
        _silence()
        return str(error.strerror)
    return ""


def _silence() -> None:
    """Point stdout and stderr at nothing, so that no later write or flush can fail."""
    null = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            os.dup2(null, stream.fileno())


def _exit_code(finished: RunFinished | None, *, unwritten: str) -> int:
    if unwritten == GONE:
        return STOP_TABLE[StopReason.SIGNALLED].exit + signal.SIGPIPE
    return STOP_TABLE[StopReason.INTERNAL_ERROR].exit if unwritten else finished.exit_code if finished else 0
