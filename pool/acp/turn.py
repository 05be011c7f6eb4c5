"""A prompt of the client from its text to its stop reason: commands, runs, plans, and a cancel at any point."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pool.acp import offers
from pool.acp.person import Person
from pool.agent.commands import Action, ActionKind, CommandResult, execute
from pool.agent.control import Busy, Conversation
from pool.events import STOP_TABLE, PlanProposed, RunFinished, StopReason
from pool.extend.acp.errors import INTERNAL_ERROR, INVALID_REQUEST, Gone, RpcError
from pool.facekit.answers import answer_text
from pool.facekit.planasking import has_steps, line_for, plan_question
from pool.facekit.words import closing_words
from pool.ports import Answer

Json = dict[str, Any]
T = TypeVar("T")

CANCELLED = "cancelled"
END_TURN = "end_turn"

QUIET = frozenset({StopReason.COMPLETED, StopReason.INTERRUPTED, StopReason.SIGNALLED})
"""Reasons of which nothing has to be said: the answer, or the user's own stop, is all."""

FAILED = frozenset({StopReason.SERVER_FAILED, StopReason.INTERNAL_ERROR, StopReason.USAGE_ERROR})
"""Reasons that are answered as errors. The protocol's `refusal` would make clients forget what was said."""

FENCE = "```"


@dataclass(slots=True)
class Turn:
    """One prompt at work. reply shows what a command answers, say a remark of Pool's; caught_up waits until the client
    has been told all that has happened.

    proposed is the last plan that was proposed and not decided on.
    """

    conversation: Conversation
    person: Person
    reply: Callable[[str], object]
    say: Callable[[str], object]
    caught_up: Callable[[], Awaitable[None]]
    cancelled: bool = False
    proposed: PlanProposed | None = None
    done: asyncio.Event = field(default_factory=asyncio.Event)
    _finished: RunFinished | None = None
    _waiting: asyncio.Task[Any] | None = None

    def cancel(self) -> None:
        """Stop the run, or whatever is waited for; the answer is `cancelled` from now on."""
        self.cancelled = True
        self.conversation.stop()
        if self._waiting is not None:
            self._waiting.cancel()

    async def work(self, line: str) -> Json:
        """Do what a prompt says, to its end: the answer to `session/prompt`. Raises `RpcError`."""
        next_line = offers.as_prompt(line, self.conversation)
        as_typed = True
        while next_line and not self.cancelled:
            if as_typed and offers.is_command(next_line):
                next_line, as_typed = await self._command(next_line)
            else:
                next_line, as_typed = await self._prompt(next_line), True
        await self.caught_up()
        return self._answer()

    async def _prompt(self, prompt: str) -> str:
        """Work a prompt; what is to be done next, "" for nothing."""
        self.proposed = None
        try:
            self._finished = await self.conversation.submit(prompt)
        except Busy as error:
            raise RpcError(INVALID_REQUEST, str(error)) from None
        await self.caught_up()
        if self.cancelled or self.proposed is None or not has_steps(self.proposed.text):
            return ""
        question = plan_question(self.proposed.mode)
        chosen = await self._awaited(self.person.choose(question.text, question.choices, "switch_mode"))
        answer = question.choices[chosen] if chosen is not None else ""
        return line_for(Answer(answer)) if answer else ""

    async def _command(self, line: str) -> tuple[str, bool]:
        """Do a command; what is to be done next, and whether that is a command too."""
        result = await self._awaited(execute(line, self.conversation))
        if result is None:
            return "", False
        self._show(result)
        if result.ask is not None:
            return await self._awaited(self.person.pick(result.ask)) or "", True
        return (self._act(result.action), False) if result.action is not None else ("", False)

    def _show(self, result: CommandResult) -> None:
        if text := answer_text(result):
            fence = FENCE if result.rows is not None or "\n" in text else ""
            self.reply(f"{fence}\n{text.replace(FENCE, '` ` `')}\n{fence}" if fence else text)

    def _act(self, action: Action) -> str:
        """What a command leaves to a face; the prompt to work next, "" for none."""
        match action.kind:
            case ActionKind.SUBMIT:
                return action.value
            case ActionKind.COPY:
                self.reply(action.value)
            case ActionKind.EDIT_PLAN:
                self.reply(f"send the plan as it should be, beginning with: /plan edited\n\n{action.value}")
            case ActionKind.RESUME:
                self.reply(f"session {action.value} is among the sessions of the editor (session/list)")
            case _:
                self.reply("the editor has its own way for that")
        return ""

    async def _awaited(self, work: Coroutine[Any, Any, T]) -> T | None:
        """Wait for something that a cancel takes back; None then, and where the client cannot be asked."""
        waiting = self._waiting = asyncio.create_task(work)
        try:
            return await waiting
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not self.cancelled or (task is not None and task.cancelling()):
                waiting.cancel()
                raise
            return None
        except (RpcError, Gone):
            return None
        finally:
            self._waiting = None

    def _answer(self) -> Json:
        finished = self._finished
        if self.cancelled:
            return {"stopReason": CANCELLED, **_usage(finished)}
        if finished is None:
            return {"stopReason": END_TURN}
        if finished.reason in FAILED:
            reason = {"reason": finished.reason.value, "exitCode": finished.exit_code}
            raise RpcError(INTERNAL_ERROR, finished.detail or finished.reason.value, reason)
        if finished.reason not in QUIET:
            self.say(closing_words(finished))
        acp = STOP_TABLE[finished.reason].acp
        return {"stopReason": END_TURN if acp == "refusal" else acp, **_usage(finished)}


def _usage(finished: RunFinished | None) -> Json:
    """Tokens of the last run, and how it ended in Pool's own words."""
    if finished is None:
        return {}
    usage = finished.usage
    return {
        "usage": {
            "totalTokens": usage.total,
            "inputTokens": usage.prompt,
            "outputTokens": usage.completion,
            "thoughtTokens": finished.reasoning_tokens,
            "cachedReadTokens": usage.cached,
        },
        "_meta": {
            "pool/stopReason": finished.reason.value,
            "pool/exitCode": finished.exit_code,
            "poolside/task_outcome": {"success": finished.exit_code == 0},
        },
    }
