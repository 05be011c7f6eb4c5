"""Commits of what the agent changed, on real repositories: whose hunks go in, and what stays as the user had it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from pool.agent.gitwork.authorship import Whose
from pool.agent.gitwork.committing import commit, with_trailer
from pool.agent.gitwork.errors import GitWorkError
from pool.agent.gitwork.proposal import propose
from pool_tools.git.signing import refuse

from .conftest import Work, change_line, git, opened


async def committed(work: Work, *, message: str = "Change it", everything: bool = False) -> list[str]:
    """Commit the agent's work; the notes."""
    with work.view() as view:
        async with opened(work.root) as repo:
            proposal = await propose(repo, view, everything=everything)
            return list((await commit(repo, proposal, None, message, refuse)).notes)


async def test_the_users_own_hunks_and_files_stay_out(repo: Path) -> None:
    change_line(repo / "a.txt", 1, "user before")
    (repo / "mine.txt").write_text("mine\n")
    work = Work(repo)
    work.agent(lambda: change_line(repo / "a.txt", 5, "agent"))
    work.agent(lambda: (repo / "new.txt").write_text("new\n"))
    change_line(repo / "a.txt", 9, "user after")
    change_line(repo / "b.txt", 1, "user")
    assert await committed(work) == []
    assert git(repo, "show", "--format=%s", "--name-only", "HEAD").split() == ["Change", "it", "a.txt", "new.txt"]
    assert git(repo, "show", "HEAD:a.txt").split("\n")[0] == "line 1"
    assert git(repo, "show", "HEAD:a.txt").split("\n")[4] == "agent"
    left = git(repo, "diff", "-U0")
    assert "+user before" in left
    assert "+user after" in left
    assert "+agent" not in left
    assert git(repo, "diff", "--cached") == ""
    assert git(repo, "status", "--porcelain") == " M a.txt\n M b.txt\n?? mine.txt\n"


async def test_lines_that_both_changed_go_in_and_are_marked(repo: Path) -> None:
    work = Work(repo)
    work.agent(lambda: change_line(repo / "a.txt", 5, "agent"))
    change_line(repo / "a.txt", 5, "agent, mended by the user")
    with work.view() as view:
        async with opened(repo) as here:
            proposal = await propose(here, view)
    assert [hunk.whose for hunk in proposal.hunks] == [Whose.MIXED]
    await committed(work)
    assert "mended by the user" in git(repo, "show", "HEAD:a.txt")


async def test_single_hunks_can_be_chosen(repo: Path) -> None:
    work = Work(repo)
    work.agent(lambda: (change_line(repo / "a.txt", 2, "two"), change_line(repo / "a.txt", 8, "eight")))
    with work.view() as view:
        async with opened(repo) as here:
            proposal = await propose(here, view)
            assert [hunk.number for hunk in proposal.hunks] == [1, 2]
            await commit(here, proposal, {2}, "Only one", refuse)
    assert "eight" in git(repo, "show", "HEAD:a.txt")
    assert "two" not in git(repo, "show", "HEAD:a.txt")
    assert "+two" in git(repo, "diff")


async def test_what_is_staged_stays_staged(repo: Path) -> None:
    """Another file, other lines of the same file, and a file that is only known to be coming."""
    change_line(repo / "a.txt", 1, "staged by the user")
    change_line(repo / "b.txt", 1, "staged too")
    (repo / "coming.txt").write_text("later\n")
    git(repo, "add", "a.txt", "b.txt")
    git(repo, "add", "--intent-to-add", "coming.txt")
    staged = git(repo, "diff", "--cached")
    work = Work(repo)
    work.agent(lambda: change_line(repo / "a.txt", 8, "agent"))
    assert await committed(work) == []
    assert git(repo, "show", "--format=", "-U0", "HEAD").count("\n+") == 2
    after = git(repo, "diff", "--cached")
    assert [line for line in after.split("\n") if line[:1] in "+-"] == [
        line for line in staged.split("\n") if line[:1] in "+-"
    ]
    assert git(repo, "diff", "--name-only").split() == ["coming.txt"]


async def test_staging_of_the_same_lines_is_refused_before_anything_is_done(repo: Path) -> None:
    work = Work(repo)
    change_line(repo / "a.txt", 5, "staged by the user")
    git(repo, "add", "a.txt")
    index = (repo / ".git/index").read_bytes()
    work.agent(lambda: change_line(repo / "a.txt", 5, "agent"))
    with pytest.raises(GitWorkError, match=r"staged other changes to the same lines of a\.txt"):
        await committed(work)
    assert git(repo, "log", "--format=%s") == "First\n"
    assert (repo / ".git/index").read_bytes() == index


async def test_everything_takes_all_that_differs(repo: Path) -> None:
    work = Work(repo)
    work.agent(lambda: change_line(repo / "a.txt", 5, "agent"))
    change_line(repo / "b.txt", 1, "user")
    (repo / "mine.txt").write_text("mine\n")
    await committed(work, everything=True)
    assert git(repo, "status", "--porcelain") == ""


async def test_deleted_renamed_executable_binary_and_odd_names(repo: Path) -> None:
    work = Work(repo)

    def do() -> None:
        (repo / "b.txt").unlink()
        (repo / "a.txt").chmod(0o755)
        (repo / "設定").mkdir()
        (repo / "設定/Größe\n\t.bin").write_bytes(b"\0\1\2")
        (repo / "link").symlink_to("a.txt")
        (repo / "-n").write_text("dash\n")

    work.agent(do)
    await committed(work)
    assert git(repo, "status", "--porcelain") == ""
    listed = git(repo, "ls-tree", "-r", "-z", "HEAD")
    assert "設定/Größe\n\t.bin" in listed
    assert "120000" in listed
    assert "100755" in listed
    assert "b.txt" not in listed


async def test_the_first_commit_of_a_repository(tmp_path: Path) -> None:
    top = tmp_path / "empty"
    top.mkdir()
    git(top, "init", "-q")
    (top / "mine.txt").write_text("mine\n")
    git(top, "add", "mine.txt")
    work = Work(top)
    work.agent(lambda: (top / "new.txt").write_text("new\n"))
    await committed(work)
    assert git(top, "ls-tree", "-r", "--name-only", "HEAD") == "new.txt\n"
    assert git(top, "diff", "--cached", "--name-only") == "mine.txt\n"


async def test_what_the_agent_has_committed_itself_is_not_proposed_again(repo: Path) -> None:
    work = Work(repo)
    work.agent(lambda: change_line(repo / "a.txt", 5, "agent"))
    git(repo, "commit", "-qam", "By the agent")
    change_line(repo / "a.txt", 5, "user, later")
    with work.view() as view:
        async with opened(repo) as here:
            proposal = await propose(here, view)
    assert [hunk.whose for hunk in proposal.hunks] == [Whose.YOURS]
    assert proposal.chosen == frozenset()


async def test_a_failing_hook_stops_it_and_nothing_changes(repo: Path) -> None:
    hook = repo / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho style: line 3\nexit 1\n")
    hook.chmod(0o755)
    change_line(repo / "b.txt", 1, "staged")
    git(repo, "add", "b.txt")
    index = (repo / ".git/index").read_bytes()
    work = Work(repo)
    work.agent(lambda: change_line(repo / "a.txt", 5, "agent"))
    with pytest.raises(GitWorkError, match="style: line 3"):
        await committed(work)
    assert git(repo, "log", "--format=%s") == "First\n"
    assert (repo / ".git/index").read_bytes() == index


async def test_a_hook_that_formats_gets_its_way(repo: Path) -> None:
    hook = repo / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nsed -i 's/agent/AGENT/' a.txt && git add a.txt\n")
    hook.chmod(0o755)
    work = Work(repo)
    work.agent(lambda: change_line(repo / "a.txt", 5, "agent"))
    await committed(work)
    assert "AGENT" in git(repo, "show", "HEAD:a.txt")
    assert git(repo, "status", "--porcelain") == ""


async def test_without_an_identity_none_is_invented(repo: Path, home: Path) -> None:
    (home / ".gitconfig").write_text("[user]\n\tuseConfigOnly = true\n")
    config = (repo / ".git/config").read_bytes()
    work = Work(repo)
    work.agent(lambda: change_line(repo / "a.txt", 5, "agent"))
    with pytest.raises(GitWorkError, match="No identity is set"):
        await committed(work)
    assert (repo / ".git/config").read_bytes() == config
    assert git(repo, "diff", "--cached") == ""


async def test_the_identity_in_the_environment_counts(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Ada at work")
    monkeypatch.setenv("GIT_COMMITTER_EMAIL", "ada@work.example")
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    work = Work(repo)
    work.agent(lambda: change_line(repo / "a.txt", 5, "agent"))
    await committed(work)
    monkeypatch.delenv("GIT_DIR")
    assert git(repo, "log", "-1", "--format=%an %ae %cn %ce") == "Ada at work t@example.org T ada@work.example\n"


async def test_clear_words_where_it_cannot_be(repo: Path) -> None:
    work = Work(repo)
    work.agent(lambda: change_line(repo / "a.txt", 5, "agent"))
    lock = repo / ".git/index.lock"
    lock.touch()
    with pytest.raises(GitWorkError, match=r"index\.lock exists.*not removed"):
        await committed(work)
    assert lock.exists()
    lock.unlink()
    git(repo, "stash", "-q")
    git(repo, "switch", "-qc", "other")
    (repo / "b.txt").write_text("other\n")
    git(repo, "commit", "-qam", "Other")
    git(repo, "switch", "-q", "main")
    (repo / "b.txt").write_text("main\n")
    git(repo, "commit", "-qam", "Main")
    git(repo, "merge", "other", check=False)
    with pytest.raises(GitWorkError, match="a merge is in progress"):
        await committed(work)


async def test_on_a_detached_head_it_is_said(repo: Path) -> None:
    git(repo, "checkout", "-q", "--detach")
    work = Work(repo)
    work.agent(lambda: change_line(repo / "a.txt", 5, "agent"))
    with work.view() as view:
        async with opened(repo) as here:
            assert "detached" in (await propose(here, view)).notes[0]
    await committed(work)
    assert git(repo, "log", "-1", "--format=%s") == "Change it\n"


async def test_ignored_files_and_other_repositories_are_left_out(repo: Path) -> None:
    (repo / ".gitignore").write_text("out/\n")
    (repo / "out").mkdir()
    (repo / "out/log.txt").write_text("log\n")
    git(repo, "init", "-q", "inner")
    work = Work(repo)

    def do() -> None:
        (repo / "inner/x.txt").write_text("x\n")
        change_line(repo / "a.txt", 5, "agent")

    work.agent(do)
    with work.view() as view:
        async with opened(repo) as here:
            proposal = await propose(here, view, paths=["out/log.txt"])
    assert [file.path for file in proposal.files] == ["a.txt"]
    assert "another repository (inner)" in dict(proposal.left_out)["inner/x.txt"]
    assert "ignores" in dict(proposal.left_out)["out/log.txt"]


async def test_from_a_folder_below_the_top(repo: Path) -> None:
    (repo / "sub").mkdir()
    work = Work(repo / "sub")
    work.agent(lambda: (repo / "sub/new.txt").write_text("new\n"))
    await committed(work)
    assert git(repo, "ls-tree", "-r", "--name-only", "HEAD").split() == ["a.txt", "b.txt", "sub/new.txt"]


async def test_line_ends_that_git_converts(repo: Path) -> None:
    (repo / ".gitattributes").write_text("*.crlf eol=crlf\n")
    (repo / "w.crlf").write_bytes(b"1\r\n2\r\n3\r\n4\r\n5\r\n")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "With CRLF")
    work = Work(repo)
    work.agent(lambda: (repo / "w.crlf").write_bytes(b"1\r\n2\r\nthree\r\n4\r\n5\r\n"))
    with work.view() as view:
        async with opened(repo) as here:
            proposal = await propose(here, view)
            assert len(proposal.hunks) == 1
            assert proposal.hunks[0].block is not None
            assert proposal.hunks[0].block.old == (b"3\r\n",)
    await committed(work)
    assert git(repo, "cat-file", "blob", "HEAD:w.crlf") == "1\n2\nthree\n4\n5\n"
    assert git(repo, "status", "--porcelain") == ""


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="no ssh-keygen here")
async def test_signing_is_never_left_out(repo: Path, home: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(home / "key")], check=True)
    with (home / ".gitconfig").open("a") as file:
        file.write(f"\tsigningkey = {home}/key.pub\n[gpg]\n\tformat = ssh\n[commit]\n\tgpgsign = true\n")
    work = Work(repo)
    work.agent(lambda: change_line(repo / "a.txt", 5, "agent"))
    with pytest.raises(GitWorkError, match="not signed") as caught:
        await committed(work)
    assert caught.value.denied
    assert git(repo, "log", "--format=%s") == "First\n"

    async def yes(step: object) -> str:
        return ""

    with work.view() as view:
        async with opened(repo) as here:
            done = await commit(here, await propose(here, view), None, "Signed", yes)
    assert done.signed
    assert "gpgsig" in git(repo, "cat-file", "commit", "HEAD")
    assert git(repo, "status", "--porcelain") == ""


def test_the_trailer_joins_others_and_comes_once() -> None:
    assert with_trailer("Do it", "m") == "Do it\n\nAssisted-by: Pool (m)"
    signed = "Do it\n\nWhy.\n\nSigned-off-by: A <a@b.c>"
    assert with_trailer(signed, "m") == f"{signed}\nAssisted-by: Pool (m)"
    assert with_trailer(with_trailer(signed, "m"), "m") == f"{signed}\nAssisted-by: Pool (m)"
    assert with_trailer("fix: it", "m") == "fix: it\n\nAssisted-by: Pool (m)"
