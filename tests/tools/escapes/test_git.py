"""A19 to A25: what git takes orders from. As root and user, in both tiers; git itself is then run as the user does."""

from __future__ import annotations

from .agents import Agent

HOOK = "printf '#!/bin/sh\\ntouch pwned\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit"


def unharmed(agent: Agent) -> bool:
    """Whether git, run by the user outside any sandbox, does nothing that a command wanted."""
    # A command may have run its own program already, where it could do no harm.
    for marker in agent.work.rglob("pwned"):
        marker.unlink()
    agent.git("status")
    agent.git("diff")
    agent.git("log", "-1")
    agent.file("new.txt", "x")
    agent.git("add", "new.txt")
    agent.git("commit", "-q", "-m", "two")
    return not list(agent.base.rglob("pwned"))


def test_a19_hooks(agent: Agent) -> None:
    agent.repository()
    assert "belongs to git" in agent.call("write", path=".git/hooks/pre-commit", content="x").error
    reply = agent.shell(HOOK)
    assert not reply.ok or "held-back" in reply.text
    assert unharmed(agent)


def test_a19_hooks_where_there_is_no_folder_for_them(agent: Agent) -> None:
    agent.repository()
    agent.git("config", "core.logAllRefUpdates", "true")
    for path in sorted((agent.work / ".git/hooks").iterdir()):
        path.unlink()
    (agent.work / ".git/hooks").rmdir()
    reply = agent.shell(f"mkdir -p .git/hooks; {HOOK}")
    assert "put back by the sandbox" in reply.text
    assert "held-back" in reply.text
    assert unharmed(agent)


def test_a19_git_folder_moved_aside(agent: Agent) -> None:
    agent.repository()
    agent.shell(f"mv .git old; cp -r old .git; {HOOK}")
    assert unharmed(agent)


def test_a20_configuration_that_runs_programs(agent: Agent) -> None:
    agent.repository()
    config = (agent.work / ".git/config").read_bytes()
    for command in (
        "git config core.fsmonitor 'touch pwned; false'",
        "git config core.sshCommand 'touch pwned'",
        "git config alias.st '!touch pwned'",
        "printf '[core]\\n\\tfsmonitor = touch pwned\\n' >> .git/config",
    ):
        reply = agent.shell(command)
        assert not reply.ok or "put back by the sandbox: .git/config" in reply.text, command
    assert (agent.work / ".git/config").read_bytes() == config
    assert unharmed(agent)


def test_a20_repository_within_the_repository(agent: Agent) -> None:
    agent.repository()
    command = "git init -q sub && git -C sub config core.fsmonitor 'touch pwned; false' && git -C sub commit -q -m x"
    reply = agent.shell(f"{command} --allow-empty; git add -f sub; git ls-files -s")
    assert "core.fsmonitor in sub/.git/config" in reply.text
    assert "160000" in reply.text, "git now looks into sub whenever it is asked for the status"
    assert unharmed(agent)


def test_a21_programs_by_options_stay_inside(agent: Agent) -> None:
    agent.repository()
    inside = f"touch {agent.base}/pwned {agent.home}/pwned; false"
    agent.shell(f"git -c core.pager='{inside}' -c pager.log=true log; git -c alias.x='!{inside}' x")
    assert unharmed(agent)


def test_a22_transport_that_runs_a_program(agent: Agent) -> None:
    agent.shell(f"git -c protocol.ext.allow=always clone 'ext::sh -c \"touch {agent.base}/pwned\"' copy")
    assert not list(agent.base.rglob("pwned"))


def test_a23_environment_of_the_user(agent: Agent) -> None:
    agent.repository()
    assert agent.out("env | grep -E '^GIT_(DIR|EXTERNAL_DIFF)='") == ""
    assert agent.out("git rev-parse --git-dir") == ".git"
    agent.file("a", "x")
    agent.git("add", "a")
    agent.shell("echo y > a; git diff; git fetch ssh://localhost/x")
    assert not (agent.work / "pwned").exists()


def test_a24_submodules_with_odd_addresses(agent: Agent) -> None:
    agent.repository()
    evil = f"--upload-pack=touch {agent.base}/pwned"
    agent.file(".gitmodules", f'[submodule "s"]\n\tpath = s\n\turl = {evil}\n')
    head = agent.git("rev-parse", "HEAD").strip()
    agent.git("update-index", "--add", "--cacheinfo", f"160000,{head},s")
    agent.shell("git -c protocol.file.allow=always submodule update --init; true")
    assert "pwned" not in (agent.work / ".git/config").read_text()
    assert unharmed(agent)


def test_a25_filter_drivers(agent: Agent) -> None:
    agent.repository()
    agent.file("a.txt", "x\n")
    agent.git("add", "a.txt")
    agent.git("commit", "-q", "-m", "a")
    marker = f"touch {agent.base}/pwned; cat"
    for key in ("filter.e.clean", "diff.e.textconv", "diff.external"):
        agent.shell(f"git config {key} '{marker}'")
    agent.file(".gitattributes", "*.txt filter=e diff=e\n")
    agent.call("read", path="a.txt")
    assert agent.call("edit", path="a.txt", old_text="x", new_text="y").ok
    assert unharmed(agent)
