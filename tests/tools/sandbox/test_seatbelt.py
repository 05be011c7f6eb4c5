"""The macOS profile as text: nothing here has run on a Mac."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from pool_tools.network.rules import AllowList
from pool_tools.sandbox.base import Access, CannotExpress, Policy
from pool_tools.sandbox.probe import probe
from pool_tools.sandbox.seatbelt import SANDBOX_EXEC, Seatbelt, canonical, profile


def text_of(root: Path, *hidden: Path, access: Access = Access.WORKSPACE_WRITE, network: bool = False) -> str:
    return profile(Policy((root,), access, network=network), Path("/private/tmp/own"), hidden)


def rules(text: str) -> list[str]:
    """Top-level forms; fails where parentheses do not match."""
    out: list[str] = []
    depth, begin, quoted, escaped = 0, 0, False, False
    for place, c in enumerate(text):
        if quoted:
            quoted = escaped or c != '"'
            escaped = c == "\\" and not escaped
        elif c == '"':
            quoted = True
        elif c == "(":
            begin = begin if depth else place
            depth += 1
        elif c == ")":
            depth -= 1
            if not depth:
                out.append(text[begin : place + 1])
    assert depth == 0
    assert not quoted
    return out


def test_denies_by_default_and_writes_only_where_it_says(tmp_path: Path) -> None:
    found = rules(text_of(tmp_path))
    assert found[:2] == ["(version 1)", "(deny default)"]
    writes = [rule for rule in found if rule.startswith("(allow file-write* (subpath")]
    assert writes == [
        '(allow file-write* (subpath "/private/tmp/own"))',
        f'(allow file-write* (subpath "{canonical(str(tmp_path))}"))',
    ]
    assert not any("network" in rule for rule in found if rule.startswith("(allow"))


def test_read_only_and_network(tmp_path: Path) -> None:
    writes = [
        rule for rule in rules(text_of(tmp_path, access=Access.READ_ONLY)) if "allow file-write* (subpath" in rule
    ]
    assert writes == ['(allow file-write* (subpath "/private/tmp/own"))']
    assert "(allow network-outbound (remote ip))" in rules(text_of(tmp_path, network=True))


def test_secrets_are_denied_after_reads_are_allowed(tmp_path: Path) -> None:
    secret = Path("/Users/me/.ssh")
    found = rules(text_of(tmp_path, secret))
    deny = '(deny file-read* file-write* (subpath "/Users/me/.ssh"))'
    assert found.index(deny) > found.index("(allow file-read* file-test-existence)")


def test_a_workspace_inside_a_hidden_folder_is_allowed_again(tmp_path: Path) -> None:
    found = rules(text_of(tmp_path, tmp_path.parent, tmp_path / ".env"))
    root = canonical(str(tmp_path))
    order = [
        f'(deny file-read* file-write* (subpath "{canonical(str(tmp_path.parent))}"))',
        f'(allow file-read* (subpath "{root}"))',
        f'(allow file-write* (subpath "{root}"))',
        next(rule for rule in found if "[hH][oO][oO][kK][sS]" in rule),
        f'(deny file-read* file-write* (subpath "{root}/.env"))',
    ]
    assert [rule for rule in found if rule in order] == order


@pytest.mark.parametrize("path", [".git/config", ".GIT/Hooks/pre-commit", "sub/dir/.git/config.worktree", ".git/hooks"])
def test_git_orders_are_denied_in_any_spelling(tmp_path: Path, path: str) -> None:
    patterns = re.findall(r'\(deny file-write\* \(regex #"([^"]*)"\)\)', text_of(tmp_path))
    assert len(patterns) == 1
    assert re.search(patterns[0], f"{canonical(str(tmp_path))}/{path}")
    assert not re.search(patterns[0], f"{canonical(str(tmp_path))}/.git/objects/config")
    assert not re.search(patterns[0], f"{canonical(str(tmp_path))}/src/hooks/useState.ts")


def test_git_folder_cannot_be_moved_aside(tmp_path: Path) -> None:
    pattern = re.search(r'\(deny file-write-unlink \(regex #"([^"]*)"\)', text_of(tmp_path))
    assert pattern is not None
    assert re.search(pattern[1], f"{canonical(str(tmp_path))}/sub/.Git")
    assert not re.search(pattern[1], f"{canonical(str(tmp_path))}/.github")


def test_existing_git_folder_is_protected(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    assert f'(deny file-write* (subpath "{canonical(str(tmp_path))}/.git/hooks"))' in text_of(tmp_path)


def test_odd_names_cannot_end_the_text(tmp_path: Path) -> None:
    secret = tmp_path / 'a"b\\'
    assert any('a\\"b\\\\"' in rule for rule in rules(text_of(tmp_path, secret)))
    with pytest.raises(CannotExpress):
        text_of(tmp_path, tmp_path / "a\nb")
    quoted = tmp_path / 'q"'
    quoted.mkdir()
    with pytest.raises(CannotExpress):
        text_of(quoted)


def test_paths_are_canonical() -> None:
    assert canonical("/tmp/a") == "/private/tmp/a"
    assert canonical("/variable") == "/variable"
    assert canonical("/Users/cafe\u0301") == "/Users/caf\u00e9"


def test_what_it_cannot_express(tmp_path: Path) -> None:
    with pytest.raises(CannotExpress):
        Seatbelt(Policy((tmp_path,), Access.FULL))
    hosts = Policy((tmp_path,), allow=AllowList(()), proxy_folder=tmp_path)
    with pytest.raises(CannotExpress, match="hosts"):
        Seatbelt(hosts)


def test_launch(tmp_path: Path) -> None:
    sandbox = Seatbelt(Policy((tmp_path,)))
    launch = sandbox.wrap(("true",), tmp_path, {"HOME": str(tmp_path)})
    assert launch.argv[:2] == (SANDBOX_EXEC, "-p")
    assert launch.argv[-1] == "true"
    assert Path(launch.env["TMPDIR"]).is_dir()
    assert "untried" in sandbox.describe()
    sandbox.close()
    assert not Path(launch.env["TMPDIR"]).exists()
    assert probe(Policy((tmp_path,)), {"PATH": ""}, ("seatbelt",)).tier in ("none", "seatbelt")
