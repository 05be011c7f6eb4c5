"""How findings are shown: aligned, wrapped, in plain characters where need be, and never as a terminal escape."""

from __future__ import annotations

import io
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pool.config.settings import ServerEnvironment
from pool.lab.doctor.examine import CHECKS, Cost, Step, cost
from pool.lab.doctor.finding import Finding, Status
from pool.lab.doctor.report import Look, TextReport, cost_words, json_report, size_words
from pool.lab.doctor.subject import Sizes, Subject
from pool.wire.endpoint import parse_endpoint
from pool.wire.transport import Transport

LONG = "the call arrives as markup in the text, and that goes on and on until the line is much too long for it "
BAD = Finding("tool-call", Status.FAIL, LONG, "Pool could not use it.", "--a-flag " + "x" * 90, {"n": 1})
GOOD = Finding("stream", Status.OK, "fine", "never shown", "never shown")
PLAIN = Look()
COLOUR = re.compile("\x1b\\[[0-9]*m")


def shown(*findings: Finding, look: Look = PLAIN) -> str:
    out = io.StringIO()
    report = TextReport(out, look, CHECKS, 120)
    for finding in findings:
        check = next(check for check in CHECKS if check.name == finding.name)
        report.step(Step(check))
        report.step(Step(check, finding))
    return out.getvalue()


def test_words_stand_in_one_column() -> None:
    lines = shown(GOOD, BAD).splitlines()
    assert lines[0] == "✓ stream       fine"
    assert lines[1].startswith("✗ tool-call    the call")
    assert {line[:15] for line in lines[2:]} == {" " * 15}
    assert lines[-2].strip() == "Pool could not use it."


def test_lines_fit_but_what_is_to_be_pasted_stays_whole() -> None:
    for width in (10, 40, 80, 300):
        lines = shown(BAD, look=Look(width=width)).splitlines()
        assert all(len(line) <= max(40, min(width, 120)) for line in lines[:-1])
        assert lines[-1].strip() == f"→ {BAD.remedy}"


def test_plain_characters() -> None:
    finding = Finding("model", Status.SKIP, "模型 is skipped", "naïve", "export A=é")
    text = shown(GOOD, BAD, finding, look=Look(unicode=False))
    assert text.isascii()
    assert [line[0] for line in text.splitlines() if line[0] != " "] == ["+", "x", "-"]
    assert "> --a-flag" in text


def test_colours_change_nothing_but_colours() -> None:
    coloured = shown(GOOD, BAD, look=Look(colours=True))
    assert coloured != shown(GOOD, BAD)
    assert COLOUR.sub("", coloured) == shown(GOOD, BAD)


def test_what_is_going_on_is_shown_on_a_terminal_only() -> None:
    assert "\r" not in shown(GOOD)
    assert "stream: does a reply stream? (a request may take 120 s)" in shown(GOOD, look=Look(live=True))


@given(st.text(), st.text(), st.text(), st.booleans())
def test_no_text_of_a_server_reaches_the_terminal_as_an_escape(words: str, means: str, remedy: str, utf8: bool) -> None:
    text = shown(Finding("model", Status.WARN, words, means, remedy), look=Look(unicode=utf8))
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]", text)
    text.encode("utf-8" if utf8 else "ascii")


def test_the_price_in_words() -> None:
    words = cost_words(CHECKS, cost(CHECKS))
    assert words.startswith(f"{len(CHECKS)} checks, at most about ")
    assert "a server that reads 600 and writes 20 tokens a second" in words
    assert cost_words(CHECKS[:2], Cost(0, 0)) == "2 checks; no tokens are needed."


def test_the_error_of_the_estimate_in_words() -> None:
    assert size_words(Sizes(0, 0, 0)) == ""
    words = size_words(Sizes(3, 1_100, 1_000, -0.05, 0.5))
    assert words == (
        "Pool estimated 1,100 tokens for prompts that the server counts as 1,000: +10%, single ones -5% to +50%."
    )


def test_one_object_for_programs() -> None:
    subject = Subject(Transport(parse_endpoint("http://u:secretword@h:1")), ServerEnvironment())
    step = Step(CHECKS[5], Finding("tool-call", Status.FAIL, "a\x1b[2Jb\u202e", "m", "r", {"n": [1]}), 1.23456)
    text = json_report(subject, [step], Cost(600, 20), 1, interrupted=False)
    assert text.isascii()
    assert "secretword" not in text
    assert "\x1b" not in text
    value = json.loads(text)
    assert value["schema"] == 1
    assert value["exit"] == 1
    assert value["cost"] == {"reads": 600, "writes": 20, "slow_seconds": 2.0}
    assert value["checks"] == [
        {
            "name": "tool-call",
            "status": "fail",
            "words": "a\x1b[2Jb\u202e",
            "means": "m",
            "remedy": "r",
            "seconds": 1.235,
            "data": {"n": [1]},
        }
    ]


@pytest.mark.parametrize("interrupted", [False, True])
def test_the_sums(interrupted: bool) -> None:
    out = io.StringIO()
    subject = Subject(Transport(parse_endpoint("h:1")), ServerEnvironment())
    report = TextReport(out, Look(), CHECKS, 120)
    skipped = Finding("cache", Status.SKIP, "no")
    report.end([GOOD, BAD, skipped], subject, interrupted=interrupted)
    head = "Interrupted: " if interrupted else ""
    assert out.getvalue() == f"\n{head}1 ok, 1 failed, 1 not made; 0 tokens read and 0 written.\n"
