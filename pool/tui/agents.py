"""`/agent`: the agents there are, and a new session with another one."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from pool.facekit.agents.descriptions import AgentError, agent_named, agent_names, installed_agent
from pool.tui.panels import Item, Picker

if TYPE_CHECKING:
    from pool.tui.app import PoolApp

OWN = "pool"
"""Pool's own agent, in its sandbox."""


def choose(app: PoolApp) -> None:
    """Let the person choose one of the agents that are installed."""

    def picked(name: str | None) -> None:
        if name is not None:
            app.actions.command(f"/agent {name}")

    app.push_screen(Picker("Agents: a new session begins", _items()), picked)


def _items() -> list[Item]:
    items = [Item(OWN, f"{OWN}: Pool's own, in its sandbox")]
    for name in agent_names(os.environ):
        try:
            agent = agent_named(name, os.environ)
        except AgentError as error:
            items.append(Item(name, f"{name}: cannot be used: {error}"))
            continue
        missing = "" if agent.program(os.environ) else f"; not installed: {agent.install or agent.command[0]}"
        items.append(Item(name, f"{name}: {agent.title}{missing}"))
    return items


async def use(app: PoolApp, name: str) -> None:
    """Leave this session and begin one with the agent of that name."""
    driver = app.driver
    if driver.attached:
        app.actions.say_error("a run of another process is shown here", "leave it first (/quit); the run goes on")
        return
    try:
        agent = None if name == OWN else installed_agent(name, os.environ)
    except AgentError as error:
        app.actions.say_error(str(error), error.remedy)
        return
    glance = driver.glance()
    if driver.agent is None and glance is not None:
        # Pool's own agent is to ask no less when it is come back to.
        app.settings = replace(app.settings, mode=glance.mode)
    await driver.close()
    app.driver = app.driver_of(agent)
    await app.actions.reopen(resume="")
