"""What the git tool refuses, what it runs, and what it never runs."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from pool_tools import Effect, effect_of
from pool_tools.git.words import Action

from ..conftest import Desk
from .conftest import run_git


@pytest.mark.parametrize(
    ("args", "named"),
    [
        ({"action": "diff", "rev": "--output=x"}, "begins with a dash"),
        ({"action": "log", "rev": "-O/x"}, "begins with a dash"),
        ({"action": "show", "rev": " --ext-diff"}, "begins with a dash"),
        ({"action": "branch", "op": "create", "name": "-D"}, "begins with a dash"),
        ({"action": "branch", "op": "switch", "name": "--detach"}, "begins with a dash"),
        ({"action": "fetch", "name": "--upload-pack=touch x"}, "begins with a dash"),
        ({"action": "fetch", "name": "ext::sh -c touch% x"}, "must be the name of a remote"),
        ({"action": "push", "name": "../elsewhere"}, "must be the name of a remote"),
        ({"action": "push", "name": "https://example.org/x"}, "must be the name of a remote"),
        ({"action": "diff", "rev": "HEAD\x07"}, "control characters"),
        ({"action": "add", "paths": ["../outside"]}, "outside the workspace"),
        ({"action": "add", "paths": ["/etc/passwd"]}, "outside the workspace"),
        ({"action": "worktree", "op": "add", "paths": ["../wt"]}, "outside the workspace"),
        ({"action": "stash", "op": "pop", "rev": "HEAD"}, "must be a stash"),
        ({"action": "blame", "paths": ["a.txt"], "lines": "1;2"}, "`lines` must be"),
        ({"action": "blame", "paths": []}, "exactly one file"),
        ({"action": "commit", "message": " "}, "needs a `message`"),
        ({"action": "restore"}, "needs `paths`"),
        ({"action": "add"}, "needs `paths`, or `all`"),
        ({"action": "rebase"}, "`action` must be one of status"),
        ({"action": "stash", "op": "clear"}, "`op` of stash must be one of"),
        ({"action": "add", "paths": ["--pathspec-from-file=x"]}, "did not match any file"),
    ],
)
async def test_what_is_refused(repo: Desk, args: dict[str, object], named: str) -> None:
    assert named in await repo.refused("git", **args)
    assert run_git(repo.folder, "status", "--porcelain") == ""


def test_effects(desk: Desk) -> None:
    tool = next(t for t in desk.toolbox.tools if t.spec.name == "git")
    effects = {action: effect_of(tool, {"action": action}) for action in Action}
    reading = {action for action, effect in effects.items() if effect is Effect.READ}
    assert reading == {"status", "diff", "log", "show", "blame", "branch", "worktree"}
    assert {action for action, effect in effects.items() if effect is Effect.NETWORK} == {"fetch", "push"}
    assert effect_of(tool, {"action": "branch", "op": "create", "name": "x"}) is Effect.EXECUTE
    assert effect_of(tool, {"action": "nonsense"}) is Effect.NETWORK
    assert effect_of(tool, {}) is Effect.NETWORK


async def test_reading_runs_nothing_of_the_checkout(repo: Desk, own_home: Path) -> None:
    """Everything that can make git run a program, set to leave a trace, in the user's and the checkout's settings."""
    trace = repo.folder / "ran"
    program = repo.folder / "evil.sh"
    program.write_text(f'#!/bin/sh\necho "$0 $*" >> {trace}\ncat\n')
    program.chmod(0o755)
    settings = (
        "core.fsmonitor", "core.pager", "core.editor", "diff.external", "diff.evil.command", "diff.evil.textconv",
        "pager.log", "pager.diff", "pager.show", "core.sshCommand", "gpg.program", "core.alternateRefsCommand",
        "credential.helper", "interactive.diffFilter", "blame.evil", "core.askPass",
    )  # fmt: skip
    for setting in settings:
        run_git(repo.folder, "config", setting, str(program))
    run_git(repo.folder, "config", "log.showSignature", "true")
    for hook in ("post-index-change", "post-checkout", "pre-commit", "reference-transaction", "fsmonitor-watchman"):
        path = repo.folder / ".git/hooks" / hook
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(program.read_bytes())
        path.chmod(0o755)
    (repo.folder / ".gitattributes").write_text("*.txt diff=evil\n")
    repo.file("a.txt", "one\nTWO\n")
    trace.unlink(missing_ok=True)
    for args in (
        {"action": "status"}, {"action": "diff"}, {"action": "diff", "rev": "HEAD"}, {"action": "log"},
        {"action": "show"}, {"action": "show", "rev": "HEAD:a.txt"}, {"action": "blame", "paths": ["a.txt"]},
        {"action": "branch"}, {"action": "stash", "op": "list"}, {"action": "worktree"},
    ):  # fmt: skip
        assert (await repo.call("git", **args)).ok
    assert not trace.exists(), trace.read_text()
    index_lock = repo.folder / ".git/index.lock"
    assert not index_lock.exists()


async def test_patterns_are_names(repo: Desk) -> None:
    repo.file("*.txt", "star\n")
    repo.file("b.txt", "b\n")
    await repo.call("git", action="add", paths=["*.txt"])
    assert (await repo.call("git", action="status")).data["staged"] == ["*.txt"]
    assert "did not match" in await repo.refused("git", action="add", paths=[":/b.txt"])


async def test_branches_and_switching(repo: Desk) -> None:
    await repo.call("read", path="a.txt")
    await repo.call("git", action="branch", op="create", name="topic")
    switched = await repo.call("git", action="branch", op="switch", name="topic")
    assert switched.ok
    repo.file("a.txt", "one\ntopic\n")
    await repo.call("read", path="a.txt")
    await repo.call("git", action="commit", message="on topic\n\nWith a body.", all=True)
    back = await repo.call("git", action="branch", op="switch", name="main")
    assert [(change.path, change.kind) for change in back.changes] == [("a.txt", "modified")]
    assert "-topic\n+two" in back.text
    listed = await repo.call("git", action="branch")
    assert "on branch main" in listed.text
    assert "topic" in listed.text
    assert "not fully merged" in await repo.refused("git", action="branch", op="delete", name="topic")
    log = await repo.call("git", action="log", rev="main..topic")
    assert log.text.endswith("on topic")
    shown = await repo.call("git", action="show", rev="topic")
    assert "With a body." in shown.text
    assert shown.data["files"] == ["a.txt"]
    assert (await repo.call("git", action="show", rev="topic:a.txt")).text == "one\ntopic\n"


async def test_stash_and_restore(repo: Desk) -> None:
    repo.file("a.txt", "one\nTWO\n")
    repo.file("new.txt", "n\n")
    assert (await repo.call("git", action="stash", message="later", all=True)).ok
    assert repo.bytes_of("a.txt") == b"one\ntwo\n"
    assert not (repo.folder / "new.txt").exists()
    assert "later" in (await repo.call("git", action="stash", op="list")).text
    assert "+TWO" in (await repo.call("git", action="stash", op="show")).text
    await repo.call("git", action="stash", op="pop", rev="0")
    assert repo.bytes_of("a.txt") == b"one\nTWO\n"
    await repo.call("git", action="add", paths=["a.txt"])
    await repo.call("git", action="restore", paths=["a.txt"], staged=True)
    assert (await repo.call("git", action="status")).data["unstaged"] == ["a.txt"]
    await repo.call("git", action="restore", paths=["a.txt"])
    assert repo.bytes_of("a.txt") == b"one\ntwo\n"


async def test_a_merge_in_progress(repo: Desk) -> None:
    run_git(repo.folder, "checkout", "-qb", "other")
    repo.file("a.txt", "one\ntheirs\n")
    run_git(repo.folder, "commit", "-qam", "theirs")
    run_git(repo.folder, "checkout", "-q", "main")
    repo.file("a.txt", "one\nours\n")
    run_git(repo.folder, "commit", "-qam", "ours")
    run_git(repo.folder, "merge", "other", check=False)
    status = await repo.call("git", action="status")
    assert "a merge is in progress: resolve the conflicts" in status.text
    assert "both modified: a.txt" in status.text
    assert status.data["conflicts"] == ["a.txt"]
    said = await repo.refused("git", action="commit", message="merged")
    assert "unmerged files" in said
    repo.file("a.txt", "one\nboth\n")
    await repo.call("git", action="add", paths=["a.txt"])
    assert (await repo.call("git", action="commit", message="merged")).ok
    assert run_git(repo.folder, "rev-list", "--parents", "-1", "HEAD").count(" ") == 2


async def test_submodules_are_named_as_such(repo: Desk, tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    run_git(inner, "init", "-q")
    (inner / "i.txt").write_text("i\n")
    run_git(inner, "add", ".")
    run_git(inner, "commit", "-qm", "inner")
    run_git(repo.folder, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "sub")
    run_git(repo.folder, "commit", "-qm", "submodule")
    repo.file("sub/i.txt", "changed\n")
    status = await repo.call("git", action="status")
    assert "modified submodule (changes inside): sub" in status.text


async def test_no_repository(desk: Desk) -> None:
    assert "is in no git repository" in await desk.refused("git", action="status")


async def test_long_output_is_cut(repo: Desk) -> None:
    repo.file("a.txt", "".join(f"line {number}\n" for number in range(20_000)))
    diff = await repo.call("git", action="diff")
    assert len(diff.text) < 40_000
    assert "left out here" in diff.text
    assert "a.txt +20000 -2" in diff.text
    blame = await repo.call("git", action="blame", paths=["a.txt"], lines="2-2")
    assert blame.text.rstrip().endswith("2) line 1")


async def test_odd_bytes_in_a_diff_are_shown_safely(repo: Desk) -> None:
    repo.file("a.txt", b"one\r\n\x1b]0;title\x07caf\xe9\n")
    diff = await repo.call("git", action="diff")
    assert "\x1b" not in diff.text
    assert "+\\x1b]0;title\\x07caf\\xe9" in diff.text
    diff.text.encode()


async def test_every_process_is_started_through_the_sandbox(repo: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    if repo.sandbox.name == "none":
        pytest.skip("no sandbox here")
    started: list[list[str]] = []
    real = subprocess.Popen.__init__

    def noted(self: object, args: Sequence[str], *rest: object, **more: object) -> None:
        started.append([*args])
        real(self, args, *rest, **more)  # type: ignore[arg-type]  # passed on as it came

    monkeypatch.setattr(subprocess.Popen, "__init__", noted)
    repo.file("a.txt", "one\nTWO\n")
    await repo.call("git", action="status")
    await repo.call("git", action="commit", message="x", all=True)
    assert started
    assert all("--unshare-user" in argv for argv in started)
