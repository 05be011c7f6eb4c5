"""Replies that give nothing to act on, and answers that say more than was done."""

from __future__ import annotations

from pool.events import StopReason
from tests.guards.corpus.bad_calls import PROJECT, TEST
from tests.guards.corpus.texts import wandering
from tests.guards.script import Case, Say, answer, call, edit, read, shell

UNUSABLE = StopReason.UNUSABLE_REPLY
UNVERIFIED = StopReason.UNVERIFIED
FILES = {**PROJECT, "test_other.py": PROJECT["test_app.py"].replace("5", "3")}
FIX = edit("app.py", "x + 1", "x + 3")
SPOIL = edit("app.py", "x + 3", "x + 4")
MARKUP = "<tool_call>read<arg_key>path</arg_key>"


def claims(name: str, *turns: Say, claim: str = "I fixed it. All tests pass.") -> Case:
    """A claim that is not backed, and that stands when the model is told."""
    said = answer(claim)
    return Case(name, (*turns, said), then=said, stop=UNVERIFIED, requests=len(turns) + 2, files=FILES)


CASES: tuple[Case, ...] = (
    Case("empty for ever", (read("app.py"),), then=Say(), stop=UNUSABLE, requests=4, files=PROJECT, source="LOOP-02"),
    Case("blank for ever", (read("app.py"),), then=Say(content=" \n"), stop=UNUSABLE, requests=4, files=PROJECT),
    Case(
        "call announced by the server only",
        (),
        then=Say(finish="tool_calls"),
        stop=UNUSABLE,
        requests=3,
        source="CALL-07",
    ),
    Case(
        "announced and not done",
        (read("app.py"),),
        then=answer("Now I will update config.py:"),
        stop=UNUSABLE,
        requests=5,
        files=PROJECT,
        source="LOOP-03",
    ),
    Case(
        "announced and not done, in a sentence",
        (read("app.py"),),
        then=answer("The bug is in `f`, which adds one too few. Let me fix it now."),
        stop=UNUSABLE,
        requests=5,
        files=PROJECT,
    ),
    Case(
        "announced and not done, Japanese",
        (read("app.py"),),
        then=answer("原因が分かりました。次に app.py を修正します。"),
        stop=UNUSABLE,
        requests=5,
        files=PROJECT,
    ),
    Case("markup that is never a call", (), then=answer(MARKUP), stop=UNUSABLE, requests=3, source="CALL-15"),
    Case(
        "answer without end",
        (),
        then=Say(endless=wandering, endless_in="content"),
        stop=StopReason.MAX_TOKENS,
        requests=4,
    ),
    Case(
        "file too long for a reply",
        (),
        then=call("write", path="big.py", content="x = 1\n" * 12_000),
        stop=StopReason.MAX_TOKENS,
        requests=5,
    ),
    claims("claim without a test run", FIX),
    claims("claim without a test run, Japanese", FIX, claim="修正しました。すべてのテストが通りました。"),
    claims("claim after reading a file about tests", FIX, shell("cat test_app.py; ls pytest.ini")),
    claims("claim after a failed run", edit("app.py", "x + 1", "x + 9"), shell(TEST)),
    claims(
        "claim after a failed run, hidden by a pipe", edit("app.py", "x + 1", "x + 9"), shell(f"{TEST} 2>&1 | tail -3")
    ),
    claims("claim with an edit after the run", FIX, shell("python3 -B -m unittest -q test_app"), SPOIL),
    claims(
        "claim with a command that edits after the run", FIX, shell(f"{TEST} test_app"), shell("sed -i s/3/4/ app.py")
    ),
    claims("claim after a part", call("list"), FIX, shell("python3 -B -m unittest -q test_app.py")),
    claims("claim after one test", FIX, shell("python3 -B -m unittest -q -k test_f test_app")),
    claims(
        "claim after a run without tests",
        FIX,
        shell("mkdir -p empty && cd empty && python3 -B -m unittest discover; true"),
    ),
    claims(
        "claim beside a mended failing test",
        FIX,
        claim="The failing test was caused by `f`. I mended it, all 2 tests pass.",
    ),
    claims(
        "done while tests fail", edit("app.py", "x + 1", "x + 9"), shell(TEST), claim="Done. The function is fixed."
    ),
    claims(
        "done while tests fail, Japanese",
        edit("app.py", "x + 1", "x + 9"),
        shell(TEST),
        claim="app.py を修正しました。",
    ),
)
