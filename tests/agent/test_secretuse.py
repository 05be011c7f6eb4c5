"""Secrets for commands in a session: asked about by name, there for one command, and nowhere else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pool.agent.approvals import Unsettled
from pool.agent.secretuse import SecretUse, session_secrets
from pool.config.keyrings import Keyring
from pool.config.settings import Mode, SandboxChoice, SettingsError
from pool.config.toolsecrets import KeptIn, KeptSecret, SecretStore
from pool.events import CallOutput, Notice
from pool_tools import Effect
from pool_tools.secretenv import CommandSecret, CommandSecrets
from tests.agent.test_approvals import Bench
from tests.agent.test_call_approval import YES, calls, desk
from tests.cases.driver import answer, last_result

VALUE = "s3cr3t/+Wert-0815"
USED = {"secrets": ["TOKEN"]}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user with one secret, in the file, for `sort` unasked."""
    for name in ("config", "state"):
        monkeypatch.setenv(f"XDG_{name.upper()}_HOME", str(tmp_path / name))
    store = SecretStore(tmp_path / "config" / "pool", Keyring({}))
    kept, why = store.add(KeptSecret("TOKEN", "MY_TOKEN", ("sort *", "uniq")), VALUE)
    assert kept.kept is KeptIn.FILE
    assert "no keyring" in why
    (tmp_path / "work").mkdir()
    return tmp_path


def shell(command: str, *names: str) -> tuple[str, str]:
    return "shell", json.dumps({"command": command} | ({"secrets": list(names)} if names else {}))


async def test_a_value_is_in_one_command_only_and_in_nothing_that_is_kept(home: Path) -> None:
    work = home / "work"
    trace = home / "trace"
    pieces = 'printf %s "${MY_TOKEN:0:7}"; printf "%s\\n" "${MY_TOKEN:7}"; echo "$MY_TOKEN" | base64'
    long = 'for i in $(seq 3000); do echo "$i $MY_TOKEN"; done'
    steps = [
        calls(shell(f'echo "$MY_TOKEN" > kept.txt; {pieces}', "TOKEN")),
        calls(shell(long, "TOKEN")),
        calls(("read", '{"path": "kept.txt"}'), ("search", '{"pattern": "Wert"}'), shell("cat kept.txt; env")),
        answer(f"It is {VALUE}."),
    ]
    options = {"mode": Mode.ALLOW_ALL, "sandbox": SandboxChoice.AUTO, "ephemeral": False, "trace": trace}
    async with desk(work, *steps, **options) as here:
        running = here.start()
        for _ in range(2):
            request = await here.reply(YES)
            assert request.why == "it gets the secret TOKEN"
        await running
        told = [[m["content"] for m in body["messages"] if m["role"] == "tool"] for body in here.server.bodies]
        assert told[1][0].count("[secret TOKEN]") == 2
        assert "3000 [secret TOKEN]" in told[2][1]
        spill = here.session.toolbox.commands.scratch().folder
        spilled = list(Path(spill).glob("output-*"))
        assert spilled
        assert all(VALUE not in path.read_text() for path in spilled)
        *_, read, found, last = told[3]
        assert "1|[secret TOKEN]" in read
        assert "[secret TOKEN]" in found
        assert "[secret TOKEN]" in last
        assert "MY_TOKEN" not in last
        assert "[secret TOKEN]" in "".join(body.text for body in here.seen(CallOutput))
        assert "kept.txt: it holds a secret of yours" in repr(here.seen(Notice))
        sent = json.dumps(here.server.bodies)
        assert '"secrets": {"type": "array"' in sent
        assert VALUE not in sent
        assert VALUE not in repr(here.bodies)
    assert (work / "kept.txt").read_text().strip() == VALUE
    kept = [path for top in (home / "state", trace) for path in (top, *top.rglob("*")) if path.is_file()]
    assert any(path.suffix == ".jsonl" for path in kept)
    holding = [path for path in kept if VALUE.encode() in path.read_bytes()]
    # The trace holds the server's own bytes: this server said the value by itself.
    assert holding in ([], [trace])


@pytest.mark.parametrize("mode", list(Mode))
def test_every_mode_asks_by_name_unless_the_pair_is_allowed(mode: Mode, tmp_path: Path) -> None:
    bench = Bench(tmp_path, mode)
    bench.approvals.read_only_sandbox = lambda: True
    secrets = CommandSecrets([CommandSecret("TOKEN", "MY_TOKEN", VALUE)])
    bench.approvals.secrets = SecretUse(tmp_path, secrets, {"TOKEN": ("sort *", "uniq")})

    def judged(command: str) -> str:
        answer = bench.approvals.judge("shell", {"command": command, **USED}, Effect.EXECUTE)
        return answer.why if isinstance(answer, Unsettled) else str(answer.allowed)

    assert judged("sort -u a | uniq") == "True"
    for command in (
        "env",
        "sort a; env",
        "sort a && echo $MY_TOKEN",
        "sort a | rev",
        "sort $(env)",
        "sort a > out",
        "X=1 sort a",
        "eval sort a",
        "./sort a",
    ):
        assert judged(command) == "it gets the secret TOKEN", command
    job = bench.approvals.judge("job", {"action": "start", "command": "env", **USED}, Effect.EXECUTE)
    assert isinstance(job, Unsettled)
    assert "pool secrets allow TOKEN" in job.lift


def test_a_project_has_its_own(home: Path) -> None:
    store = SecretStore(home / "config" / "pool", Keyring({}))
    store.add(KeptSecret("TOKEN", "OTHER", folder=str(home / "work")), "of-this-project")
    store.add(KeptSecret("ELSEWHERE", "E", folder=str(home / "else")), "of-another-project")
    use = session_secrets(home / "work")
    assert use.secrets.names == ("TOKEN",)
    assert use.secrets.environment(["TOKEN"]) == {"OTHER": "of-this-project"}
    # What other projects keep is not given to commands here, but not shown either.
    assert use.secrets.mask.text("of-another-project") == "[secret ELSEWHERE]"
    assert use.secrets.mask.text(VALUE) == "[secret TOKEN]"
    assert session_secrets(home).secrets.variable("TOKEN") == "MY_TOKEN"
    assert VALUE not in repr(store.all())
    for short in ("abc", "  abc   ", "a" * 100_000, "with\0nul"):
        with pytest.raises(SettingsError):
            store.add(KeptSecret("N", "N"), short)


async def test_a_job_does_not_give_its_secret_to_later_commands(home: Path) -> None:
    snoop = "cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep -c '^MY_TOKEN='"
    job = ("job", json.dumps({"action": "start", "command": "echo up; sleep 60", **USED}))
    steps = [calls(job), calls(shell(snoop)), answer("Done.")]
    async with desk(home / "work", *steps, mode=Mode.ALLOW_ALL, sandbox=SandboxChoice.AUTO) as here:
        confined = here.session.approvals.sandboxed
        running = here.start()
        await here.reply(YES)
        await running
        assert "job 1" in here.server.bodies[1]["messages"][-1]["content"]
        if confined:
            assert "\n0\n" in f"{last_result(here.server.bodies[-1])}\n"
