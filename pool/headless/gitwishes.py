"""What `pool run` does in git besides: a branch before the run, a commit and the text of a pull request after it."""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pool.config.settings import Settings, SettingsError
from pool.events import Notice, RunFinished

if TYPE_CHECKING:
    from pool.agent.factory import Session
    from pool.agent.gitwork.opening import RepoGit

AUTO = "auto"
EXIT_NOT_DONE = 4
EXIT_DENIED = 7


@dataclass(slots=True)
class GitWishes:
    """What is asked for. commit is a message, `auto` for a proposed one, None for no commit; pr_body a file.

    started_at is the commit at which the run began, "" for none.
    """

    commit: str | None = None
    branch: str = ""
    pr_body: Path | None = None
    assisted_by: bool = False
    sign: bool = False
    started_at: str = ""

    def __bool__(self) -> bool:
        return self.commit is not None or bool(self.branch) or self.pr_body is not None

    async def before(self, settings: Settings) -> str:
        """Get ready before the session opens; a line for people, "" for none. Raises `SettingsError`."""
        from pool.agent.gitwork.errors import GitWorkError
        from pool.agent.gitwork.opening import open_repository
        from pool.headless.startfolder import on_branch

        try:
            said = await on_branch(settings, self.branch) if self.branch else ""
            async with open_repository(settings) as repo:
                self.started_at = (await repo.git.read("rev-parse", "--verify", "--quiet", "HEAD")).line
        except GitWorkError as error:
            raise SettingsError(f"{'--branch' if self.branch else '--commit, --pr-body'}: {error}") from None
        return said

    async def after(self, session: Session, finished: RunFinished) -> int:
        """Commit and write, and tell the session's faces; 0 or the exit code that says what failed."""
        from pool.agent.gitwork.errors import GitWorkError
        from pool.agent.gitwork.opening import open_repository

        code = 0
        try:
            async with open_repository(session.settings) as repo:
                if self.commit is not None:
                    code = await self._commit(repo, session, finished)
                if self.pr_body is not None:
                    await self._write_body(repo, session, finished)
        except (GitWorkError, SettingsError) as error:
            session.hub.emit(Notice("error", str(error)))
            return code or EXIT_NOT_DONE
        return code

    async def _commit(self, repo: RepoGit, session: Session, finished: RunFinished) -> int:
        from pool.agent.gitwork.errors import GitWorkError
        from pool.agent.gitwork.message import write_message
        from pool.agent.gitwork.sessionwork import commit_work, propose_work
        from pool.agent.gitwork.style import read_style
        from pool.headless.commit import confirm_for, made_lines

        emit = session.hub.emit
        if finished.exit_code:
            emit(Notice("warning", f"nothing was committed, since the run ended with {finished.reason.value}"))
            return 0
        try:
            paths = [change.path for change in finished.changes] if session.settings.ephemeral else ()
            workspace = session.settings.workspace
            proposal = await propose_work(repo, session.hub.session, workspace, paths=paths)
            chosen = proposal.chosen
            if not chosen:
                emit(Notice("warning", "nothing was committed: the agent changed nothing that could be"))
                return 0
            message = self.commit or ""
            if message == AUTO:
                message = (await write_message(session, proposal, chosen, await read_style(repo))).text
            model = session.agent.labels.model if self.assisted_by or session.settings.assisted_by else ""
            confirm = confirm_for(sign=self.sign)
            made = await commit_work(repo, proposal, chosen, message, confirm, assisted_by=model, hub=session.hub)
        except GitWorkError as error:
            said = " · ".join(line.strip() for line in str(error).splitlines() if line.strip())
            emit(Notice("error", f"the commit failed: {said}"))
            return EXIT_DENIED if error.denied else EXIT_NOT_DONE
        for line in made_lines(made):
            emit(Notice("info", line))
        for path, why in proposal.left_out:
            emit(Notice("warning", f"not committed: {path}: {why}"))
        return 0

    async def _write_body(self, repo: RepoGit, session: Session, finished: RunFinished) -> None:
        from pool.agent.gitwork.errors import GitWorkError
        from pool.agent.gitwork.prbody import gather, written

        assert self.pr_body is not None
        state = session.agent.state
        text = written(await gather(repo, self.started_at), state.ledger, finished, state.prompt, state.unverified)
        try:
            self.pr_body.write_text(text, encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            raise GitWorkError(f"--pr-body {str(self.pr_body)!r} cannot be written: {error.strerror}") from None


def wishes_of(args: argparse.Namespace) -> GitWishes:
    """What the flags ask for. Raises `SettingsError` for what cannot be together."""
    if args.commit is not None and not args.commit.strip():
        raise SettingsError("--commit needs a message, or auto")
    if args.branch and args.worktree is not None:
        raise SettingsError("--worktree=BRANCH names the branch of the worktree; --branch is for the main checkout")
    pr_body = Path(os.path.abspath(args.pr_body)) if args.pr_body else None
    if pr_body is not None and not pr_body.parent.is_dir():
        raise SettingsError(f"--pr-body {args.pr_body!r}: its folder is not there")
    return GitWishes(args.commit, args.branch, pr_body, args.assisted_by, args.sign)
