"""A conversation that works in another process: the methods of `Conversation` that a face can use from afar."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import MISSING, fields
from itertools import count
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

from pool.config.settings import Mode, mode_of
from pool.events import (
    ApprovalAsked,
    ApprovalGiven,
    Event,
    ModeChanged,
    QuestionAnswered,
    QuestionAsked,
    QueueChanged,
    RunFinished,
    RunStarted,
    SuggestedRule,
)
from pool.facekit.decode import event_of
from pool.facekit.glance import Glance
from pool.facekit.live.lines import PROTOCOL_VERSION, LinkProblem, connect, line_of, read_line, row_of
from pool.facekit.live.place import LiveRecord, socket_of
from pool.ports import Answer, ApprovalAnswer, ApprovalRequest, Question
from pool_tools.frozen import frozen

if TYPE_CHECKING:
    from pool.agent.commands import CommandResult

STATUS_SECONDS = 2.0
"""A process that works is on its event loop within milliseconds; one that does not answer for so long hangs."""


@frozen
class LiveStatus:
    """A live run at a glance. state is working, waits or idle; waits_for what it waits for, "" if nothing.

    tokens counts those read and written by the run that works, or the last one. age is in seconds since the process
    began. asked are ids of approvals and questions that wait for an answer. window is the context window in tokens, 0
    for unknown. skills are those that a prompt can name, each with a line about it; only who attaches is told.
    """

    session: str
    pid: int
    workspace: str
    state: str
    waits_for: str
    prompt: str
    turns: int
    tokens: int
    mode: str
    model: str
    server: str
    age: float
    queued: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    v: int = PROTOCOL_VERSION
    sandbox: str = ""
    window: int = 0
    skills: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, row: dict[str, Any]) -> LiveStatus:
        """From a `status` row. Raises `LinkProblem` for one of another version, or that is none."""
        if row.get("type") != "status" or row.get("v") != PROTOCOL_VERSION:
            raise LinkProblem(f"the run speaks another version of the protocol (this pool: {PROTOCOL_VERSION})")
        try:
            values: dict[str, Any] = {
                each.name: row[each.name] for each in fields(cls) if each.name in row or each.default is MISSING
            }
        except KeyError as error:
            raise LinkProblem(f"the run's status lacks {error}") from None
        values |= {name: tuple(cast(Sequence[str], values.get(name, ()))) for name in ("queued", "asked")}
        values["skills"] = tuple(_pairs(values.get("skills")))
        return cls(**values)


def _pairs(given: Any) -> Iterator[tuple[str, str]]:
    for pair in cast(Sequence[Any], given) if isinstance(given, list | tuple) else ():
        match pair:
            case (str(name), str(about)) | [str(name), str(about)]:
                yield name, about
            case _:
                pass


async def status_of(record: LiveRecord) -> LiveStatus:
    """The status of a live run. Raises `LinkProblem`."""
    reader, writer = await connect(socket_of(record))
    try:
        async with asyncio.timeout(STATUS_SECONDS):
            writer.write(line_of({"type": "status", "v": PROTOCOL_VERSION}))
            await writer.drain()
            return LiveStatus.of(row_of(await read_line(reader)))
    except (TimeoutError, OSError):
        raise LinkProblem("the run's process does not answer") from None
    finally:
        writer.close()


class RemoteConversation:
    """A live run, as a face may act on it. All of it is used on one event loop.

    What is known of the run (`busy`, `pending`, ...) follows the events that were taken from `events`, so a face that
    stops taking them stops knowing; changed is set with each. caught_up says that all which had happened before was
    taken: what is pending earlier may be answered already. exit_code is set once the process has ended in order.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, status: LiveStatus) -> None:
        self._reader = reader
        self._writer = writer
        self._status = status
        self._mode = status.mode
        self._busy = status.state != "idle"
        self._queue = QueueChanged(status.queued)
        self._approvals: dict[str, ApprovalRequest] = {}
        self._questions: dict[str, Question] = {}
        self.caught_up = False
        self.changed = asyncio.Event()
        self.exit_code: int | None = None
        self.refused: list[str] = []
        """What the run did not take, in words; a face shows and clears it."""
        self._numbers = count(1)
        self._commands: dict[str, asyncio.Future[dict[str, Any]]] = {}

    @classmethod
    async def attach(cls, record: LiveRecord, after: int = -1, *, stay: bool = True) -> Self:
        """Attach: `events` begins with the durable events of this process above after. Raises `LinkProblem`.

        stay: the process waits for more prompts while this face is there.
        """
        reader, writer = await connect(socket_of(record))
        try:
            writer.write(line_of({"type": "attach", "v": PROTOCOL_VERSION, "after": after, "stay": stay}))
            async with asyncio.timeout(STATUS_SECONDS):
                first = row_of(await read_line(reader))
            if first.get("type") == "refused":
                raise LinkProblem(str(first.get("text")))
            return cls(reader, writer, LiveStatus.of(first))
        except (TimeoutError, OSError):
            writer.close()
            raise LinkProblem("the run's process does not answer") from None
        except LinkProblem:
            writer.close()
            raise

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.detach()

    async def events(self) -> AsyncIterator[Event]:
        """Events as they come, until the process ends or the face detaches. Kinds that are not known are left out."""
        try:
            while line := await read_line(self._reader):
                row = row_of(line)
                self.changed.set()
                match row.get("type"):
                    case "current":
                        self.caught_up = True
                    case "ended":
                        self.exit_code = int(row.get("exit_code", 1))
                    case "refused":
                        self.refused.append(str(row.get("text")))
                    case "result":
                        self._answered(row)
                    case _:
                        if (event := event_of(row)) is not None:
                            self._follow(event)
                            yield event
        finally:
            for waiting in self._commands.values():
                waiting.cancel()

    async def detach(self) -> None:
        """Let go of the run, which goes on."""
        with contextlib.suppress(OSError):
            self._send({"type": "detach"})
            self._writer.close()
            await self._writer.wait_closed()

    # -- what is known

    @property
    def status(self) -> LiveStatus:
        """The run as it was when it was attached to."""
        return self._status

    @property
    def busy(self) -> bool:
        """Whether a run works."""
        return self._busy

    @property
    def mode(self) -> str:
        """The approval mode."""
        return self._mode

    def glance(self) -> Glance:
        """What a status line says."""
        status = self._status
        return Glance(mode_of(self._mode), status.sandbox, status.model, status.window)

    def pending(self) -> Sequence[ApprovalRequest]:
        """Approvals that wait for an answer, oldest first."""
        return tuple(self._approvals.values())

    def pending_questions(self) -> Sequence[Question]:
        """Questions of the model that wait for an answer, oldest first."""
        return tuple(self._questions.values())

    def queued(self) -> tuple[str, ...]:
        """Prompts that wait for the run to end."""
        return self._queue.prompts

    def waiting_steering(self) -> tuple[str, ...]:
        """What was said to the run and has not reached the model yet."""
        return self._queue.steering

    # -- what may be done

    def submit(self, prompt: str) -> None:
        """Work a prompt, after the run that works if one does."""
        self._send({"type": "prompt", "text": prompt})

    queue = submit

    def steer(self, text: str) -> bool:
        """Say something to the running run; False, and nothing happens, if none works."""
        if not self._busy or not text.strip():
            return False
        self._send({"type": "steer", "text": text})
        return True

    def stop(self) -> bool:
        """End the run; False if none works."""
        self._send({"type": "stop"})
        return self._busy

    def set_mode(self, mode: Mode) -> None:
        """Change the approval mode, from the next call on."""
        self._send({"type": "mode", "mode": mode.value})

    def set_thinking(self, level: str) -> None:
        """Set how much the model may think."""
        self._send({"type": "thinking", "level": level})

    def set_budget(self, name: str, limit: float) -> None:
        """Set a budget, 0 for no limit."""
        self._send({"type": "budget", "name": name, "limit": limit})

    def answer(self, call_id: str, answer: ApprovalAnswer) -> bool:
        """Answer an approval by its id; False if it does not wait any more."""
        if self._approvals.pop(call_id, None) is None:
            return False
        self._send(
            {
                "type": "approve",
                "id": call_id,
                "allow": answer.allowed,
                "remember": answer.remember.value,
                "reason": answer.reason,
            }
        )
        return True

    def answer_question(self, question_id: str, answer: Answer | None) -> bool:
        """Answer a question of the model by its id, None declines; False if it does not wait any more."""
        if self._questions.pop(question_id, None) is None:
            return False
        self._send({"type": "answer", "id": question_id, "text": answer.text if answer else ""})
        return True

    def drop_queued(self, index: int) -> None:
        """Take a queued prompt out by its place, from 0."""
        self._send_command(f"/queue drop {index + 1}")

    async def command(self, line: str) -> CommandResult:
        """Do a slash command there; its answer comes while somebody takes `events`."""
        from pool.facekit.live.results import ENDED, CommandResult, result_of

        id_ = self._send_command(line)
        self._commands[id_] = asyncio.get_running_loop().create_future()
        try:
            return result_of(await self._commands[id_])
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            return CommandResult((ENDED,), ok=False)
        finally:
            del self._commands[id_]

    def _send_command(self, line: str) -> str:
        id_ = str(next(self._numbers))
        self._send({"type": "command", "id": id_, "line": line})
        return id_

    def _answered(self, row: dict[str, Any]) -> None:
        waiting = self._commands.get(str(row.get("id")))
        if waiting is not None and not waiting.done():
            waiting.set_result(row)

    def _send(self, row: dict[str, Any]) -> None:
        self._writer.write(line_of(row))

    def _follow(self, event: Event) -> None:
        match event.body:
            case RunStarted(mode=mode) if not event.envelope.agent:
                self._busy, self._mode = True, mode
            case RunFinished() if not event.envelope.agent:
                self._busy = False
                self._approvals.clear()
                self._questions.clear()
            case ModeChanged(mode=mode):
                self._mode = mode
            case QueueChanged() as body:
                self._queue = body
            case ApprovalAsked() as body:
                self._approvals[body.id] = _request_of(body)
            case ApprovalGiven(id=id_):
                self._approvals.pop(id_, None)
            case QuestionAsked(id=id_, text=text, choices=choices, free_text=free):
                self._questions[id_] = Question(id_, text, tuple(choices), free)
            case QuestionAnswered(id=id_):
                self._questions.pop(id_, None)
            case _:
                pass


def _request_of(body: ApprovalAsked) -> ApprovalRequest:
    rules = tuple(_rule_of(rule) for rule in cast(Sequence[Any], body.rules))
    return ApprovalRequest(
        body.id,
        body.name,
        {},
        body.effect,
        body.preview_kind,
        body.preview,
        body.why,
        rules,
        body.can_keep,
        body.policy,
    )


def _rule_of(rule: Any) -> SuggestedRule:
    if isinstance(rule, dict):
        row = cast(dict[str, Any], rule)
        return SuggestedRule(str(row.get("text", "")), str(row.get("covers", "")))
    return rule
