"""A commit whose process is killed before the index followed: it is said at the next start, and finished."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

from pool.agent.gitwork.begun import Begun, begun_words, note_begun
from pool.agent.gitwork.committing import finish_begun

from .conftest import Work, change_line, git, opened

HOOK = "#!/bin/sh\ntouch .git/committed\nwhile [ ! -e .git/go ]; do sleep 0.02; done\n"
WAIT_SECONDS = 20.0
COMMITTING = """
import asyncio, sys
from pathlib import Path
from pool.agent.gitwork.committing import commit
from pool.agent.gitwork.opening import open_repository
from pool.agent.gitwork.proposal import propose
from pool.config.settings import Settings
from pool.sessions.checkpoints.changes import ChangesView
from pool_tools.git.signing import refuse

async def main(root, folder):
    async with open_repository(Settings(workspace=root)) as repo:
        with ChangesView(folder, root) as view:
            proposal = await propose(repo, view)
        await commit(repo, proposal, None, "Change it", refuse)

asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2])))
"""


async def killed_commit(work: Work) -> None:
    """Commit the agent's work in a process that is killed when git has made the commit."""
    hook = work.root / ".git/hooks/post-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(HOOK)
    hook.chmod(0o755)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", COMMITTING, str(work.root), str(work.folder)), start_new_session=True
    )
    until = time.monotonic() + WAIT_SECONDS
    while not (work.root / ".git/committed").exists():
        assert process.returncode is None
        assert time.monotonic() < until
        await asyncio.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
    (work.root / ".git/go").touch()
    hook.unlink()


async def test_it_is_said_and_finished(repo: Path) -> None:
    """What the user has staged stays so, and nothing of the commit is taken back."""
    assert begun_words(repo) == ""
    change_line(repo / "a.txt", 1, "user")
    git(repo, "add", "a.txt")
    work = Work(repo)
    work.agent(lambda: change_line(repo / "a.txt", 9, "agent"))
    work.agent(lambda: (repo / "new.txt").write_text("new\n"))
    work.agent(lambda: (repo / "b.txt").unlink())
    await killed_commit(work)
    assert git(repo, "log", "-1", "--format=%s") == "Change it\n"
    assert "D  new.txt" in git(repo, "status", "--porcelain")
    assert "in the middle of a commit" in begun_words(repo)
    async with opened(repo) as here:
        notes = await finish_begun(here)
        assert "was brought up to" in notes[0]
        assert await finish_begun(here) == []
    assert git(repo, "status", "--porcelain") == "M  a.txt\n"
    staged = git(repo, "diff", "--cached", "-U0")
    assert "+user" in staged
    assert "agent" not in staged
    assert begun_words(repo) == ""


async def test_where_no_commit_was_made_or_others_followed(repo: Path) -> None:
    """The note goes; of later commits nothing is guessed."""
    work = Work(repo)
    work.agent(lambda: change_line(repo / "a.txt", 9, "agent"))
    async with opened(repo) as here:
        await killed_commit(work)
        git(repo, "reset", "-q", "--soft", "HEAD~")
        assert begun_words(repo) == ""
        assert await finish_begun(here) == []
        git(repo, "reset", "-q")
        (repo / ".git/committed").unlink()
        (repo / ".git/go").unlink()
        await killed_commit(work)
        git(repo, "commit", "-q", "--allow-empty", "-m", "Another", "--only")
        index = git(repo, "ls-files", "--stage")
        assert "git diff --cached" in (await finish_begun(here))[0]
        assert git(repo, "ls-files", "--stage") == index
        assert begun_words(repo) == ""


async def test_a_note_that_is_damaged_is_no_note(repo: Path, tmp_path: Path) -> None:
    async with opened(repo) as here:
        note_begun(here.repository, Begun("0" * 40, {"a\udcff": None}))
        (note,) = (tmp_path / "state/pool/commits").iterdir()
        for text in ("", "[]", "{}", '{"head": 1, "before": 2}', '{"head": "", "before": {"a": [1]}}'):
            note.write_text(text)
            assert begun_words(repo) == ""
            assert await finish_begun(here) == []
