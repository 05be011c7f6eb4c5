"""CONF-01 and CONF-02: what is said about a file with mistakes, and that no secret is shown."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pool.config.settings import SettingsError
from pool.sim.process import running
from pool.sim.settings import SimSettings
from tests.config.places import Home

LIMIT_SECONDS = 50
KEY = "sk-unmistakable-4711"


@pytest.mark.parametrize(
    ("text", "place", "near"),
    [
        ("modle = 'x'\n", "config.toml:1", "server.model"),
        ("[budgets]\n\nturns = 7\nbase_url = 'x'\n", "config.toml:4", "server.base_url"),
        ("[budgts]\nturns = 7\n", "config.toml:1", "budgets"),
        ("[profiles.a.budgets]\nturn = 7\n", "config.toml:2", "budgets.turns"),
        ("x = '''\n[budgets]\n'''\n[budgets]\ntruns = 7\n", "config.toml:5", "budgets.turns"),
        ("'od\\nd' = 1\n", "config.toml:1", ""),
    ],
)
def test_CONF_01_an_unknown_key_is_a_warning_and_the_others_count(
    tmp_path: Path, text: str, place: str, near: str
) -> None:
    home = Home(tmp_path, user=text + ("" if "]" in text else "[server]\nmodel = 'kept'\n"))
    loaded = home.load()
    warning = next(w for w in loaded.warnings if place in w)
    assert "there is no key" in warning
    assert near in warning
    assert warning.isprintable()
    assert "]" in text or loaded.settings.model == "kept"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "[server]\nwait_seconds = 'soon'\n",
            "config.toml:2: server.wait_seconds must be a number from 0 on, not 'soon'",
        ),
        ("budgets = 3\n", "config.toml:1: budgets must be a table, as [budgets]"),
        ("[budgets]\nturns = -1\n", "budgets.turns must be a whole number from 0 on, not -1"),
        ("[budgets]\nturns = true\n", "budgets.turns must be a whole number"),
        ("approvals.mode = 'yolo'\n", "must be one of plan, default, accept-edits, auto, allow-all, not 'yolo'"),
        ("approvals.allow = 'shell'\n", "approvals.allow must be a list of texts"),
        ("guards.restart_phrases = ['(']\n", "'(' is none"),
        ("sampling.temperature = nan\n", "sampling.temperature must be"),
        ("sampling.extra = { messages = 1 }\n", "without"),
        ("[[server]]\nmodel = 'x'\n", "server must be a table"),
        ("[profiles]\nx = 1\n", "profiles.x must be a table"),
        ("a = 1\nb = 2\nc = = 3\n", "config.toml:3: this is no TOML"),
        ("a = 1\na = 2\n", "config.toml:2: this is no TOML"),
        ("a = [1,\n2", "config.toml:2: this is no TOML"),
        ("[server]\nheaders = { A = 3, B = 'secretvalue' }\n", "server.headers must be a table of texts"),
    ],
)
def test_CONF_01_a_wrong_value_or_syntax_is_an_error_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Home(tmp_path, user=text).load()
    assert said in str(caught.value)
    assert "pool config check" in str(caught.value)
    assert "secretvalue" not in str(caught.value)


def test_CONF_01_a_flood_of_unknown_keys_is_cut_short(tmp_path: Path) -> None:
    lines = "".join(f"key{i} = 1\n" for i in range(5_000))
    loaded = Home(tmp_path, project=lines + "[budgets]\nturns = 3\n").load()
    assert (len(loaded.warnings), loaded.settings.budgets.turns) == (21, 3)


def test_CONF_01_a_value_nested_without_end(tmp_path: Path) -> None:
    for depth in (300, 100_000):
        with pytest.raises(SettingsError):
            Home(tmp_path / str(depth), user=f"budgets.turns = {'[' * depth}{']' * depth}").load()


def test_CONF_01_all_mistakes_are_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        Home(tmp_path, user="[budgets]\nturns = 'x'\ntokens = 'y'\n", project="= 1").load()
    assert str(caught.value).count("\n") == 3


def user_of(folder: Path, text: str) -> dict[str, str]:
    """An environment whose user has a configuration file."""
    (folder / "config" / "pool").mkdir(parents=True)
    (folder / "config" / "pool" / "config.toml").write_text(text)
    return {**os.environ, "XDG_CONFIG_HOME": str(folder / "config"), "XDG_STATE_HOME": str(folder / "state")}


def pool(env: dict[str, str], *args: str, folder: Path) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "pool", *args]
    given = {**env, "PYTHONPATH": os.pathsep.join(os.path.abspath(p) for p in sys.path if p)}
    return subprocess.run(
        line, env=given, cwd=folder, capture_output=True, text=True, timeout=LIMIT_SECONDS, stdin=subprocess.DEVNULL
    )


def test_CONF_01_pool_run_ends_with_2_and_no_traceback(tmp_path: Path) -> None:
    env = user_of(tmp_path, "[server]\nmodel = 'x'\nwait_seconds = = 3\n")
    done = pool(env, "run", "-o", "json", "Do it.", folder=tmp_path)
    assert done.returncode == 2
    assert "config.toml:3: this is no TOML" in done.stderr
    assert "Traceback" not in done.stderr
    assert json.loads(done.stdout)["reason"] == "usage_error"


def test_CONF_01_a_bad_rule_is_an_error_with_its_place(tmp_path: Path) -> None:
    env = user_of(tmp_path, "[approvals]\nallow = [\n  'shell(ls)',\n  'shell(a;b)',\n]\n")
    done = pool(env, "run", "Do it.", folder=tmp_path)
    assert done.returncode == 2
    assert "config.toml:2: approvals.allow: the rule 'shell(a;b)'" in done.stderr


def test_a_file_steers_a_run_and_its_warnings_come_once(tmp_path: Path) -> None:
    with running(SimSettings()) as sim:
        env = user_of(tmp_path, f"modle = 1\n[server]\nbase_url = '{sim.url}'\n[budgets]\nturns = 1\n")
        done = pool(env, "run", "--mode", "allow-all", "Make the tests pass.", folder=tmp_path)
    assert done.returncode == 5
    assert done.stderr.count("there is no key 'modle'") == 1


def test_CONF_02_no_secret_of_a_configuration_is_shown(tmp_path: Path) -> None:
    """Whatever prints the configuration, and a run against a server that refuses."""
    with running(SimSettings(faults=("401",))) as sim:
        host = sim.url.partition("://")[2]
        text = f"[server]\nbase_url = 'http://me:{KEY}1@{host}/v1?token={KEY}2'\napi_key = '{KEY}3'\n"
        env = user_of(
            tmp_path,
            f"{text}headers = {{ Authorization = 'Bearer {KEY}4' }}\n[mcp_servers.a]\nurl = 'http://x'\n"
            f"headers = {{ K = '{KEY}5' }}\n",
        )
        for args in (
            ("config",),
            ("config", "show", "--json"),
            ("config", "get", "server.api_key"),
            ("config", "get", "server.base_url"),
            ("config", "check"),
            ("prompt", "x"),
            ("run", "--wait-server", "0", "--base-url", f"http://me:{KEY}6@127.0.0.1:9/v1?token={KEY}7", "Do it."),
            ("run", "-v", "-o", "stream-json", "--mode", "allow-all", "Do it."),
        ):
            done = pool(env, *args, folder=tmp_path)
            assert KEY not in done.stdout + done.stderr, args
        assert done.returncode == 75
    kept = [p.read_bytes() for p in tmp_path.rglob("*") if p.is_file() and p.name != "config.toml"]
    assert not any(KEY.encode() in data for data in kept)


WATCHED = """
import sys
def hook(event, args):
    if event in ("socket.getaddrinfo", "socket.gethostbyname"):
        print("NET", event, args[0], file=sys.stderr)
    elif event in ("socket.connect", "socket.sendto") and isinstance(args[1], tuple):
        print("NET", event, args[1], file=sys.stderr)
sys.addaudithook(hook)
from pool.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def test_CONF_03_a_first_run_reaches_for_nothing_but_its_server(tmp_path: Path) -> None:
    """No table of tokens and nothing else is fetched, and no name is looked up: a home with nothing in it."""
    with running(SimSettings()) as sim:
        env = user_of(tmp_path, "") | {"HOME": str(tmp_path), "TIKTOKEN_CACHE_DIR": str(tmp_path / "none")}
        command = [sys.executable, "-c", WATCHED, "run", "--base-url", sim.url, "--mode", "accept-edits", "Say it."]
        env["PYTHONPATH"] = os.pathsep.join(os.path.abspath(p) for p in sys.path if p)
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    reached = {line for line in done.stderr.splitlines() if line.startswith("NET")}
    assert any("socket.connect" in line for line in reached)
    assert {line for line in reached if "127.0.0.1" not in line} == set()


def test_secrets_in_clear_are_warned_of(tmp_path: Path) -> None:
    home = Home(tmp_path, user="[server]\nbase_url = 'http://a:b@h'\napi_key = 'k'\n")
    home.files["user"].chmod(0o644)
    said = "\n".join(home.load().warnings)
    assert "config.toml:3: server.api_key holds an API key in clear" in said
    assert "config.toml:2: server.base_url holds a password in clear" in said
    assert "chmod 600" in said


def test_secrets_in_clear_for_others_are_warned_of(tmp_path: Path) -> None:
    servers = "[mcp_servers.a]\ncommand = 'x'\nenv = { GH_TOKEN = 'ghp', GIT_AUTHOR_NAME = 'me', KEY = '${KEY}' }\n"
    more = "[mcp_servers.b]\nurl = 'http://x'\nheaders = { Authorization = 'Bearer ${T}', Cookie = 'c' }\n"
    home = Home(tmp_path, user=f"{servers}{more}[web]\nsearch_headers = {{ X-Key = 'k' }}\n")
    home.files["user"].chmod(0o600)
    said = [text.partition(": ")[2].partition(";")[0] for text in home.load().warnings]
    assert said == [
        f"{where} seems to hold a secret in clear"
        for where in ("mcp_servers.a.env.GH_TOKEN", "mcp_servers.b.headers.Cookie", "web.search_headers.X-Key")
    ]
