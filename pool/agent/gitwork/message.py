"""The message of a commit: written by the model from the diff in the repository's manner, else by rule."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from pool.agent.factory import Session
from pool.agent.gitwork.proposal import CommitFile, CommitProposal
from pool.agent.gitwork.style import MOST_SUBJECT_CHARS, Style, plain_subject
from pool.agent.price import Price
from pool.agent.streaming import LastWord
from pool.messages import Role, user
from pool.sessions.checkpoints.textdiff import hunks_of
from pool.sessions.totals import Totals
from pool.wire.errors import ServerProblem
from pool.wire.tokens import raw_tokens
from pool_tools.frozen import frozen
from pool_tools.text import printable, visible

DIFF_CHARS = 12_000
"""Of the diff so much is shown to the model."""

FILE_CHARS = 3_000
SHOWN_SUBJECTS = 10

MESSAGE_TOKENS = 300
THOUGHT_TOKENS = 256
"""What the model may write for a message, and think about it."""

MOST_MESSAGE_CHARS = 2_000
LONGEST_SUBJECT_CHARS = 120
"""A first line that is longer is no subject."""

_FENCE = re.compile(r"^```[\w-]*\n(.*?)\n?```\s*$", re.DOTALL)
_TRAILERS = ("co-authored-by:", "assisted-by:", "signed-off-by:")
"""What a model may not say for others."""

_LABEL = re.compile(r"^(?:commit message|message|subject)\s*:\s*", re.IGNORECASE)


@frozen
class Written:
    """A message. by is `model` or `rule`, note says why no model wrote it. price is that of the request, if any."""

    text: str
    by: str
    note: str = ""
    price: Price | None = None


def written_by_rule(proposal: CommitProposal, chosen: Collection[int], style: Style, note: str = "") -> Written:
    """A message that needs no model."""
    return Written(plain_subject(_taken(proposal, chosen), style), "rule", note)


async def write_message(
    session: Session, proposal: CommitProposal, chosen: Collection[int], style: Style, about: str = ""
) -> Written:
    """Let the session's model write the message, by one short request; by rule if that cannot be had.

    The request is the session's conversation with a question at its end, so the server reads anew only the question;
    it does not enter the history. about is what the user says of the commit.
    """
    history, replies = session.agent.history, session.replies
    ask = _question(proposal, chosen, style, about)
    last = history.messages[-1].message
    # Strict templates refuse two user messages in a row.
    joined = f"{last.content}\n\n{ask}" if last.role is Role.USER else ask
    messages = [m.data for m in history.messages]
    messages[len(messages) - (last.role is Role.USER) :] = [history.encode(user(joined)).data]
    price = replies.price(round(raw_tokens(ask.encode("utf-8", "replace"))))
    asked = LastWord(MESSAGE_TOKENS, show=False, beside="a commit message", thought_tokens=THOUGHT_TOKENS)
    try:
        reading = await replies.last_word(history, messages, asked)
    except ServerProblem as problem:
        return written_by_rule(proposal, chosen, style, f"the model could not be asked: {problem}")
    session.agent.limits.used += Totals(tokens=replies.usage.total)
    text = cleaned(reading.content)
    if not text:
        return written_by_rule(proposal, chosen, style, "the model wrote no message with a short first line")
    return Written(text, "model", price=price)


def cleaned(reply: str) -> str:
    """The message in a model's reply, "" if there is none: without fences, labels, quotes and signs of its own."""
    text = printable(reply).strip().replace("\r\n", "\n")
    if found := _FENCE.match(text):
        text = found[1].strip()
    subject, _, body = text.partition("\n")
    subject = _LABEL.sub("", subject).strip().strip("`\"'*").strip()
    if not subject or subject.startswith("<") or len(subject) > LONGEST_SUBJECT_CHARS:
        return ""
    kept = [line.rstrip() for line in body.split("\n") if not line.lower().startswith(_TRAILERS)]
    rest = "\n".join(kept).strip("\n")
    return f"{subject}\n\n{rest}"[:MOST_MESSAGE_CHARS].rstrip() if rest.strip() else subject


def _question(proposal: CommitProposal, chosen: Collection[int], style: Style, about: str) -> str:
    subjects = "\n".join(f"- {visible(subject)}" for subject in style.subjects[:SHOWN_SUBJECTS])
    manner = (
        f"Keep to the manner and the language of this repository's last subjects:\n{subjects}\n" if subjects else ""
    )
    told = f"The user says of it: {about}\n" if about.strip() else ""
    diff = "\n".join(diff_text(proposal, chosen))
    return (
        "[Pool] Write the message of a git commit of exactly the changes below. "
        f"First line: what it does and, if it fits, why, at most {MOST_SUBJECT_CHARS} characters. Only if that is not "
        "enough: an empty line and a short paragraph that says why. Claim nothing that the changes do not show. Reply "
        f"with the message alone, no quotes, no tool calls.\n{manner}{told}The changes:\n{diff}"
    )


def diff_text(proposal: CommitProposal, chosen: Collection[int], most: int = DIFF_CHARS) -> Iterator[str]:
    """The chosen changes as a diff, cut to about most characters, with what was left out said."""
    left = most
    for file in _taken(proposal, chosen):
        text = "\n".join(_file_diff(file, chosen))
        room = min(FILE_CHARS, left) if most == DIFF_CHARS else left
        if len(text) > room:
            text = f"{text[:room]}\n[{len(text) - room:,} more characters of this file]"
        left = max(0, left - len(text))
        yield text


def _file_diff(file: CommitFile, chosen: Collection[int]) -> Iterator[str]:
    yield f"--- {file.kind}: {visible(file.path)}"
    state = file.with_hunks(chosen)
    if state is None or file.binary or not file.after_mode:
        yield "(binary)" if file.binary else "(the whole file)"
        return
    for hunk in hunks_of(file.before, state[1]):
        yield hunk.header
        for sign, line in hunk.lines:
            yield sign + printable(line.decode("utf-8", "replace")).rstrip("\n")


def _taken(proposal: CommitProposal, chosen: Collection[int]) -> list[CommitFile]:
    return [file for file in proposal.files if file.with_hunks(chosen)]
