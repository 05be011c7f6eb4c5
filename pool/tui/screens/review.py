"""What a person makes of the changes: hunks kept, taken back and commented on; comments become the next prompt."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from pool.tui.screens.diffmodel import FileView, HunkView
from pool_tools.frozen import frozen
from pool_tools.text import visible

QUOTED_LINES = 6
"""Of a hunk so many changed lines are quoted above a comment."""

QUOTED_CHARS = 160


@frozen
class Comment:
    """A comment. key is the hunk's, "" where it is on a file; line is 0 there."""

    path: str
    line: int
    quoted: tuple[str, ...]
    text: str
    key: str = ""


@dataclass(slots=True)
class Review:
    """Kept while a session is open, so that closing the panel loses nothing.

    The sets hold keys of hunks, or paths of files that have none.
    """

    kept: set[str] = field(default_factory=set[str])
    taken_back: set[str] = field(default_factory=set[str])
    comments: list[Comment] = field(default_factory=list[Comment])

    def comment(self, file: FileView, hunk: HunkView | None, line: int, text: str) -> None:
        """Comment on a hunk or a file; another comment on the same takes the place of the first, "" takes it out."""
        key = hunk.key if hunk else ""
        self.comments = [c for c in self.comments if (c.path, c.key) != (file.path, key)]
        if text:
            self.comments.append(Comment(file.path, line, hunk.text if hunk else (), text, key))

    def of(self, file: FileView, hunk: HunkView | None) -> str:
        """The comment on a hunk or a file, "" if there is none."""
        key = hunk.key if hunk else ""
        return next((c.text for c in self.comments if (c.path, c.key) == (file.path, key)), "")

    def take_prompt(self) -> str:
        """The comments as a prompt; they are done with then."""
        comments, self.comments = self.comments, []
        return prompt_of(comments)


def prompt_of(comments: Iterable[Comment]) -> str:
    """Comments as a prompt: where, the changed lines, what was said."""
    return "\n\n".join("\n".join(_lines(c)) for c in comments)


def _lines(comment: Comment) -> Iterable[str]:
    yield visible(comment.path) + (f":{comment.line}" if comment.line else "")
    for line in comment.quoted[:QUOTED_LINES]:
        yield f"> {line[:QUOTED_CHARS]}" + ("…" if len(line) > QUOTED_CHARS else "")
    if len(comment.quoted) > QUOTED_LINES:
        yield f"> … {len(comment.quoted) - QUOTED_LINES:,} more lines"
    yield comment.text
