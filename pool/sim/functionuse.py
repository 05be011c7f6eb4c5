"""A conversation with a client's own functions: call what fits, tell what they said, call nothing that does not."""

from __future__ import annotations

import json
import re
from typing import Any, cast

from pool.sim import words
from pool.sim.functioncalls import calls_for, read_functions
from pool.sim.history import function_results
from pool.sim.hunting import Past, can_hunt, hunted
from pool.sim.request import ChatRequest
from pool.sim.say import Reply

# What the rules know of the world.
CAPITALS = {"Finland": "Helsinki", "France": "Paris", "Japan": "Tokyo", "Kenya": "Nairobi", "Portugal": "Lisbon"}
_CAPITAL_OF = re.compile(r"\bcapital of ([A-Z]\w+)")
_TO_THE_CENT = re.compile(r"\bto the cent\b|\btwo digits\b", re.IGNORECASE)
_NUMBER = re.compile(r"-?\d+\.\d{3,}")


def used(request: ChatRequest, prompt: str) -> Reply:
    """The next reply to a prompt where all tools are functions that no role is known for."""
    functions, past = read_functions(request.tools), function_results(request.messages)
    if can_hunt(functions, prompt):
        found = hunted(prompt, functions, past)
        return found or Reply("The trail is lost.", f"I could not find the line. {words.WHO}")
    if past:
        return Reply("The functions have answered.", _told(prompt, past))
    if capital := _CAPITAL_OF.search(prompt):
        known = CAPITALS.get(capital[1])
        return Reply(
            "No function is needed.", f"The capital of {capital[1]} is {known}." if known else words.no_function()
        )
    calls = calls_for(prompt, functions, parallel=request.parallel)
    if not calls:
        return Reply("No function fits.", words.no_function())
    return Reply(f"{calls[0].name} fits what the user asks for.", calls=calls)


def _told(prompt: str, past: Past) -> str:
    lines = [f"{call.name}({', '.join(map(str, call.arguments.values()))}): {_plain(result)}" for call, result in past]
    text = "\n".join(lines)
    if _TO_THE_CENT.search(prompt):
        text = _NUMBER.sub(lambda number: f"{float(number[0]):.2f}", text)
    return f"{text}\n\n{words.WHO}"


def _plain(result: str) -> str:
    """A JSON object as `key: value` pairs, anything else as it is."""
    try:
        value: object = json.loads(result)
    except ValueError:
        return result.strip()
    if not isinstance(value, dict):
        return result.strip()
    return ", ".join(f"{key}: {one}" for key, one in cast("dict[str, Any]", value).items())
