"""One prompt, worked to its end without a person: start-up, signals, output, exit code."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Generator, Sequence

from pool.agent.approvals import NobodyThere
from pool.agent.factory import Session, open_session
from pool.agent.hub import EventHub
from pool.agent.ids import new_id
from pool.agent.state import Stop
from pool.config.settings import Settings, SettingsError
from pool.events import STOP_TABLE, Event, RunFinished, StopReason, Usage
from pool.headless.gitwishes import GitWishes
from pool.headless.output import Output, Progress, output_for
from pool.headless.plain import safe
from pool.wire.errors import ServerProblem

GONE = "the reader has gone"
NO_WISHES = GitWishes()


def run_to_end(settings: Settings, prompt: str, *, output: str, level: int, wishes: GitWishes = NO_WISHES) -> int:
    """Work the prompt; returns the exit code. wishes is what is to be done in git besides."""
    out = output_for(output)
    try:
        return asyncio.run(_run(settings, prompt, out, Progress(sys.stderr, level), wishes))
    except SettingsError as error:
        return fail_early(out, StopReason.USAGE_ERROR, str(error))
    except ServerProblem as problem:
        return fail_early(out, StopReason.SERVER_FAILED, str(problem), problem.remedy)
    except KeyboardInterrupt:
        return fail_early(out, StopReason.INTERRUPTED, "interrupted before the run began")


def fail_early(out: Output, reason: StopReason, detail: str, remedy: str = "") -> int:
    """End a run that never began: words on stderr, and the same last event as every run has for the JSON outputs."""
    sys.stderr.write(safe(f"pool run: {detail}" + (f"\n  {remedy}" if remedy else ""), terminal=True) + "\n")
    code = STOP_TABLE[reason].exit
    body = RunFinished(reason, code, detail, answer="", turns=0, seconds=0.0, usage=Usage())
    with contextlib.suppress(BrokenPipeError):
        out.show(EventHub(new_id()).emit(body))
    return code


async def _run(settings: Settings, prompt: str, output: Output, progress: Progress, wishes: GitWishes) -> int:
    if wishes and (said := await wishes.before(settings)):
        sys.stderr.write(safe(f"pool run: {said}", terminal=True) + "\n")
    async with open_session(settings, NobodyThere()) as session:
        _refuse_or_warn(settings, session)
        agent = session.agent
        faces: Sequence[Output | Progress] = (progress, output)
        printing = asyncio.create_task(_print(session.hub.subscribe(), faces, session))
        with _signals(session):
            finished = await agent.run(prompt, new_id())
        failed = await wishes.after(session, finished) if wishes else 0
        session.hub.close()
        await printing
        return _exit_code(finished, unwritten=printing.result()) or failed


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
def _signals(session: Session) -> Generator[None]:
    """SIGINT, SIGTERM and SIGHUP end the run with its reason; a second SIGINT ends the process."""
    loop = asyncio.get_running_loop()

    def asked(number: int) -> None:
        reason = StopReason.INTERRUPTED if number == signal.SIGINT else StopReason.SIGNALLED
        session.agent.stop(Stop(reason, f"signal {signal.Signals(number).name}", number))
        loop.remove_signal_handler(number)

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    for number in numbers:
        loop.add_signal_handler(number, asked, number)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)


async def _print(events: AsyncIterator[Event], faces: Sequence[Output | Progress], session: Session) -> str:
    """Show every event; why it could not be written, which ends the run, "" if all was."""
    async for event in events:
        try:
            for face in faces:
                face.show(event)
        except BrokenPipeError:
            _silence()
            session.agent.stop(Stop(StopReason.SIGNALLED, "the reader of the output has gone", signal.SIGPIPE))
            return GONE
        except OSError as error:
            session.agent.stop(Stop(StopReason.INTERNAL_ERROR, f"the output cannot be written: {error.strerror}"))
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


def _exit_code(finished: RunFinished, *, unwritten: str) -> int:
    if unwritten == GONE:
        return STOP_TABLE[StopReason.SIGNALLED].exit + signal.SIGPIPE
    return STOP_TABLE[StopReason.INTERNAL_ERROR].exit if unwritten else finished.exit_code
