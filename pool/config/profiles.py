"""Profiles that come with Pool. One of a user's with the same name is laid over it."""

from __future__ import annotations

from collections.abc import Mapping

NIGHT: Mapping[str, object] = {
    "budgets.turns": 300,
    "budgets.seconds": 28_800.0,
    "budgets.idle_turns_note": 12,
    "budgets.idle_turns_stop": 20,
    "budgets.idle_stop_seconds": 1_800.0,
    "budgets.reasoning_run": 122_880,
    "server.wait_seconds": 1_800.0,
}
"""A long task without anybody there. reasoning_run is the usual limit for 300 turns instead of 40."""

SPARK: Mapping[str, object] = {
    "sampling.temperature": 0.7,
    "sampling.top_p": 0.95,
    "sampling.top_k": 20,
    "budgets.seconds": 7_200.0,
    "budgets.idle_stop_seconds": 1_800.0,
    "server.wait_seconds": 900.0,
    "server.first_contact_seconds": 60.0,
    "server.idle_seconds": 600.0,
}
"""Laguna S 2.1 on a DGX Spark.

Public reports give 12 to 18 tokens a second (22 to 24 on code with a draft model), 600 to 800 tokens of prompt a
second, and over 5 minutes for the first load of the model. 40 turns of 2,048 tokens of thought at 15 a second are
5,460 s, hence the seconds. A server that restarts loads the model again, hence the waits.
"""

BUILT_IN_PROFILES: Mapping[str, Mapping[str, object]] = {"night": NIGHT, "spark": SPARK}

INTERACTIVE: Mapping[str, object] = {"budgets.turns": 50, "budgets.seconds": 0.0}
"""Where a person is there: after so many turns Pool asks whether to go on, and time is the person's own."""
