from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from pool.agent.rules.kept import Kept, KeptApprovals, KeptError, fingerprint
from pool.agent.rules.syntax import Action, parse_rule

RULE = parse_rule(Action.ALLOW, "shell(git log *)")


def kept(tmp_path: Path, name: str = "work") -> KeptApprovals:
    (tmp_path / name).mkdir(exist_ok=True)
    return KeptApprovals(tmp_path / name, tmp_path / "state")


def test_rules_are_there_after_a_restart_and_only_in_their_checkout(tmp_path: Path) -> None:
    kept(tmp_path).add([RULE])
    kept(tmp_path).add([RULE, parse_rule(Action.ALLOW, "write(src/**)")], [("abc", "shell: ls")])
    assert kept(tmp_path).load() == Kept(
        (RULE, parse_rule(Action.ALLOW, "write(src/**)")),
        (("abc", "shell: ls"),),
    )
    assert kept(tmp_path, "other").load() == Kept()


def test_a_checkout_is_known_by_its_real_path(tmp_path: Path) -> None:
    kept(tmp_path).add([RULE])
    (tmp_path / "link").symlink_to(tmp_path / "work")
    assert KeptApprovals(tmp_path / "link", tmp_path / "state").load().rules == (RULE,)


def test_the_file_is_its_owners_alone_and_replaced_as_a_whole(tmp_path: Path) -> None:
    here = kept(tmp_path)
    here.add([RULE])
    before = here.path.stat()
    here.add([parse_rule(Action.ALLOW, "shell(ls)")])
    after = here.path.stat()
    assert stat.S_IMODE(after.st_mode) == 0o600
    assert before.st_ino != after.st_ino
    assert [p.name for p in here.path.parent.iterdir()] == [here.path.name]
    assert not list((tmp_path / "work").iterdir())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        "\xff",
        '{"version": 2}',
        '{"version": 1, "workspace": "/elsewhere", "allow": ["shell"]}',
        '{"version": 1, "workspace": "HERE", "allow": ["shell(|)"]}',
    ],
)
def test_a_damaged_file_gives_nothing_and_is_named(text: str, tmp_path: Path) -> None:
    here = kept(tmp_path)
    here.add([RULE])
    here.path.write_bytes(text.replace("HERE", str(tmp_path / "work")).encode("latin-1"))
    with pytest.raises(KeptError, match=here.path.name):
        here.load()
    with pytest.raises(KeptError):
        here.add([RULE])


def test_a_file_that_others_may_write_or_that_is_a_link_is_not_used(tmp_path: Path) -> None:
    here = kept(tmp_path)
    here.add([RULE])
    here.path.chmod(0o666)
    with pytest.raises(KeptError, match="others may write"):
        here.load()
    here.path.chmod(0o600)
    aside = here.path.rename(tmp_path / "aside.json")
    here.path.symlink_to(aside)
    with pytest.raises(KeptError):
        here.load()


def test_nothing_is_kept_where_commands_could_change_it(tmp_path: Path) -> None:
    """A workspace that holds the state folder: what runs there could approve itself."""
    here = KeptApprovals(tmp_path, tmp_path / "state")
    assert not here.usable
    with pytest.raises(KeptError, match="in the workspace"):
        here.add([RULE])
    here.path.parent.mkdir(parents=True)
    body = {"version": 1, "workspace": str(tmp_path), "allow": ["shell"]}
    here.path.write_text(json.dumps(body))
    assert here.load() == Kept()


def test_the_default_place_is_the_users_state_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("sys.platform", "linux")
    assert KeptApprovals(tmp_path / "work").path.parent == tmp_path / "state" / "pool" / "approvals"


def test_the_same_call_is_the_same_tool_and_arguments() -> None:
    assert fingerprint("write", {"path": "a", "content": "b"}) == fingerprint("write", {"content": "b", "path": "a"})
    assert fingerprint("write", {"path": "a", "content": "b"}) != fingerprint("write", {"path": "a", "content": "c"})
    assert fingerprint("shell", {"command": "ls", "timeout": 5}) == fingerprint("shell", {"command": "ls"})
    assert fingerprint("job", {"command": "ls"}) != fingerprint("shell", {"command": "ls"})
