"""Commands on what was changed: look at it, go back, go on in a copy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pool.agent.commands.kinds import (
    ActionKind,
    Ask,
    Choice,
    Command,
    CommandError,
    CommandResult,
    Rows,
    Typed,
    act,
    words,
)
from pool.agent.control import Conversation
from pool.agent.undoing import Scope, SessionUndo
from pool.sessions.checkpoints.difftext import diff_lines
from pool.sessions.checkpoints.gitobjects import NoObject
from pool.sessions.checkpoints.undo import Step, Verdict
from pool.sessions.rewind import Rewind
from pool.sessions.rewinds import NoSuchPrompt
from pool_tools.text import plural, printable, visible

NOW = "--now"
"""Given last, it lets an undo go on that was shown."""

FILES, TALK = "files", "conversation"
DIFF_LINES = 400
"""Lines of a diff that the command itself shows."""


async def _undo(conversation: Conversation, typed: Typed) -> CommandResult:
    return await _rewind(conversation, typed, redo=False)


async def _redo(conversation: Conversation, typed: Typed) -> CommandResult:
    return await _rewind(conversation, typed, redo=True)


async def _rewind(conversation: Conversation, typed: Typed, *, redo: bool) -> CommandResult:
    undo = _undo_of(conversation)
    left = [word for word in typed.words if word not in (NOW, FILES, TALK)]
    if len(left) > (0 if redo else 1):
        raise CommandError(f"usage: /{typed.name}{'' if redo else ' [PROMPT]'} [{FILES}|{TALK}]")
    to = left[0] if left else ""
    files, talk = TALK not in typed.words, FILES not in typed.words
    try:
        if redo:
            rewind = await undo.plan_back(files=files, conversation=talk)
        else:
            rewind = await undo.plan(to, files=files, conversation=talk)
    except NoSuchPrompt as error:
        raise CommandError(str(error)) from None
    steps = tuple(_rows(rewind.files.steps if rewind.files else ()))
    rows = Rows(("", "file", "lines"), steps) if steps else None
    if rewind.empty:
        return CommandResult(("there is nothing to take back",), rows, ok=False)
    if NOW not in typed.words:
        base = f"/{typed.name} {to}".rstrip()
        lines = (*_lines(rewind), *_elsewhere(rewind, str(conversation.session.settings.workspace)))
        return CommandResult(lines, rows, ask=Ask("Do this?", tuple(_choices(base, rewind))))
    done = await undo.carry_out(rewind)
    told = [f"{plural(len(done.steps), 'file')} put back"] if rewind.files is not None else []
    told += ["the conversation goes on from there"] if rewind.to_seq >= 0 else []
    failures = tuple(f"not put back: {visible(f.path)}: {visible(f.why)}" for f in done.failures)
    again = "undo" if redo else "redo"
    return CommandResult((f"{', '.join(told)}; /{again} takes this back", *failures), ok=not failures)


def _elsewhere(rewind: Rewind, here: str) -> Iterable[str]:
    """The folders in which prompts were worked whose files this does not put back."""
    if rewind.files is None:
        return
    for folder in dict.fromkeys(prompt.workspace for prompt in rewind.taken):
        if folder not in ("", here):
            yield f"files that were changed in {visible(folder)} stay; pool undo --files acts there"


def _choices(base: str, rewind: Rewind) -> Iterable[Choice]:
    both = rewind.to_seq >= 0 and bool(rewind.files and rewind.files.todo)
    if both:
        yield Choice("files and conversation", f"{base} {NOW}")
    if rewind.files and rewind.files.todo:
        yield Choice("only the files", f"{base} {FILES} {NOW}")
    if rewind.to_seq >= 0:
        yield Choice("only the conversation", f"{base} {TALK} {NOW}")
    yield Choice("leave everything as it is")


def _lines(rewind: Rewind) -> Iterable[str]:
    if rewind.redo:
        yield "take the last undo back"
    else:
        text = next((p.text for p in rewind.taken if p.number == rewind.prompt), "").strip().split("\n")[0]
        yield f"back to before prompt {rewind.prompt}" + (f": {visible(text)}" if text else "")
    if rewind.taken:
        yield f"prompts {'that come again' if rewind.redo else 'that are taken back'}: {len(rewind.taken)}"


def _rows(steps: Sequence[Step]) -> Iterable[tuple[str, str, str]]:
    for step in steps:
        if step.verdict is not Verdict.RESTORE:
            yield "leave", visible(step.path), step.why
            continue
        verb = "delete" if step.target is None else "create" if step.now is None else "restore"
        yield verb, visible(step.path), f"+{step.added} -{step.removed}"


async def _diff(conversation: Conversation, typed: Typed) -> CommandResult:
    try:
        scope = Scope(typed.rest or Scope.RUN)
    except ValueError:
        raise CommandError(f"usage: /diff [{'|'.join(Scope)}]") from None
    try:
        changes = await _undo_of(conversation).changes(scope)
    except NoObject as error:
        raise CommandError(str(error)) from None
    lines = [printable(line) for change in changes for line in diff_lines(change)]
    more = [f"… and {len(lines) - DIFF_LINES:,} more lines"] if len(lines) > DIFF_LINES else []
    rows = tuple((visible(c.path), c.kind.value, f"+{c.counts[0]}", f"-{c.counts[1]}") for c in changes)
    if not rows:
        return CommandResult(("no changes",))
    table = Rows(("file", "", "added", "removed"), rows, frozenset({2, 3}))
    return CommandResult((*lines[:DIFF_LINES], *more), table)


async def _fork(conversation: Conversation, typed: Typed) -> CommandResult:
    if len(typed.words) > 1:
        raise CommandError("usage: /fork [PROMPT]")
    try:
        session = await _undo_of(conversation).fork(typed.rest)
    except NoSuchPrompt as error:
        raise CommandError(str(error)) from None
    return act(ActionKind.RESUME, session, "a copy of the conversation; the first one stays as it is")


def _undo_of(conversation: Conversation) -> SessionUndo:
    undo = conversation.session.undo
    if undo is None:
        raise CommandError("this session is not saved, so nothing is kept to go back to")
    return undo


COMMANDS = (
    Command(
        "undo",
        "take back what the last prompt did, or everything from prompt N on; shown first",
        _undo,
        aliases=("rewind",),
        hint=f"[N] [{FILES}|{TALK}]",
        needs_idle=True,
        arguments=words(FILES, TALK),
    ),
    Command("redo", "take the last undo back", _redo, hint=f"[{FILES}|{TALK}]", needs_idle=True),
    Command(
        "diff",
        "what the last prompt, the session or the working tree changed",
        _diff,
        hint=f"[{'|'.join(Scope)}]",
        arguments=words(*Scope),
    ),
    Command("fork", "go on in a copy of the session, as it was before prompt N", _fork, hint="[N]", needs_idle=True),
)
