"""Further views for pictures, shown one after the other in one app: each prepares it and says how to clear up."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from textual.pilot import Pilot

from pool.agent.contextreport import ContextPart, ContextReport
from pool.agent.price import Price
from pool.events import TodoItem
from pool.facekit.activity import Activity, Phase
from pool.ports import ApprovalRequest, Question
from pool.sessions.figures import Figures
from pool.sessions.turnseries import Firing, RequestPoint
from pool.tui.completion import Offer
from pool.tui.panels import Item, Picker
from pool.tui.queue import Waiting
from pool.tui.screens.contextrows import context_rows
from pool.tui.screens.guardrows import guard_rows
from pool.tui.screens.report import ReportScreen
from pool.tui.screens.statsrows import stats_rows
from pool.tui.startpage import StartPage, Way
from pool.tui.transcript.answer import Answer
from pool.tui.transcript.card import CallFacts, CallState, ToolCard
from pool.tui.transcript.notice import ErrorCard
from pool.tui.transcript.prompt import Prompt
from tests.tui.views import StillApp

Look = Callable[[StillApp, Pilot[int]], Awaitable[None]]

COMMAND = "pip install -r requirements.txt"


def busy(app: StillApp, *words: str) -> None:
    """Let the line above the box say these."""
    app.activity = Activity(phase=Phase.WRITING)
    app.line._words = lambda: words  # pyright: ignore[reportPrivateUsage] the words of a moment, without a clock
    app.box.busy = True
    app.line.refresh()


async def streaming(app: StillApp, pilot: Pilot[int]) -> None:
    view = app.transcript
    view.add(Prompt("Make the totals exact."))
    view.append_text(view.add(Answer(), open_=True), "I change the sums to **decimals**, and then run")
    busy(app, "writing", "~120 tokens, ~38 a second, 2.4 drafts a step", "3 s")
    app.todo.show_items([TodoItem("find the sums", "done"), TodoItem("change them", "now"), TodoItem("run the tests")])
    steering, queued = Waiting(0, "leave the API as it is", steering=True), Waiting(0, "then commit", steering=False)
    app.queue.show_rows([steering, queued])
    app.box.insert(app.box.pastes.fold("line\n" * 300))


async def writing_a_call(app: StillApp, pilot: Pilot[int]) -> None:
    app.transcript.add(Prompt("Write the parser."))
    app.transcript.add(ToolCard(CallFacts("write", CallState.WRITING, path="src/parser.py", chars=4_210)))
    busy(app, "writing src/parser.py", "4,210 characters", "12 s")


async def reading(app: StillApp, pilot: Pilot[int]) -> None:
    app.transcript.add(Prompt("What does this repository do?"))
    busy(app, "reading the prompt", "about 41,000 tokens", "12 s of about 40 s")


async def tried_again(app: StillApp, pilot: Pilot[int]) -> None:
    app.transcript.add(Prompt("Go on."))
    app.transcript.add(ErrorCard("the server failed: HTTP 500", "CUDA out of memory", remedy="see the server's log"))
    busy(app, "trying again", "the connection broke", "try 2 of 3 in 4 s", "23 s in all")


async def commands(app: StillApp, pilot: Pilot[int]) -> None:
    app.box.insert("/co")
    await pilot.pause()
    offers = [("/commit", "commit what the agent changed"), ("/compact", "replace the history"), ("/copy", "copy")]
    app.completion.show_offers([Offer(text, about, line=True) for text, about in offers])


async def files(app: StillApp, pilot: Pilot[int]) -> None:
    app.box.insert("look at @shop")
    await pilot.pause()
    app.completion.show_offers([Offer("@shop/totals.py"), Offer("@shop/"), Offer("@tests/test_shop.py")])


async def history(app: StillApp, pilot: Pilot[int]) -> None:
    prompts = ("Why are the totals off by a cent?", "Run the tests", f"Explain {'every step of ' * 9}the build")
    app.push_screen(Picker("Prompts sent before", [Item(str(n), text) for n, text in enumerate(prompts)]))


async def question(app: StillApp, pilot: Pilot[int]) -> None:
    asked = Question("q", "Which rounding do you want?", ("half up, as in the invoices", "half even"))
    app.actions.spawn(_answered(app, asked))


async def _answered(app: StillApp, asked: Question) -> None:
    await app.questions.ask(asked)


async def approvals(app: StillApp, pilot: Pilot[int]) -> None:
    for number in range(2):
        request = ApprovalRequest(
            *(f"call-{number}", "shell", {"command": COMMAND}, "execute", "command", COMMAND, "no rule allows it"),
            policy="writes: this folder; network: none",
        )
        app.actions.spawn(_approved(app, request))
    await pilot.pause()
    app.approval.focus()
    app.approval.came_too_soon()
    if (told := app.approval._told) is not None:  # pyright: ignore[reportPrivateUsage] what it says stays for the picture
        told.stop()


async def _approved(app: StillApp, request: ApprovalRequest) -> None:
    await app.approval.ask(request)


async def panels(app: StillApp, pilot: Pilot[int]) -> None:
    app.actions.panels.show_list()


async def everything(app: StillApp, pilot: Pilot[int]) -> None:
    app.actions.panels.show_palette()
    await pilot.pause()
    await pilot.press(*"copy")


async def context(app: StillApp, pilot: Pilot[int]) -> None:
    parts = (
        *(ContextPart("system prompt", 1_900, 0.014), ContextPart("AGENTS.md", 800, 0.006)),
        *(ContextPart("tools", 2_400, 0.018), ContextPart("conversation", 9_000, 0.069)),
        *(ContextPart("tool results", 31_000, 0.237), ContextPart("reasoning", 6_000, 0.046)),
    )
    report = ContextReport(parts, 51_100, 131_072, True, 0.97, "request 5: compacted", 1, 0)
    app.push_screen(ReportScreen("Context", lambda width: context_rows(report, Price(12_000, 9.0), width), ()))


async def statistics(app: StillApp, pilot: Pilot[int]) -> None:
    points = [RequestPoint(2_000 + 900 * n, 0.9, 38 - n % 5, 0.4 + n % 3) for n in range(30)]
    figures = Figures(runs=3, turns=30, requests=30, prompt=400_000, cached=360_000, completion=9_000)
    app.push_screen(ReportScreen("Statistics of this session", lambda width: stats_rows(points, figures, width), ()))


async def guards(app: StillApp, pilot: Pilot[int]) -> None:
    fired = [
        Firing(1, "Make the totals exact.", 4, "loop", "nudge", "the same call and result 3 times", ""),
        Firing(1, "Make the totals exact.", 9, "thinking", "cut", "the thought went in circles", "some 2 s"),
    ]
    app.push_screen(ReportScreen("Guards", lambda width: guard_rows(fired, width), ()))


async def server_found(app: StillApp, pilot: Pilot[int]) -> None:
    said = "vLLM 0.25.1 at spark.local:8000 serves laguna-s-2.1, with a window of 131,072 tokens."
    app.push_screen(StartPage("A model server", said, [Way("u", "use it now", "use"), Way("a", "another", "address")]))


LOOKS: Sequence[tuple[str, Look]] = (
    ("streaming", streaming),
    ("writing-a-call", writing_a_call),
    ("reading", reading),
    ("tried-again", tried_again),
    ("commands", commands),
    ("files", files),
    ("history", history),
    ("question", question),
    ("approvals", approvals),
    ("panels", panels),
    ("everything", everything),
    ("context", context),
    ("statistics", statistics),
    ("guards", guards),
    ("server-found", server_found),
)


async def clear(app: StillApp, pilot: Pilot[int]) -> None:
    """As at the start."""
    while len(app.screen_stack) > 1:
        app.pop_screen()
    for task in tuple(app.actions._tasks):  # pyright: ignore[reportPrivateUsage] nobody answers them
        task.cancel()
    app.transcript.clear()
    app.todo.show_items(())
    app.queue.show_rows(())
    app.completion.show_offers(())
    app.box.take()
    app.box.busy = False
    app.activity = Activity()
    app.line._words = app._words  # pyright: ignore[reportPrivateUsage]
    app.line.refresh()
    await pilot.pause()
