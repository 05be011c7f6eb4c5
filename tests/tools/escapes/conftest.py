from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator

import pytest

from pool_tools.sandbox.probe import TIERS

from .agents import ENV_SECRET, Agent, interpreter, new_base, plain_user

WHO = ("root", "user")

# As a person's shell has them: none of it may reach a command.
ENVIRONMENT = {
    "POOL_API_KEY": ENV_SECRET,
    "AWS_SECRET_ACCESS_KEY": ENV_SECRET,
    "SSH_AUTH_SOCK": "/tmp/ssh-x/agent.1",
    "GIT_DIR": "/nowhere",
    "GIT_EXTERNAL_DIFF": "touch pwned",
    "GIT_SSH_COMMAND": "touch pwned",
    "BASH_ENV": "/nowhere/evil.sh",
    "PYTHONSTARTUP": "/nowhere/evil.py",
    "NODE_OPTIONS": "--require /nowhere/evil.js",
    "PERL5OPT": "-Mevil",
}

Maker = Callable[..., Agent]


def start(tier: str, who: str, **bounds: int) -> Agent:
    if who == "root" and os.getuid() != 0:
        pytest.skip("the tests do not run as root")
    uid = plain_user() if who == "user" else None
    try:
        interpreter(uid)
    except LookupError as error:
        pytest.skip(str(error))
    agent = Agent(new_base(), uid, tier, ENVIRONMENT, **bounds)
    if tier and agent.tier != tier:
        reason = f"no {tier} here: {agent.state['reason']}"
        finish(agent)
        # On a machine that builds and tests, the tier that matters most must be there.
        if os.environ.get("CI") and tier == "bubblewrap":
            pytest.fail(reason)
        pytest.skip(reason)
    return agent


def finish(agent: Agent) -> None:
    agent.close()
    shutil.rmtree(agent.base, ignore_errors=True)


@pytest.fixture(scope="session", params=[(tier, who) for tier in TIERS for who in WHO], ids="-".join)
def running(request: pytest.FixtureRequest) -> Iterator[Agent]:
    """One agent for all tests of a tier and a user."""
    agent = start(*request.param)
    yield agent
    finish(agent)


@pytest.fixture
def agent(running: Agent) -> Iterator[Agent]:
    """An agent with an empty workspace. Whatever a test does, the file outside stays as it was."""
    yield running
    running.clear()
    assert running.outside.read_text() == "as it was\n"
    assert sorted(p.name for p in running.base.iterdir()) == ["home", "outside.txt", "work"]
    assert sorted(p.name for p in running.home.iterdir()) == [".aws", ".config", ".gitconfig", ".netrc", ".ssh"]


@pytest.fixture
def make(running: Agent) -> Iterator[Maker]:
    """Makes further agents of the same tier and user, with other bounds."""
    made: list[Agent] = []

    def maker(**bounds: int) -> Agent:
        made.append(start(running.tier, "root" if running.is_root else "user", **bounds))
        return made[-1]

    yield maker
    for agent in made:
        finish(agent)
