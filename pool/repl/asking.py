"""What waits for a person: approvals, questions of the model, choices of a command. Answers are single keys.

A key that was on its way when the question came must not answer it: for `SETTLE_SECONDS` no key counts.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pool.facekit.approving import BY_PERSON, SETTLE_SECONDS, SHORT_WORDS, choices
from pool.facekit.clean import clean, one_line
from pool.ports import Answer, ApprovalAnswer, ApprovalRequest, Question
from pool.repl.ink import Ink
from pool.repl.results import asked_lines
from pool_tools.frozen import frozen

if TYPE_CHECKING:
    from pool.agent.commands import Ask

MOST_KEYS = 9
"""More choices than these are taken by a number and Enter."""

BY_NUMBER = "#"
OWN_WORDS = "0"
NO_ANSWER = "d"


@frozen
class Reply:
    """The key that was chosen, and the words that were written for it."""

    key: str
    words: str = ""


@dataclass(slots=True)
class Query:
    """A question. body, safe lines, is said when it comes up, then reasons, which are data. rows are keys with their
    words, short the same for a low window; writes are keys that need words, and what asks for them. writing is the key
    for which words are being written, "" for none. call is what it is about.
    """

    title: str
    body: list[str]
    rows: list[tuple[str, str]]
    writes: Mapping[str, str] = field(default_factory=dict[str, str])
    writing: str = ""
    call: str = ""
    reasons: Sequence[str] = ()
    short: Mapping[str, str] = field(default_factory=dict[str, str])
    answer: asyncio.Future[Reply | None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class Asking:
    """The questions that wait, the oldest first. It is the agent's approver and questioner."""

    def __init__(self, ink: Ink, raised: Callable[[Query], None], settled: Callable[[], None]) -> None:
        """raised gets each question when it is its turn, settled is called when one is gone."""
        self._ink = ink
        self._raised = raised
        self._settled = settled
        self._waiting: list[Query] = []
        self._since = 0.0

    @property
    def current(self) -> Query | None:
        return self._waiting[0] if self._waiting else None

    async def put(self, query: Query) -> Reply | None:
        """Put a question; None if it was declined. Cancelled, it leaves no trace."""
        self._waiting.append(query)
        if len(self._waiting) == 1:
            self._raise(query)
        try:
            return await query.answer
        finally:
            was_first = self._waiting[0] is query
            self._waiting.remove(query)
            self._settled()
            if was_first and self._waiting:
                self._raise(self._waiting[0])

    def _raise(self, query: Query) -> None:
        self.settle()
        self._raised(query)

    def settle(self) -> None:
        """From now on no key counts, for a moment."""
        self._since = time.monotonic()

    @property
    def ready(self) -> bool:
        """Whether a key counts."""
        return bool(self._waiting) and time.monotonic() - self._since >= SETTLE_SECONDS

    def opens_words(self, key: str) -> bool:
        """Whether a key begins words: what follows it at once is meant for them."""
        return self.current is not None and key in self.current.writes

    def key(self, key: str) -> None:
        """Take a key: an answer, or the beginning of words. A key that does not count says that somebody is typing:
        those that follow it at once do not count either."""
        query = self.current
        if query is None or not self.ready or key not in [k for k, _ in query.rows]:
            self.settle()
            return
        if key in query.writes:
            query.writing = key
        else:
            self._answer(query, Reply(key))

    def write(self, words: str) -> None:
        """Take the words that were written."""
        if (query := self.current) is not None and query.writing:
            self._answer(query, Reply(query.writing, words.strip()))

    def back(self) -> bool:
        """Write no words after all; whether any were being written."""
        query = self.current
        if query is None or not query.writing or not query.rows:
            return False
        query.writing = ""
        return True

    def decline(self) -> bool:
        """Leave a question unanswered; whether there was one."""
        if (query := self.current) is None:
            return False
        self._answer(query, None)
        return True

    def _answer(self, query: Query, reply: Reply | None) -> None:
        if not query.answer.done():
            query.answer.set_result(reply)

    # -- what asks

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        """The answer to a call that wants to run."""
        ways = {choice.key: choice for choice in choices(request)}
        reasons = [line for words in (request.why, request.policy) if words for line in clean(words).split("\n")]
        query = Query(
            title=f"{one_line(request.name)}: may it run?",
            body=asked_lines(request.preview_kind, request.preview, self._ink),
            rows=[*((key, one_line(way.words)) for key, way in ways.items()), ("n", "no"), ("r", "no, and say why")],
            writes={"r": "why not?"},
            call=request.call_id,
            reasons=reasons,
            short=SHORT_WORDS,
        )
        reply = await self.put(query)
        if reply is None or reply.key not in ways:
            return ApprovalAnswer(False, BY_PERSON, reason=reply.words if reply else "")
        return ApprovalAnswer(True, BY_PERSON, remember=ways[reply.key].remember)

    async def question(self, question: Question) -> Answer | None:
        """The answer to a question of the model's or of Pool's; None if there is none."""
        rows = [(str(n), one_line(choice)) for n, choice in enumerate(question.choices[:MOST_KEYS], 1)]
        if question.free_text or not question.choices:
            rows.append((OWN_WORDS, "another answer, in your own words" if rows else "answer in your own words"))
        first, *more = clean(question.text).split("\n")
        query = Query(first, more, [*rows, (NO_ANSWER, "give no answer")], {OWN_WORDS: "your answer:"})
        reply = await self.put(query)
        if reply is None or reply.key == NO_ANSWER:
            return None
        if reply.key == OWN_WORDS:
            return Answer(reply.words) if reply.words else None
        return Answer(question.choices[int(reply.key) - 1])

    async def choose(self, ask: Ask) -> str:
        """The command line that a person chose, "" for none."""
        rows = [(str(n), one_line(choice.label)) for n, choice in enumerate(ask.choices, 1)]
        first, *more = clean(ask.text).split("\n")
        if len(rows) <= MOST_KEYS:
            reply = await self.put(Query(first, more, rows))
            return ask.choices[int(reply.key) - 1].line if reply else ""
        width = len(str(len(rows)))
        body = [*more, *(f"{number:>{width}}  {words}" for number, words in rows)]
        reply = await self.put(Query(first, body, [], {BY_NUMBER: "number:"}, writing=BY_NUMBER))
        number = reply.words if reply else ""
        chosen = int(number) if number.isascii() and number.isdecimal() and len(number) <= width else 0
        return ask.choices[chosen - 1].line if 0 < chosen <= len(rows) else ""
