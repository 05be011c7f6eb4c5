"""Committing from the interface: what would be committed is found and shown, then done; what failed is shown again."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from pool.facekit.answers import answer_text
from pool.tui.note import Note
from pool.tui.transcript.notice import ErrorCard

if TYPE_CHECKING:
    from pool.agent.control import Conversation
    from pool.agent.gitwork.message import Written
    from pool.agent.gitwork.proposal import CommitProposal
    from pool.agent.gitwork.style import Style
    from pool.tui.app import PoolApp
    from pool.tui.screens.commit import Wish

TITLE = "/commit"


class Committing:
    """One commit, from the first look until it is made or given up."""

    def __init__(self, app: PoolApp, conversation: Conversation, message: str) -> None:
        """message is the user's, "" to have one written."""
        self._app = app
        self._conversation = conversation
        self._message = message
        self._everything = False
        self._mark = ""

    async def show(self, problem: str = "", chosen: frozenset[int] | None = None) -> None:
        """Find what would be committed and show it. chosen are the hunks of an earlier try that failed with problem."""
        from pool.agent.commands.gitwork import mark_of
        from pool.agent.gitwork.errors import GitWorkError
        from pool.tui.screens.commit import CommitScreen, Offered

        before = self._mark
        try:
            proposal, style = await self._proposed()
        except GitWorkError as error:
            self._app.transcript.add(ErrorCard(TITLE, problem or str(error)))
            return
        self._mark = mark_of(proposal)
        if not proposal.hunks and not self._everything:
            nothing = "nothing of the agent's is left to commit (/commit --all takes all)"
            self._app.transcript.add(Note("\n".join([*proposal.notes, nothing]), TITLE))
            return
        kept = chosen if chosen is not None and before == self._mark else proposal.chosen
        offered = Offered(proposal, kept, self._message, problem)
        self._app.push_screen(CommitScreen(offered, self._writer(proposal, style)), self._left)

    async def _proposed(self) -> tuple[CommitProposal, Style]:
        from pool.agent.gitwork.opening import open_repository
        from pool.agent.gitwork.sessionwork import propose_work
        from pool.agent.gitwork.style import read_style

        session = self._conversation.session
        paths = session.agent.state.changes if session.settings.ephemeral else ()
        async with open_repository(session.settings) as repo:
            proposal = await propose_work(
                repo, session.hub.session, session.settings.workspace, everything=self._everything, paths=paths
            )
            return proposal, await read_style(repo)

    def _writer(self, proposal: CommitProposal, style: Style) -> Callable[[frozenset[int]], Awaitable[Written]]:
        from pool.agent.gitwork.message import write_message

        async def write(chosen: frozenset[int]) -> Written:
            try:
                return await write_message(self._conversation.session, proposal, chosen, style)
            finally:
                self._app.activity.rest(time.monotonic())

        return write

    def _left(self, wish: Wish | None) -> None:
        if wish is None:
            return
        self._message = wish.message
        if wish.everything:
            self._everything = not self._everything
            self._app.actions.spawn(self.show())
        else:
            self._app.actions.spawn(self._commit(wish))

    async def _commit(self, wish: Wish) -> None:
        from pool.agent.commands import execute
        from pool.tui.screens.commit import commit_line

        transcript = self._app.transcript
        entry = transcript.add(Note("", title=f"{TITLE} · git and its hooks run"))
        result = await execute(commit_line(wish, self._mark, everything=self._everything), self._conversation)
        text = answer_text(result)
        if result.ok:
            transcript.replace(entry, Note(text, title=TITLE))
            return
        transcript.replace(entry, ErrorCard(TITLE, text))
        await self.show(text, wish.chosen)
