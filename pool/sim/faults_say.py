"""Faults in what the model says or in how its server's parsers take it: they change a `Saying`.

Ids R1 to R10 and T1 to T17 are those of the fault catalogue for Laguna on vLLM; ids such as LOOP-03 those of the trial
cases from public bug reports; numbers such as 27 name recordings in `tests/wire/recordings/vllm-0.25.1/`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from pool.sim.say import Call, Saying
from pool.sim.tokens import CALL, END_THINK, END_VALUE, KEY, THINK

SayFault = Callable[[Saying, str], Saying]

STOCK_THOUGHT = "I should look before I answer."
FILLER = "# and so on\n"
RUNAWAY_PHRASE = "wait, check again. "


def leaked_think(saying: Saying, arg: str) -> Saying:
    """R1: the reasoning parser passes everything, so thought and closing tag lead the content.

    https://github.com/vllm-project/vllm/issues/49379 · recordings 60, 61
    """
    if saying.opened:
        return replace(saying, plain=True, thought=saying.thought or STOCK_THOUGHT)
    return replace(saying, plain=True, rest=f"{saying.reply.thought or STOCK_THOUGHT}{END_THINK}{saying.rest}")


def stray_close(saying: Saying, arg: str) -> Saying:
    """R2: the content starts with a lone closing tag.

    https://github.com/modelplaneai/modelplane/pull/374 · recording 07
    """
    if saying.opened:
        return replace(saying, plain=True, thought="")
    return replace(saying, plain=True, rest=END_THINK + saying.rest)


def think_in_content(saying: Saying, arg: str) -> Saying:
    """R3: a whole think block, tags and all, leads the content.

    https://github.com/vllm-project/vllm/issues/34625 · recording 08
    """
    thought = saying.reply.thought or STOCK_THOUGHT
    return replace(saying, plain=True, thought="", closed=False, rest=f"{THINK}{thought}{END_THINK}{saying.rest}")


def second_think(saying: Saying, arg: str) -> Saying:
    """R4: a second think block after the answer's words stays in the content. Recording 48."""
    reply = saying.reply
    again = f"{THINK}One more thought.{END_THINK}"
    return replace(saying, rest=f"{reply.content}{again}{''.join(call.markup for call in reply.calls)}")


def thought_never_closed(saying: Saying, arg: str) -> Saying:
    """R5, R10: the thought is never closed; answer and calls arrive as reasoning, `finish_reason` stop. Recording 10.

    Does nothing where the prompt opens no thought.
    """
    return replace(saying, closed=False, rest=f"\n\n{saying.rest}") if saying.opened else saying


def call_in_reasoning(saying: Saying, arg: str) -> Saying:
    """R6: the call is written inside the thought, never parsed, `finish_reason` stop. Recordings 11 (`closed`), 12.

    arg `closed`: the thought is closed after the call. Does nothing where the prompt opens no thought.
    """
    if not saying.opened or not saying.reply.calls:
        return saying
    calls = "".join(call.markup for call in saying.reply.calls)
    return replace(saying, thought=f"{saying.thought}\n{calls}", rest="", closed=arg == "closed")


def reasoning_only(saying: Saying, arg: str) -> Saying:
    """THINK-05, R9: the whole answer sits in the reasoning field, no content and no call follow.

    https://github.com/modelship-ai/modelship/pull/130 · https://github.com/NousResearch/hermes-agent/pull/3244
    """
    if not saying.opened:
        return saying
    return replace(saying, thought=f"{saying.thought} {saying.reply.content or 'So that is what I do.'}", rest="")


def empty_name(saying: Saying, arg: str) -> Saying:
    """T1: a newline after the opening tag makes the streamed call's name empty; its arguments are fine.

    Run with vLLM 0.25.1's parser.
    """
    return replace(saying, rest=saying.rest.replace(CALL, f"{CALL}\n"))


def cut_call_closed(saying: Saying, arg: str) -> Saying:
    """T3: `max_tokens` comes inside a string argument; the JSON is closed, `finish_reason` is tool_calls.

    The last string argument is filled up to the limit, so the token counts are true. Recording 27.
    """
    at = saying.rest.rfind(END_VALUE)
    if not saying.reply.calls or at < 0:
        return saying
    return replace(saying, rest=f"{saying.rest[:at]}\n", loop=FILLER, loops_in="rest")


def markup_as_text(saying: Saying, arg: str) -> Saying:
    """CALL-15, T17: the call parser misses the call, its markup arrives as content, `finish_reason` stop.

    https://github.com/vllm-project/vllm/pull/47311 · recordings 34, 38
    """
    return replace(saying, deaf=True)


def tool_calls_without_call(saying: Saying, arg: str) -> Saying:
    """CALL-07: `finish_reason` says tool_calls, but no call was sent.

    https://github.com/vllm-project/vllm/issues/44326
    """
    return replace(saying, rest="", finish="tool_calls")


def stop_with_call(saying: Saying, arg: str) -> Saying:
    """CALL-08: a call was sent, but `finish_reason` says stop.

    https://github.com/Blaizzy/mlx-vlm/pull/1014 · recording 39
    """
    return replace(saying, finish="stop")


def runaway_thought(saying: Saying, arg: str) -> Saying:
    """LOOP-06: one phrase for ever (arg, or a stock one), in the thought, or in the content if there is none.

    https://github.com/jwbron/egg/issues/3595 (reported for Laguna)
    """
    phrase = arg or RUNAWAY_PHRASE
    if saying.opened:
        return replace(saying, loop=phrase, loops_in="thought")
    return replace(saying, rest="", loop=phrase, loops_in="rest")


def empty_reply(saying: Saying, arg: str) -> Saying:
    """LOOP-01: neither words nor calls, `finish_reason` stop.

    https://github.com/netclaw-dev/netclaw/issues/963 · recordings 35, 36
    """
    return replace(saying, thought="", rest="")


def announce_without_act(saying: Saying, arg: str) -> Saying:
    """LOOP-03: the next step is announced, no call follows, `finish_reason` stop.

    https://github.com/NousResearch/hermes-agent/pull/78113
    """
    if not saying.reply.calls:
        return saying
    return replace(saying, rest=f"Now I will {_phrase(saying.reply.calls[0])}:")


def repeat_call(saying: Saying, arg: str) -> Saying:
    """LOOP-04: the last call of the history again, whatever came of it.

    https://github.com/PrimeIntellect-ai/prime-agent/issues/1326 · https://github.com/HKUDS/nanobot/issues/2298
    """
    return saying if saying.last_call is None else replace(saying, rest=saying.last_call.markup)


def one_call(saying: Saying, arg: str) -> Saying:
    """Only the first of several calls is made: a server that knows one call a turn.

    https://github.com/QwenLM/Qwen-Agent/issues/119
    """
    calls = saying.reply.calls
    return replace(saying, rest=f"{saying.reply.content}{calls[0].markup}") if len(calls) > 1 else saying


def no_value(saying: Saying, arg: str) -> Saying:
    """T7: a key without a value: the name is sent, its arguments stay empty, everything after is swallowed.

    Run with vLLM 0.25.1's parser.
    """
    at = saying.rest.find(KEY)
    if not saying.reply.calls or at < 0:
        return saying
    return replace(saying, rest=saying.rest[:at] + f"{KEY}path</arg_key></tool_call>")


def _phrase(call: Call) -> str:
    target = next((str(value) for value in call.arguments.values()), "")
    return f"use {call.name} on {target}" if target else f"use {call.name}"


SAY_FAULTS: Mapping[str, SayFault] = {
    "leaked-think": leaked_think,
    "stray-close": stray_close,
    "think-in-content": think_in_content,
    "second-think": second_think,
    "thought-never-closed": thought_never_closed,
    "call-in-reasoning": call_in_reasoning,
    "reasoning-only": reasoning_only,
    "empty-name": empty_name,
    "one-call": one_call,
    "no-value": no_value,
    "cut-call-closed": cut_call_closed,
    "markup-as-text": markup_as_text,
    "tool-calls-without-call": tool_calls_without_call,
    "stop-with-call": stop_with_call,
    "runaway-thought": runaway_thought,
    "empty-reply": empty_reply,
    "announce-without-act": announce_without_act,
    "repeat-call": repeat_call,
}
