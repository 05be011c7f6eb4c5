"""Layers: which value counts, where it came from, profiles, and what the system locks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pool.config.settings import Mode, SandboxChoice, SettingsError
from tests.config.places import Home


def test_the_later_layer_counts_and_is_named(tmp_path: Path) -> None:
    home = Home(
        tmp_path,
        system="[budgets]\nturns = 10\nseconds = 10\n",
        user="[budgets]\nturns = 20\ntokens = 20\n[server]\nmodel = 'from-user'\n",
    )
    loaded = home.load({"POOL_MODEL": "from-env", "POOL_MAX_TOKENS": "30"}, {"budgets.tokens": 40})
    budgets = loaded.settings.budgets
    assert (budgets.turns, budgets.seconds, budgets.tokens, loaded.settings.model) == (20, 10.0, 40, "from-env")
    origins = loaded.origins
    assert str(origins["budgets.turns"]) == f"user: {home.files['user']}:2"
    assert str(origins["budgets.seconds"]) == f"system: {home.files['system']}:3"
    assert str(origins["server.model"]) == "environment: $POOL_MODEL"
    assert str(origins["budgets.tokens"]) == "flag: --max-tokens"
    assert str(origins["budgets.answer_tokens"]) == "built-in"


def test_every_kind_of_value_reaches_the_settings(tmp_path: Path) -> None:
    home = Home(
        tmp_path,
        user="""
            [server]
            headers = { X-Team = "a" }
            window = 32_768
            wait_seconds = 5
            [thinking]
            level = "low"
            tags = ["musing"]
            [sampling]
            temperature = 1
            top_k = "server"
            extra = { min_p = 0.1 }
            [approvals]
            mode = "allow-edits"
            deny = ["shell(rm *)"]
            [sandbox]
            use = "required"
            network = "python"
            [guards]
            restart_phrases = ["hold on"]
            repeats = { note = 9 }
            signals.near_same = 7
            [context]
            auto_compact = false
            [prompt]
            append = "Be brief."
        """,
    )
    made = home.load().settings
    assert made.headers == (("X-Team", "a"),)
    assert (made.window, made.wait_server_seconds, made.think_tags) == (32_768, 5.0, ("musing",))
    assert (made.budgets.reasoning_turn, made.budgets.reasoning_soft) == (512, 512)
    assert (made.sampling.temperature, made.sampling.top_k, made.sampling.extra) == (1.0, None, (("min_p", 0.1),))
    assert (made.mode, made.sandbox, made.network) == (Mode.ACCEPT_EDITS, SandboxChoice.REQUIRED, "python")
    assert (made.guards.repeats.note, made.guards.signals.near_same, made.guards.restarts) == (9, 7, 8)
    assert made.guards.restart_phrases == ("hold on",)
    assert (made.auto_compact, made.append_system, made.deny) == (False, "Be brief.", ("shell(rm *)",))


def test_poolsides_variables_count_where_pools_are_not_set(tmp_path: Path) -> None:
    env = {"POOLSIDE_STANDALONE_BASE_URL": "http://b", "POOLSIDE_STANDALONE_MODEL": "b", "POOL_MODEL": "a"}
    made = Home(tmp_path).load(env).settings
    assert (made.base_url, made.model) == ("http://b", "a")


def test_a_wrong_variable_is_an_error_and_a_misspelt_one_a_warning(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with pytest.raises(SettingsError, match="POOL_CONTEXT_LENGTH must be a whole number from 0 on, not 'big'"):
        home.load({"POOL_CONTEXT_LENGTH": "big"})
    (warning,) = home.load({"POOL_BASEURL": "x", "POOL_SOMETHING_ELSE_ENTIRELY": "y"}).warnings
    assert "did you mean POOL_BASE_URL?" in warning


def test_rules_of_all_layers_count_together(tmp_path: Path) -> None:
    home = Home(tmp_path, system="approvals.deny = ['write(a)']", user="approvals.deny = ['write(b)']")
    assert home.load(flags={"approvals.deny": ["write(c)"]}).settings.deny == ("write(a)", "write(b)", "write(c)")


def test_the_profile_night(tmp_path: Path) -> None:
    budgets = Home(tmp_path).load(profile="night").settings.budgets
    assert (budgets.turns, budgets.seconds) == (300, 28_800)
    assert (budgets.idle_turns_stop, budgets.idle_stop_seconds) == (20, 1_800)


def test_a_profile_comes_before_the_layer_that_chose_it(tmp_path: Path) -> None:
    """Named in a file, what the file says counts more; named by a flag, only other flags do."""
    home = Home(
        tmp_path,
        user="profile = 'mine'\n[budgets]\nturns = 7\n[profiles.mine.budgets]\nturns = 8\nseconds = 9\n"
        "[profiles.mine.server]\nmodel = 'big'\n",
    )
    by_file = home.load({"POOL_MODEL": "env"})
    assert (by_file.settings.budgets.turns, by_file.settings.budgets.seconds) == (7, 9)
    assert (by_file.settings.model, by_file.profile) == ("env", "mine")
    by_flag = home.load({"POOL_MODEL": "env"}, {"budgets.seconds": 3}, profile="mine")
    assert (by_flag.settings.budgets.turns, by_flag.settings.budgets.seconds) == (8, 3)
    assert by_flag.settings.model == "big"
    assert str(by_flag.origins["server.model"]) == f"profile mine: {home.files['user']}:8"


def test_an_own_profile_is_laid_over_the_one_of_the_same_name(tmp_path: Path) -> None:
    home = Home(tmp_path, user="[profiles.night.budgets]\nturns = 99\n")
    budgets = home.load(profile="night").settings.budgets
    assert (budgets.turns, budgets.seconds) == (99, 28_800)


def test_a_profile_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no profile 'nigth' among night, spark; did you mean night"):
        Home(tmp_path).load(profile="nigth")


def test_where_a_person_is_there(tmp_path: Path) -> None:
    home = Home(tmp_path)
    budgets = home.load(interactive=True).settings.budgets
    assert (budgets.turns, budgets.seconds) == (50, 0)
    home.write("user", "budgets.turns = 5")
    assert home.load(interactive=True).settings.budgets.turns == 5


def test_nobody_widens_what_is_locked(tmp_path: Path) -> None:
    home = Home(
        tmp_path,
        system="""
            [locked]
            approvals.mode = "accept-edits"
            approvals.allow = ["shell(git log *)"]
            approvals.deny = ["shell(curl *)"]
            sandbox.use = "required"
            sandbox.network = "example.org, python"
            budgets.turns = 30
            server.base_url = "http://127.0.0.1:8000"
            thinking.level = "normal"
        """,
        user="[budgets]\nturns = 0\n[approvals]\nallow = ['shell', 'shell(git log *)']\n",
    )
    flags = {
        "approvals.mode": "allow-all",
        "sandbox.use": "off",
        "sandbox.network": "on",
        "server.base_url": "http://elsewhere",
        "thinking.level": "high",
    }
    loaded = home.load(flags=flags)
    made = loaded.settings
    assert (made.mode, made.sandbox, made.network) == (Mode.ACCEPT_EDITS, SandboxChoice.REQUIRED, "example.org, python")
    assert (made.budgets.turns, made.budgets.reasoning_turn) == (30, 2048)
    assert (made.base_url, made.allow, made.deny) == (
        "http://127.0.0.1:8000",
        ("shell(git log *)",),
        ("shell(curl *)",),
    )
    assert sum("locks" in warning for warning in loaded.warnings) == 7
    narrow = home.load(flags={"approvals.mode": "plan", "sandbox.network": "python", "budgets.turns": 3}).settings
    assert (narrow.mode, narrow.network, narrow.budgets.turns) == (Mode.PLAN, "python", 3)


def test_a_mode_that_is_not_set_is_held_to_the_lock_too(tmp_path: Path) -> None:
    """Where a sandbox works it would be auto."""
    home = Home(tmp_path, system="locked.approvals.mode = 'default'")
    loaded = home.load()
    assert (loaded.settings.mode, loaded.warnings) == (Mode.DEFAULT, ())


def test_only_the_system_locks(tmp_path: Path) -> None:
    home = Home(tmp_path, user="[locked]\nbudgets.turns = 1\n")
    loaded = home.load()
    assert loaded.settings.budgets.turns == 40
    assert "counts only in /etc/pool/config.toml" in loaded.warnings[0]


def test_a_system_prompt_from_a_file(tmp_path: Path) -> None:
    home = Home(tmp_path, user="prompt.file = 'mine.md'")
    with pytest.raises(SettingsError, match=r"mine\.md is missing"):
        home.load()
    (home.places.user / "mine.md").write_text("You are terse.")
    assert home.load().settings.system == "You are terse."
    assert home.load(flags={"prompt.text": "You are brief."}).settings.system == "You are brief."


def test_loading_imports_nothing_heavy(tmp_path: Path) -> None:
    """A run starts with it: with files, and without mistakes in them, it takes `tomllib` and no more."""
    home = Home(tmp_path, user="budgets.turns = 3", project="approvals.mode = 'plan'")
    env = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "XDG_STATE_HOME": str(tmp_path / "state")}
    (tmp_path / "config" / "pool").mkdir(parents=True)
    (tmp_path / "config" / "pool" / "config.toml").write_text("budgets.turns = 3")
    script = f"""
import sys
from pathlib import Path
from pool.config.load import load_settings
loaded = load_settings(Path({str(home.workspace)!r}), {env!r})
assert loaded.settings.budgets.turns == 3
print(*sorted(sys.modules))
"""
    path = os.pathsep.join(os.path.abspath(p) for p in sys.path if p)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}
    )
    loaded = set(done.stdout.split())
    assert "tomllib" in loaded, done.stderr
    heavy = {"pydantic", "tomlkit", "yaml", "platformdirs", "difflib", "tempfile", "pool.config.lines"}
    assert loaded & heavy == set()
