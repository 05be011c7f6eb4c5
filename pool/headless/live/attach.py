"""`pool attach --lines`: show a live run on plain lines, steer it, answer what it asks."""

from __future__ import annotations

import asyncio
import signal
import sys

from pool.config.settings import SettingsError, mode_of
from pool.facekit.approving import BY_PERSON, SETTLE_SECONDS, choices
from pool.facekit.live.lines import LinkProblem
from pool.facekit.live.place import LiveRecord
from pool.facekit.live.remote import RemoteConversation
from pool.headless.live.following import follow
from pool.headless.live.keyboard import Keyboard
from pool.headless.output import Progress, StreamJsonOutput, TextOutput
from pool.headless.plain import one_line, safe
from pool.ports import Answer, ApprovalAnswer, ApprovalRequest, Question
from pool.sessions.store import short_id

EXIT_LOST = 1
HELP = "a line steers the run; /queue PROMPT, /mode NAME, /stop, /detach; Ctrl-C detaches, and the run goes on"
NO, NO_WITH_REASON, OWN_WORDS = "n", "r", "o"


def attach(record: LiveRecord, output: str, *, only_new: bool) -> int:
    """Show a run, for a person to steer where there is a terminal; the exit code.

    output is text or stream-json; only_new shows a person only what happens from now on.
    """
    if output == "stream-json":
        return asyncio.run(follow(record, (StreamJsonOutput(sys.stdout),), signals=False))
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return asyncio.run(follow(record, (Progress(sys.stderr, 1), TextOutput(sys.stdout)), signals=False))
    try:
        return asyncio.run(_attached(record, only_new=only_new))
    except LinkProblem as problem:
        sys.stderr.write(f"pool attach: {problem}\n")
        return EXIT_LOST


async def _attached(record: LiveRecord, *, only_new: bool) -> int:
    async with await RemoteConversation.attach(record) as run:
        return await Follower(run, Keyboard(sys.stdin.fileno()), only_new=only_new).work()


class Follower:
    """A person at a terminal, and a run in another process."""

    def __init__(self, run: RemoteConversation, keyboard: Keyboard, *, only_new: bool) -> None:
        self._run = run
        self._keyboard = keyboard
        self._shown = Progress(sys.stdout, 1)
        self._only_new = only_new
        self._left = asyncio.Event()

    async def work(self) -> int:
        """Show the run until it ends or the person leaves; the exit code."""
        status = self._run.status
        self._say(f"── {short_id(status.session)}: {one_line(status.prompt)} ({status.workspace}); {HELP}")
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._left.set)
        tasks = [asyncio.create_task(work) for work in (self._show(), self._listen(), self._leaves())]
        with self._keyboard.reading():
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        done = await asyncio.gather(*tasks, return_exceptions=True)
        for error in done:
            if isinstance(error, Exception) and not isinstance(error, LinkProblem):
                raise error
        if self._left.is_set():
            self._say(f"── detached; pool attach {short_id(status.session)} comes back")
            return 0
        if self._run.exit_code is None:
            self._say("── the run's process is gone")
        return EXIT_LOST if self._run.exit_code is None else self._run.exit_code

    async def _leaves(self) -> None:
        await self._left.wait()

    async def _show(self) -> None:
        async for event in self._run.events():
            if self._run.caught_up or not self._only_new:
                self._shown.show(event)

    # -- the person

    async def _listen(self) -> None:
        """Take lines, or an answer while something is asked."""
        while True:
            self._run.changed.clear()
            self._refused()
            if self._run.caught_up and (asked := [*self._run.pending(), *self._run.pending_questions()]):
                await self._answer(asked[0])
                continue
            line = await self._next_or_change()
            if line is not None:
                self._take(line)

    async def _next_or_change(self) -> str | None:
        """The next line; None if something happened instead. The end of the input leaves."""
        typed = asyncio.create_task(self._keyboard.input.get())
        changed = asyncio.create_task(self._run.changed.wait())
        try:
            await asyncio.wait({typed, changed}, return_when=asyncio.FIRST_COMPLETED)
            if not typed.done():
                return None
            if typed.result() is None:
                self._left.set()
            return typed.result()
        finally:
            typed.cancel()
            changed.cancel()

    def _take(self, line: str) -> None:
        word, _, rest = line.strip().partition(" ")
        match word:
            case "":
                return
            case "/detach" | "/quit" | "/exit":
                self._left.set()
            case "/stop":
                self._run.stop()
            case "/queue" if rest.strip():
                self._run.queue(rest)
            case "/mode" if rest.strip():
                self._set_mode(rest)
            case _ if word.startswith("/"):
                self._say(HELP)
            case _ if not self._run.steer(line):
                self._run.submit(line)
            case _:
                pass

    def _set_mode(self, name: str) -> None:
        try:
            self._run.set_mode(mode_of(name))
        except SettingsError as error:
            self._say(str(error))

    async def _answer(self, asked: ApprovalRequest | Question) -> None:
        """Put a question until it is answered, here or elsewhere."""
        match asked:
            case ApprovalRequest():
                await self._approve(asked)
            case Question():
                await self._say_to(asked)

    async def _approve(self, asked: ApprovalRequest) -> None:
        ways = {way.key: way for way in choices(asked)}
        self._say(f"{asked.name}: may it run? ({asked.why})\n{asked.preview}")
        self._say(asked.policy)
        rows = {**{key: way.words for key, way in ways.items()}, NO: "no", NO_WITH_REASON: "no, and say why"}
        key = await self._key(asked.call_id, rows)
        if key in ways:
            self._run.answer(asked.call_id, ApprovalAnswer(True, BY_PERSON, remember=ways[key].remember))
        elif key:
            reason = await self._words("why not?") if key == NO_WITH_REASON else ""
            self._run.answer(asked.call_id, ApprovalAnswer(False, BY_PERSON, reason))

    async def _say_to(self, asked: Question) -> None:
        rows = {str(n): choice for n, choice in enumerate(asked.choices, 1)}
        if asked.free_text or not rows:
            rows[OWN_WORDS] = "answer in your own words"
        rows[NO] = "give no answer"
        self._say(asked.text)
        key = await self._key(asked.id, rows)
        match key:
            case "":
                return
            case "n":
                self._run.answer_question(asked.id, None)
            case "o":
                words = await self._words("your answer:")
                self._run.answer_question(asked.id, Answer(words) if words else None)
            case _:
                self._run.answer_question(asked.id, Answer(asked.choices[int(key) - 1]))

    async def _key(self, asked: str, rows: dict[str, str]) -> str:
        """The key that was pressed; "" if the question was answered elsewhere, or the person left."""
        for key, words in rows.items():
            self._say(f"  {key}  {words}")
        with self._keyboard.keys():
            await asyncio.sleep(SETTLE_SECONDS)
            self._keyboard.forget()
            while self._waits(asked) and not self._left.is_set():
                self._run.changed.clear()
                key = await self._next_or_change()
                if key in rows:
                    return key
        return ""

    def _waits(self, asked: str) -> bool:
        return asked in {a.call_id for a in self._run.pending()} | {q.id for q in self._run.pending_questions()}

    async def _words(self, title: str) -> str:
        """A line of the person's."""
        self._say(title)
        return (await self._keyboard.input.get() or "").strip()

    def _refused(self) -> None:
        while self._run.refused:
            self._say(f"not done: {self._run.refused.pop(0)}")

    def _say(self, text: str) -> None:
        if text.strip():
            self._shown.remark(safe(text, terminal=True))
