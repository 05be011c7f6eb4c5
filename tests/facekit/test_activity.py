"""The line that says what goes on: words and figures from events."""

from __future__ import annotations

from pool.events import (
    ApprovalAsked,
    ApprovalGiven,
    Body,
    CallFinished,
    CallProgress,
    CallStarted,
    ContentDelta,
    Envelope,
    Event,
    QuestionAnswered,
    QuestionAsked,
    ReasoningDelta,
    RunFinished,
    RunStarted,
    StopReason,
    TurnFinished,
    TurnStarted,
    Usage,
    UsageReported,
    Waiting,
)
from pool.facekit.activity import Activity, Phase


class Line:
    """An activity fed by hand, with a clock of its own."""

    def __init__(self) -> None:
        self.activity = Activity()
        self.now = 100.0
        self.seq = 0

    def say(self, body: Body, call: str = "") -> None:
        self.seq += 1
        self.activity.take(Event(Envelope("s", "r", 1, self.seq, self.now, self.now, call=call), body), self.now)

    def words(self, later: float = 0.0) -> str:
        self.now += later
        return " · ".join(w for w in self.activity.words(self.now) if w)

    def start(self) -> None:
        self.say(RunStarted("p", "/w", "m", "s", "auto", "bubblewrap"))


def test_an_idle_line_is_blank() -> None:
    assert Line().words() == ""


def test_prefill_is_estimated_from_measured_speed() -> None:
    line = Line()
    line.start()
    line.say(TurnStarted(6000, 8000))
    line.say(Waiting("prefill", "about 6,000 tokens"))
    assert line.words(3.0) == "reading the prompt · about 6,000 tokens · 3 s"
    line.say(UsageReported(Usage(6000, 100, 0, 0), 10.0, 15.0))
    assert line.activity.speed.reading == 600.0
    line.say(TurnStarted(6000 + 100 + 3000, 8000))
    assert line.words(2.0) == "reading the prompt · about 9,100 tokens · 2 s of about 5 s"


def test_progress_that_the_server_tells_goes_first() -> None:
    line = Line()
    line.start()
    line.say(TurnStarted(6000, 8000))
    line.say(Waiting("prefill", "", progress=0.42))
    assert line.words(4.0) == "reading the prompt · 42%, 4 s"


def test_thinking_counts_seconds_and_tokens() -> None:
    line = Line()
    line.start()
    line.say(ReasoningDelta("x" * 36))
    line.now += 2.0
    line.say(ReasoningDelta("x" * 324))
    assert line.words() == "thinking · ~100 tokens, ~50 a second · 2 s"
    line.say(ContentDelta("x"))
    assert line.words().startswith("writing")


def test_what_the_servers_metrics_say_is_told() -> None:
    line = Line()
    line.start()
    line.say(TurnStarted(6000, 8000))
    assert line.activity.worth_watching
    line.activity.hear(2, 1, -1.0)
    assert line.words(3.0) == "reading the prompt · 1 waiting and 2 running there · 3 s"
    line.say(ContentDelta("x" * 360))
    line.activity.hear(1, 0, 2.44)
    assert line.words(5.0) == "writing · ~100 tokens, ~20 a second, 2.4 drafts a step · 5 s"


def test_writing_speed_comes_from_usage_and_not_from_chunks() -> None:
    line = Line()
    line.start()
    line.say(UsageReported(Usage(1000, 201, 0, 0), 2.0, 12.0))
    assert line.activity.speed.writing == 20.0


def test_an_estimated_usage_teaches_no_speed() -> None:
    line = Line()
    line.start()
    line.say(UsageReported(Usage(6000, 201, 0, 0, estimated=True), 2.0, 12.0))
    assert line.activity.speed.writing == line.activity.speed.reading == 0.0


def test_arguments_show_path_and_size() -> None:
    line = Line()
    line.start()
    line.say(CallProgress(0, "write", 2048, "src/a.py"))
    assert line.words(5.0) == "writing src/a.py · 2,048 characters · 5 s"
    line.say(CallProgress(0, "write", 4096, "src/a.py"))
    assert line.words() == "writing src/a.py · 4,096 characters · 5 s"


def test_tools_side_by_side_are_named_until_the_last_ends() -> None:
    line = Line()
    line.start()
    line.say(CallStarted("read"), call="a")
    line.say(CallStarted("search"), call="b")
    assert line.words() == "running read, search"
    line.say(CallFinished("read", "ok", "", 0.1), call="a")
    assert line.words() == "running search"
    line.say(CallFinished("search", "ok", "", 0.1), call="b")
    assert line.activity.phase is Phase.CONNECTING


def test_an_approval_says_that_it_waits_for_the_person() -> None:
    line = Line()
    line.start()
    line.say(ApprovalAsked("shell", "no rule"), call="a")
    assert line.words(2.0).startswith("waiting for your answer")
    line.say(ApprovalGiven(True, "person"), call="a")
    assert line.activity.phase is Phase.TOOL


def test_a_retry_counts_down() -> None:
    line = Line()
    line.start()
    line.say(TurnStarted(6000, 8000))
    line.now += 20.0
    line.say(Waiting("retry", "the server closed the connection", seconds=8.0, number=2, most=3))
    assert line.words(3.0) == "trying again · the server closed the connection · try 2 of 3 in 5 s · 23 s in all"
    line.say(Waiting("connecting", "nothing listens; giving up in 50 s", seconds=4.0, number=3))
    assert line.words(5.0) == "connecting · nothing listens; giving up in 50 s · try 3 now · 28 s in all"
    line.say(TurnStarted(6000, 8000))
    line.say(Waiting("connecting"))
    assert "try" not in line.words()


def test_minutes_are_minutes_and_the_end_is_blank() -> None:
    line = Line()
    line.start()
    line.say(ReasoningDelta("x"))
    assert line.words(125.0).endswith("2 min 05 s")
    line.say(TurnFinished("stop", "whole", 0))
    line.say(RunFinished(StopReason.COMPLETED, 0, "", "", 1, 1.0, Usage()))
    assert line.words() == ""
    assert not line.activity.busy


def test_a_request_beside_runs_is_shown_until_it_has_its_reply() -> None:
    """A compaction, the message of a commit: no run begins or ends; a stop key must not wait for one."""
    line = Line()
    line.say(TurnStarted(6000, 8000))
    line.say(Waiting("prefill", "about 6,000 tokens"))
    assert line.words(3.0) == "reading the prompt · about 6,000 tokens · 3 s"
    line.say(UsageReported(Usage(6000, 100, 0, 0), 10.0, 15.0))
    assert line.words() == ""
    line.say(Waiting("retry", "503", seconds=5.0))
    assert line.activity.busy
    line.activity.rest(line.now)
    assert not line.activity.busy
    line.start()
    line.say(UsageReported(Usage(6000, 100, 0, 0), 10.0, 15.0))
    line.activity.rest(line.now)
    assert line.activity.busy


def test_while_anything_waits_for_the_person_that_is_said() -> None:
    line = Line()
    line.start()
    line.say(CallStarted("ask"), call="1")
    line.say(QuestionAsked("q", "Which one?"))
    assert line.words(4.0) == "waiting for your answer · 4 s"
    line.say(QuestionAnswered("q", True, "this"))
    assert line.words() == "running ask"
    line.say(ApprovalAsked("shell", "no rule", id="2"), call="2")
    line.say(ApprovalGiven(True, "rule"), call="3")
    line.say(CallStarted("read"), call="3")
    line.say(CallFinished("read", "ok", "", 0.1), call="3")
    assert line.words(2.0) == "waiting for your answer · shell · 2 s"
    line.say(ApprovalGiven(True, "person", id="2"), call="2")
    line.say(CallFinished("ask", "ok", "", 0.1), call="1")
    assert line.activity.phase is Phase.CONNECTING
