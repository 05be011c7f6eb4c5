"""Hooks and checkers in configuration files: what a table may hold, and what a checkout's may do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pool.config.hookkeys import ON_ERROR, POINTS
from pool.config.hooks import Hook, HookPoint, OnError
from pool.config.settings import SettingsError
from tests.config.places import Home

MINE = """
[hooks.fmt]
on = "after_tool"
match = "write(src/**)"
command = "ruff format -q $HOOK_FILE"
seconds = 5
on_error = "deny"
sandbox = false
"""


def test_the_words_of_the_configuration_are_those_of_the_code() -> None:
    assert (tuple(HookPoint), tuple(OnError)) == (POINTS, ON_ERROR)


def test_a_hook_is_read_whole(tmp_path: Path) -> None:
    (hook,) = Home(tmp_path, user=MINE).load().settings.hooks
    command = "ruff format -q $HOOK_FILE"
    assert hook == Hook("fmt", HookPoint.AFTER_TOOL, command, "write(src/**)", 5.0, OnError.DENY, sandbox=False)


def test_a_checkouts_hooks_need_trust_stay_in_the_sandbox_and_replace_none_of_the_users(tmp_path: Path) -> None:
    home = Home(tmp_path, user=MINE, project="[hooks.fmt]\non = 'stop'\ncommand = 'evil'\nsandbox = false\n")
    assert [hook.name for hook in home.load().settings.hooks] == ["fmt"]
    home.trust()
    loaded = home.load()
    assert [(h.name, h.sandbox, h.projects) for h in loaded.settings.hooks] == [
        ("fmt", False, False),
        ("project/fmt", True, True),
    ]
    assert any("sandbox = false of fmt counts only in files of your own" in text for text in loaded.warnings)
    home.write("project", "[hooks.fmt]\non = 'stop'\ncommand = 'worse'\n")
    assert [hook.name for hook in home.load().settings.hooks] == ["fmt"]


def test_trust_covers_scripts_of_the_checkout_that_a_command_names(tmp_path: Path) -> None:
    project = "[hooks.a]\non = 'stop'\ncommand = 'cd .; python3 \".pool/check it.py\" && echo done'\n"
    home = Home(tmp_path, project=project)
    script = home.workspace / ".pool" / "check it.py"
    script.write_text("print(1)\n")
    home.trust()
    assert [hook.name for hook in home.load().settings.hooks] == ["project/a"]
    script.write_text("print(2)\n")
    assert home.load().settings.hooks == ()
    home.trust()
    script.unlink()
    assert home.load().settings.hooks == ()


@pytest.mark.parametrize(
    "command",
    [
        "sh tools/check.sh",
        "cd tools && ./check.sh",
        "make --file=tools/check.sh",
        "sh $HOOK_WORKSPACE/tools/check.sh",
        'sh "$(git rev-parse --show-toplevel)/tools/check.sh"',
        "bash -c 'exec sh tools/check.sh'",
        "for f in tools/*.sh; do sh $f; done",
        "sh link/../check.sh",
        "sh check.sh",
    ],
)
def test_a_script_is_found_however_a_command_names_it(tmp_path: Path, command: str) -> None:
    """The workspace is the folder tools/deep of the checkout; commands start there."""
    home = Home(tmp_path, project=f"[hooks.a]\non = 'stop'\ncommand = {json.dumps(command)}\n")
    tools = home.workspace / "tools"
    (tools / "deep").mkdir(parents=True)
    (home.workspace / "link").symlink_to("tools/deep")
    script = (tools / "deep" if command == "sh check.sh" else tools) / "check.sh"
    script.write_text("true\n")
    home.workspace = tools / "deep"
    home.trust()
    assert len(home.load().settings.hooks) == 1
    script.write_text("false\n")
    assert home.load().settings.hooks == ()


def test_words_of_a_hostile_command_are_looked_for_in_the_checkout_alone_and_quickly(tmp_path: Path) -> None:
    odd = ["/" + "*/" * 200, "x" * 5000, "../" * 40 + "etc/passwd", "\\u0000", "[", "~/x", "=", "$", "//", "'"]
    many = [f"w{number}" for number in range(20_000)]
    home = Home(tmp_path, project="")
    home.write("project", f'[hooks.a]\non = "stop"\ncommand = "{" ".join((*odd, *many))}"\n')
    home.trust()
    assert len(home.load().settings.hooks) == 1


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("[hooks.a]\ncommand = 'x'", "a lacks on"),
        ("[hooks.a]\non = 'later'\ncommand = 'x'", "on of a must be one of session-start, prompt"),
        ("[hooks.a]\non = 'stop'\ncommand = 'x'\nshell = 'zsh'", "a has 'shell'"),
        ("[hooks.'a/b']\non = 'stop'\ncommand = 'x'", "'a/b' is no name"),
        ("[diagnostics]\ntools = ['mypy']", "a list of auto, ruff"),
        ("[diagnostics.commands.a]\ncommand = 'x'\nfiles = ['*']\npattern = '('", "pattern of a must be"),
        ("[diagnostics.servers.a]\ncommand = 'x'\nfiles = ['*']", "a lacks language"),
    ],
)
def test_a_wrong_table_is_an_error_that_says_what_is_wrong(tmp_path: Path, table: str, said: str) -> None:
    with pytest.raises(SettingsError) as error:
        Home(tmp_path, user=f"{table}\n").load()
    assert said in str(error.value)
