"""The work of a session in its repository: from its id, or from a conversation that is open."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pool.agent.gitwork.committing import Committed, commit, finish_begun, with_trailer
from pool.agent.gitwork.errors import GitWorkError
from pool.agent.gitwork.opening import RepoGit
from pool.agent.gitwork.proposal import CommitProposal, propose
from pool.agent.hub import EventHub
from pool.events import CommitMade
from pool.sessions.checkpoints.changes import ChangesView
from pool.sessions.checkpoints.checkpoints import checkpoints_folder
from pool.sessions.store import sessions_folder
from pool_tools.api import Confirm

NO_CHECKPOINTS = "the session keeps no checkpoints, so what the agent changed is not known"


async def propose_work(
    repo: RepoGit, session: str, workspace: Path, *, everything: bool = False, paths: Iterable[str] = ()
) -> CommitProposal:
    """As `propose`, of a session by its id, "" for none. Raises `GitWorkError` if nothing is known of its changes.

    A commit that was left unfinished is finished before; the proposal's notes say so.
    """
    finished = await finish_begun(repo)
    folder = checkpoints_folder(sessions_folder(), session or "none")
    named = list(paths)
    if not folder.exists() and not everything and not named:
        raise GitWorkError(f"{NO_CHECKPOINTS}; --all commits everything that differs from the last commit")
    try:
        with ChangesView(folder, workspace) as view:
            proposal = await propose(repo, view, everything=everything, paths=named)
            proposal.notes = (*finished, *proposal.notes)
            return proposal
    except OSError as error:
        raise GitWorkError(f"the workspace cannot be read: {error.strerror} ({error.filename})") from None


async def commit_work(
    repo: RepoGit,
    proposal: CommitProposal,
    hunks: Iterable[int],
    message: str,
    confirm: Confirm,
    *,
    assisted_by: str = "",
    hub: EventHub | None = None,
) -> Committed:
    """As `commit`; with a trailer for the model assisted_by, if any, and told to the session's log."""
    text = with_trailer(message, assisted_by) if assisted_by else message
    made = await commit(repo, proposal, frozenset(hunks), text, confirm)
    if hub is not None:
        hub.emit(CommitMade(made.commit, proposal.branch, made.subject, made.files))
    return made
