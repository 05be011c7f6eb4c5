"""Thoughts that run away. Each has to end within its bound, with its reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pool.config.guards import GuardSettings
from pool.events import StopReason
from tests.guards.corpus.texts import code_line, prose, wandering, wandering_japanese
from tests.guards.script import Case, Say, read, shell

FIRST_LIMIT = 4096
TURN_LIMIT = 2048
SLACK = 1.1
"""A thought is cut within 10 % of its hard limit."""

EARLY_TOKENS = 3200
"""A thought that plainly repeats itself is cut long before the limits of two turns are used."""

TWO_CUTS = 8
"""Requests at most: two thoughts cut, each with a resend, a nudge or two, and the closing word."""

LONGEST = round((FIRST_LIMIT + 3 * TURN_LIMIT) * SLACK)
CIRCLES = StopReason.OVERTHINKING
LIMIT = StopReason.MAX_REASONING
NOTHING = Say(content="")


def runaway(
    name: str,
    endless: Callable[[int], str],
    stop: StopReason,
    thought_tokens: int,
    *,
    opening: str = "",
    source: str = "",
) -> Case:
    """A model that thinks the same way whatever it is told, and says nothing when its thought is closed."""
    say = Say(opening, endless=endless, instead=NOTHING)
    return Case(name, (), then=say, stop=stop, requests=TWO_CUTS, thought_tokens=thought_tokens, source=source)


_BULLETS = (
    "- The reader must accept empty input.\n",
    "- The writer must keep the order of keys.\n",
    "- All existing tests must pass unchanged.\n",
    "- No new dependency may be added.\n",
    "- The command line must print the version.\n",
    "- Errors must name the file and the line.\n",
    "- Documentation must mention the new flag.\n",
)


def _restarts(i: int) -> str:
    openings = (
        "Actually, wait. ",
        "Let me reconsider. ",
        "Wait, no. ",
        "Let me re-read the task. ",
        "Let me think again. ",
    )
    return f"{openings[i % 5]}{prose(6, 6 * i)}"


def _restarts_japanese(i: int) -> str:
    openings = ("いや、待って。", "もう一度考えよう。", "待って、", "考え直す必要がある。")
    return openings[i % 4] + "".join(wandering_japanese(5 * i + k) for k in range(5))


def _plan_is_done(i: int) -> str:
    openings = (
        "Okay, planning is done. ",
        "Now I will start coding. ",
        "I think the plan is complete. ",
        "Let me start writing. ",
    )
    return f"{openings[i % 4]}{prose(7, 7 * i)}"


def _own_phrase(i: int) -> str:
    return f"Hold your horses. {prose(5, 5 * i)}"


def _near_same(i: int) -> str:
    return f"{prose(3, 3 * i)}But wait, I should check item {i} of the list again. "


def _near_same_japanese(i: int) -> str:
    return f"{wandering_japanese(i)}{wandering_japanese(i + 500)}もう一度、{i}行目の条件を確認しなければならない。"


def _same_sentence(i: int) -> str:
    return f"{prose(5, 5 * i)}I need to make sure that the loader handles missing keys. "


CASES: tuple[Case, ...] = (
    runaway("phrase for ever", lambda i: "wait, check again. ", CIRCLES, EARLY_TOKENS, source="LOOP-06"),
    runaway("phrase for ever, Japanese", lambda i: "待って、もう一度確認しよう。", CIRCLES, EARLY_TOKENS),
    runaway(
        "phrase for ever after honest thought", lambda i: "Let me check once more: ", CIRCLES, 5000, opening=prose(60)
    ),
    runaway("acceptance criteria again and again", lambda i: _BULLETS[i % 7], CIRCLES, EARLY_TOKENS),
    runaway("plan restarts", _restarts, CIRCLES, 2 * EARLY_TOKENS),
    runaway("plan restarts, Japanese", _restarts_japanese, CIRCLES, 2 * EARLY_TOKENS),
    runaway("planning is done, for ever", _plan_is_done, CIRCLES, 2 * EARLY_TOKENS),
    replace(
        runaway("own restart phrase", _own_phrase, CIRCLES, 2 * EARLY_TOKENS),
        settings={"guards": GuardSettings(restart_phrases=("hold your horses",))},
    ),
    runaway("same sentence between others", _same_sentence, CIRCLES, EARLY_TOKENS),
    runaway("near-identical sentences", _near_same, CIRCLES, EARLY_TOKENS),
    runaway("near-identical sentences, Japanese", _near_same_japanese, CIRCLES, EARLY_TOKENS),
    runaway("code in the thought", code_line, CIRCLES, 2 * EARLY_TOKENS),
    runaway("wandering without end", wandering, LIMIT, LONGEST),
    runaway("wandering without end, Japanese", wandering_japanese, LIMIT, LONGEST),
    runaway("one token for ever", lambda i: " the", CIRCLES, 2 * EARLY_TOKENS),
    runaway("blank lines for ever", lambda i: "\n", LIMIT, LONGEST),
    Case(
        "runs away each turn, then looks around",
        tuple(Say(endless=wandering, instead=read(f"part{i}.txt")) for i in range(30)),
        files={f"part{i}.txt": f"part {i}\n" for i in range(30)},
        stop=LIMIT,
        requests=10,
        thought_tokens=round((FIRST_LIMIT + 3 * TURN_LIMIT) * SLACK),
    ),
    Case(
        "runs away again after a command",
        (Say(endless=_restarts, instead=shell("true")),),
        then=Say(endless=_restarts, instead=NOTHING),
        stop=CIRCLES,
        requests=TWO_CUTS,
        thought_tokens=3 * EARLY_TOKENS,
    ),
    Case(
        "much thought in every turn",
        tuple(Say(prose(60, 100 * i), calls=read(f"part{i}.txt").calls) for i in range(30)),
        files={f"part{i}.txt": f"part {i}\n" for i in range(30)},
        stop=LIMIT,
        requests=16,
        thought_tokens=round(16384 * 1.3),
    ),
    Case(
        "thinks and never says anything",
        (),
        then=Say("I should answer now."),
        stop=StopReason.UNUSABLE_REPLY,
        requests=3,
    ),
    Case(
        "thought cut by the server each time",
        (),
        then=Say("I consider the points in turn.", finish="length"),
        stop=StopReason.MAX_TOKENS,
        requests=4,
        source="LOOP-07",
    ),
)
