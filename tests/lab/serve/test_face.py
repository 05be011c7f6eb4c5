"""How a watch is shown."""

from __future__ import annotations

import io
import json

from pool.lab.serve.face import JsonFace, TextFace
from pool.lab.serve.watch import Said


def step(done: int, phase: str = "weights") -> Said:
    data = {"phase": phase, "done": done, "of": 16}
    return Said("phase", f"{phase} {done} of 16", data, passing=0 < done < 16)


def shown(*said: Said, live: bool) -> str:
    out = io.StringIO()
    face = TextFace(out, live=live, width=80)
    for one in said:
        face(one)
    return out.getvalue()


def test_a_log_gets_some_of_the_steps() -> None:
    lines = shown(*(step(n) for n in range(17)), step(1, "capture"), live=False).splitlines()
    assert [line.split("s  ")[1] for line in lines] == [
        "weights 0 of 16",
        "weights 1 of 16",
        "weights 4 of 16",
        "weights 8 of 16",
        "weights 12 of 16",
        "weights 16 of 16",
        "capture 1 of 16",
    ]


def test_a_terminal_gets_one_line_that_changes() -> None:
    text = shown(step(1), step(2), Said("ready", "ready"), live=True)
    assert text.count("\n") == 1
    assert text.count("\r\x1b[K") == 2
    assert text.endswith("ready\n")


def test_what_a_server_says_is_no_escape() -> None:
    text = shown(Said("ended", "last line: \x1b[2Jx\nforged", remedy="do \x07this"), live=True)
    assert "\x1b" not in text
    assert text.splitlines()[0].endswith("\\x1b[2Jx\\x0aforged")
    assert text.splitlines()[1].strip() == "-> do \\x07this"


def test_for_programs() -> None:
    out = io.StringIO()
    JsonFace(out)(Said("problem", "no \x1b", {"name": "x"}, "this"))
    assert json.loads(out.getvalue()) == {"type": "serve.problem", "words": "no \x1b", "name": "x", "remedy": "this"}
    assert out.getvalue().isascii()
