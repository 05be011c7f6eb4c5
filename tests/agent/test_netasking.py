"""One question for a network: before packages are installed, after a command lacked it, about a new host."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from pool.agent.approvals import NobodyThere
from pool.agent.asking import UserQuestions
from pool.agent.hub import EventHub
from pool.agent.netasking import ALWAYS, FOR_NOW, NO, NOS_MOST, ONCE_SECONDS, SESSION, NetworkAsking
from pool.agent.questions import Questions, WaitingClock
from pool.agent.rules.kept import KeptApprovals
from pool.events import Body
from pool.ports import Answer, Approver
from pool_tools import Tool, ToolResult
from pool_tools.network.presets import installing
from pool_tools.network.session import SessionNetwork
from pool_tools.sandbox.base import Policy
from pool_tools.sandbox.probe import probe
from pool_tools.toolbox import Toolbox
from pool_tools.workspace import Workspace

MISSED = "python3 -c \"import socket; socket.getaddrinfo('example.invalid', 80)\""


class Desk:
    def __init__(self, network: SessionNetwork, shell: Tool, questions: Questions, told: list[Body]) -> None:
        self.network, self.shell, self.questions, self.told = network, shell, questions, told
        self.asked: list[str] = []

    async def run(self, command: str, *answers: str) -> ToolResult:
        """Run a command and give answers to the questions that come, in order."""
        running = asyncio.ensure_future(self.shell.run({"command": command}, lambda _: None))
        left = list(answers)
        while not running.done():
            await asyncio.wait({running}, timeout=0.005)
            for question in self.questions.waiting_questions:
                self.asked.append(question.text)
                assert self.questions.answer_question(question.id, Answer(left.pop(0)))
        assert not left
        return running.result()


@asynccontextmanager
async def opened(folder: Path, state: Path, approver: Approver | None = None) -> AsyncGenerator[Desk]:
    folder.mkdir(exist_ok=True)
    found = probe(Policy((folder,)), tiers=("bubblewrap",))
    if found.tier != "bubblewrap":
        pytest.skip(found.reason)
    told: list[Body] = []
    questions = Questions()
    network = SessionNetwork(found.sandbox, {"PIP_INDEX_URL": "https://index.invalid/simple"}, (folder,), state / "p")
    asking = UserQuestions(approver or questions, EventHub("s"), WaitingClock())
    workspace = Workspace(folder)
    toolbox = Toolbox(workspace, found.sandbox, None, network)
    tools = NetworkAsking(network, asking, KeptApprovals(folder, state), folder, told.append).over(toolbox.tools)
    try:
        yield Desk(network, next(tool for tool in tools if tool.spec.name == "shell"), questions, told)
    finally:
        await toolbox.close()
        await network.close()
        found.sandbox.close()
        workspace.close()


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with opened(tmp_path / "work", tmp_path / "state") as made:
        yield made


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    (tmp_path / "work/uv.lock").write_text("")
    return tmp_path / "work"


async def test_installing_asks_first_and_the_packages_registry_is_let_through(project: Path, desk: Desk) -> None:
    result = await desk.run("true || pip install six; env | grep -c ^PIP_CACHE_DIR", SESSION)
    assert len(desk.asked) == 1
    assert "A command wants to install packages. Let commands reach python (" in desk.asked[0]
    assert "index.invalid" in desk.asked[0]
    assert result.ok, result.text
    assert [(grant.text, grant.until) for grant in desk.network.grants()] == [("python", None)]
    await desk.run("true || pip install seven")
    assert len(desk.asked) == 1


async def test_a_command_that_lacked_a_network_asks_and_says_what_to_do(project: Path, desk: Desk) -> None:
    result = await desk.run(MISSED, FOR_NOW)
    assert "A command failed for want of a network. Let commands reach python (" in desk.asked[0]
    assert "The user has now let commands reach python (" in result.text
    assert result.text.endswith("run the command again]")
    (grant,) = desk.network.grants()
    assert grant.until is not None
    assert 0 < grant.until - asyncio.get_running_loop().time() <= ONCE_SECONDS + 1


async def test_without_a_lock_file_the_host_is_asked_about(desk: Desk) -> None:
    missed = await desk.run("echo 'curl: (6) Could not resolve host: files.example.invalid' >&2; exit 6", NO)
    assert desk.asked == ["A command failed for want of a network. Let commands reach files.example.invalid?"]
    assert "said no" in missed.text
    assert desk.network.grants() == ()
    await desk.run("echo 'curl: (6) Could not resolve host: files.example.invalid' >&2; exit 6")
    assert len(desk.asked) == 1


async def test_always_holds_for_the_checkout_in_later_sessions(project: Path, tmp_path: Path) -> None:
    async with opened(project, tmp_path / "state") as first:
        await first.run("true || uv sync", ALWAYS)
    async with opened(project, tmp_path / "state", NobodyThere()) as later:
        assert (await later.run("true")).ok
        assert [grant.text for grant in later.network.grants()] == ["python"]
        assert "as you allowed for this checkout" in str(later.told)
    (tmp_path / "other").mkdir()
    (tmp_path / "other/uv.lock").write_text("")
    async with opened(tmp_path / "other", tmp_path / "state", NobodyThere()) as elsewhere:
        await elsewhere.run("true || uv sync")
        assert elsewhere.network.grants() == ()


async def test_where_nobody_is_there_the_flag_is_told(project: Path, tmp_path: Path) -> None:
    async with opened(project, tmp_path / "state", NobodyThere()) as desk:
        result = await desk.run(MISSED)
    assert "--net python allows installing packages" in result.text
    assert "The user" not in result.text


async def test_new_hosts_are_asked_about_and_a_flood_of_them_is_not(desk: Desk) -> None:
    fetch = "python3 -c \"import urllib.request as u; u.urlopen('http://{}.invalid/')\" 2>&1 | tail -1"
    await desk.network.grant("known.invalid")
    good = await desk.run(fetch.format("good"), SESSION)
    assert "has no address" in good.text
    script = "; ".join(fetch.format(f"bad{n}") for n in range(NOS_MOST + 3))
    await desk.run(script, *[NO] * NOS_MOST)
    assert len(desk.asked) == 1 + NOS_MOST
    assert desk.asked[0] == "A command wants to reach a host that is not on the list. Let commands reach good.invalid?"


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("uv  sync --frozen", ("python",)),
        ("cd x && python -m pip install -e .", ("python",)),
        (".venv/bin/pip install six", ("python",)),
        ("npm ci\nnpm test", ("node",)),
        ("yarn", ("node",)),
        ("cargo +nightly fetch", ("rust",)),
        ("go mod tidy && npm i", ("node", "go")),
        ("pytest -q; cargo test; npm test; go test ./...; git add yarn.lock", ()),
        ("echo pipeline install; grep -r mypip installed", ()),
    ],
)
def test_what_looks_like_installing(command: str, names: tuple[str, ...]) -> None:
    assert installing(command) == names
