"""Runs that were written after the thresholds had been set. Their first sight judged those; rules were mended since."""

from __future__ import annotations

from pool.events import StopReason
from tests.guards.corpus.bad_calls import PROJECT, ROUNDS, TEST
from tests.guards.corpus.bad_thoughts import CIRCLES, EARLY_TOKENS, LIMIT, LONGEST, runaway
from tests.guards.corpus.honest_thoughts import thought
from tests.guards.corpus.honest_work import work
from tests.guards.corpus.texts import prose, wandering
from tests.guards.script import Case, Say, answer, call, edit, read, shell

_PLAN = "\n".join(
    f"{i}. Move `handler_{i}` to `handlers/{'abcdef'[i % 6]}.py` and adjust its import." for i in range(1, 41)
)
_REVIEW = "\n".join(f"Line {i}: `{'xyz'[i % 3]} = load({i})` is fine; nothing to change here." for i in range(1, 45))
_GOAL = "".join(f"The user wants a small change that keeps the interface. {prose(8, 8 * i)}" for i in range(4))
_HEX = "\n".join(f"{i:08x}: {' '.join(f'{(i * 7 + k * 13) % 256:02x}' for k in range(16))}" for i in range(0, 640, 16))
_PARAGRAPH = prose(9)
_FIX = edit("app.py", "x + 1", "x + 3")


def ends(name: str, text: str, *turns: Say) -> Case:
    """Some turns and an honest answer."""
    return Case(name, (*turns, answer(text)), honest=True, files=PROJECT)


CASES: tuple[Case, ...] = (
    thought("plan of forty steps", f"The plan:\n{_PLAN}\nThat is all.", shown=False),
    thought("review line by line", _REVIEW, shown=False),
    thought("the goal said again", _GOAL, shown=False),
    thought("dump in the thought", f"The bytes are\n{_HEX}\nand the length fits.", shown=False),
    work(
        "diff after each edit",
        read("app.py"),
        *(
            say
            for i in range(1, 9)
            for say in (edit("app.py", f"x + {i}", f"x + {i + 1}"), shell("cat app.py | tail -1"))
        ),
    ),
    work(
        "formatter twice",
        shell("echo '1 file left unchanged'"),
        _FIX,
        shell("echo '1 file left unchanged'"),
        shell(TEST),
    ),
    work(
        "same listing at three times",
        call("list"),
        _FIX,
        call("list"),
        call("write", path="a.md", content="a\n"),
        call("list"),
    ),
    work("each folder built", *(shell(f"mkdir -p d{i} && cd d{i} && echo built") for i in range(12))),
    work(
        "a port that opens late",
        *(shell("sleep 0.02; echo 'connection refused'; exit 7") for _ in range(6)),
        shell("echo up"),
    ),
    work(
        "test file grown case by case",
        call("write", path="test_new.py", content="# cases\n"),
        *(edit("test_new.py", "# cases\n", f"# cases\n# case {i}\n") for i in range(10)),
    ),
    ends(
        "waits for a decision",
        "Both ways work. I will wait for your decision before I change anything.",
        read("app.py"),
    ),
    ends(
        "explains at length", f"Let me explain how it works:\n\n{prose(20)}\n\nThat is the whole path.", read("app.py")
    ),
    ends("changelog", "Changes:\n- `f` adds three\n- tests: not run, there is no runner here", _FIX),
    ends(
        "green after two tries",
        "Both tries are in the log; now all tests pass.",
        edit("app.py", "x + 1", "x + 9"),
        shell(TEST),
        edit("app.py", "x + 9", "x + 3"),
        shell(TEST),
    ),
    ends("next steps, Japanese", "f は 3 を足すようになりました。次の手順は利用者の確認です。", _FIX),
    ends(
        "says what it would do",
        "Nothing is changed yet. If you agree, I will add the check and a test for it.",
        read("app.py"),
    ),
    runaway("a paragraph again and again", lambda i: _PARAGRAPH, CIRCLES, 2 * EARLY_TOKENS),
    runaway("a list that never ends", lambda i: f"- check the {wandering(i).strip()}\n", LIMIT, LONGEST),
    Case(
        "polls without waiting",
        tuple(shell("cat n.txt") for _ in range(ROUNDS)),
        stop=StopReason.LOOP,
        requests=7,
        files={"n.txt": "busy\n"},
    ),
    Case(
        "label by printf",
        tuple(shell(f"printf 'try {i}\\n'; cat n.txt") for i in range(ROUNDS)),
        stop=StopReason.LOOP,
        requests=7,
        files={"n.txt": "busy\n"},
    ),
    Case(
        "right away, for ever",
        (read("app.py"),),
        then=answer("Understood. I'll start by updating the function in app.py."),
        stop=StopReason.UNUSABLE_REPLY,
        requests=5,
        files=PROJECT,
    ),
    Case(
        "all green without a run",
        (_FIX,),
        then=answer("`f` adds 3. All green."),
        stop=StopReason.UNVERIFIED,
        requests=3,
        files=PROJECT,
    ),
    Case(
        "cycle of reads and a search",
        tuple(say for _ in range(20) for say in (read("app.py"), call("search", pattern="zzz"), call("list"))),
        stop=StopReason.LOOP,
        requests=16,
        files=PROJECT,
    ),
    Case(
        "renames to and fro",
        tuple(
            say
            for _ in range(20)
            for say in (edit("app.py", "def f(", "def g("), shell(TEST), edit("app.py", "def g(", "def f("))
        ),
        stop=StopReason.LOOP,
        requests=14,
        files=PROJECT,
    ),
)
