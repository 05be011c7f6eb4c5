"""The keys of subagents."""

from __future__ import annotations

from pool.config.agents import agents_of, for_checkout
from pool.config.keys import Key, Trust
from pool.config.kinds import Count, Number, Switch, Text, Texts
from pool.config.tablekind import NamedTables

_AGENTS = NamedTables(
    "subagents, each with about",
    '{ about = "reviews a diff", prompt = "Look for bugs alone.", read_only = true }',
    {
        "about": Text(),
        "prompt": Text(lines=True),
        "tools": Texts(),
        "model": Text(),
        "base_url": Text(),
        "key_variable": Text(),
        "read_only": Switch(),
        "turns": Count(),
        "seconds": Number(),
        "tokens": Count(),
    },
    ("about",),
)

AGENT_KEYS: tuple[Key, ...] = (
    Key(
        "agents",
        _AGENTS,
        "Subagents of your own by name (`[agents.NAME]`): `about`, and `prompt`, `tools`, `model`, `base_url`, "
        "`key_variable`, `read_only`, `turns`, `seconds`, `tokens`; see subagents.md.",
        "agents",
        danger="the model may give work to these, with the prompt, model and server that they name",
        make=agents_of,
        adds=True,
        for_checkout=for_checkout,
    ),
    Key(
        "subagents.parallel",
        Count(),
        "How many subagents work at the same time. 0: as many as the server has room for.",
        "subagents.parallel",
        Trust.LOWER,
        danger="more requests are sent at the same time",
    ),
    Key(
        "subagents.turns",
        Count(),
        "How many replies a subagent may take. 0: no limit but those of the run.",
        "subagents.turns",
        Trust.LOWER,
        danger="a subagent may go on for longer",
    ),
    Key(
        "subagents.answer_tokens",
        Count(least=50),
        "About how long what a subagent hands back may be, in tokens.",
        "subagents.answer_tokens",
        Trust.LOWER,
        danger="results of subagents take more of the window",
    ),
)
