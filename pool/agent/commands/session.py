"""Commands on the session as a whole: begin, leave, look at it."""

from __future__ import annotations

from pool.agent.commands.kinds import (
    ActionKind,
    Command,
    CommandError,
    CommandResult,
    Rows,
    Typed,
    act,
    said,
    words,
)
from pool.agent.control import Conversation
from pool.agent.initprompt import init_prompt
from pool.messages import Role

MOST_COMMAND_CHARS = 60

GO_ON = "Go on where you stopped."
"""What `/retry` says: the prompt that failed is in the history."""


async def _new(conversation: Conversation, typed: Typed) -> CommandResult:
    return act(ActionKind.NEW, typed.rest)


async def _quit(conversation: Conversation, typed: Typed) -> CommandResult:
    return act(ActionKind.QUIT)


async def _init(conversation: Conversation, typed: Typed) -> CommandResult:
    return act(ActionKind.SUBMIT, init_prompt(typed.rest))


async def _retry(conversation: Conversation, typed: Typed) -> CommandResult:
    if not any(kept.message.role is Role.USER for kept in conversation.session.agent.history.messages):
        raise CommandError("nothing was asked yet")
    return act(ActionKind.SUBMIT, GO_ON)


async def _status(conversation: Conversation, typed: Typed) -> CommandResult:
    now = conversation.status()
    window = f" of {now.window:,} ({now.tokens / now.window:.0%})" if now.window else ", the window is unknown"
    waiting = [f"{now.queued} queued"] * bool(now.queued) + [f"{now.steering} to be said"] * bool(now.steering)
    rows = (
        ("session", now.session),
        ("workspace", now.workspace),
        ("server", now.server),
        ("model", now.model),
        ("thinking", now.thinking),
        ("mode", now.mode.value),
        ("sandbox", now.sandbox),
        ("network", now.network),
        ("context", f"{now.tokens:,} tokens{window}"),
        ("run", f"working, turn {now.turns}" if now.busy else "none works"),
        *((("waiting", ", ".join(waiting)),) if waiting else ()),
    )
    return CommandResult(rows=Rows(("", ""), rows))


async def _stop(conversation: Conversation, typed: Typed) -> CommandResult:
    return said("stopping" if conversation.stop() else "no run works")


async def _copy(conversation: Conversation, typed: Typed) -> CommandResult:
    number = typed.rest or "1"
    if not (number.isascii() and number.isdecimal() and int(number[:9]) > 0):
        raise CommandError(f"/copy {typed.rest!r}: give the number of an answer, 1 for the last")
    messages = conversation.session.agent.history.messages
    answers = [m.message.content for m in messages if m.message.role is Role.ASSISTANT and m.message.content.strip()]
    if int(number[:9]) > len(answers):
        raise CommandError(f"there are {len(answers)} answers" if answers else "there is no answer to copy yet")
    text = answers[-int(number[:9])].strip()
    return act(ActionKind.COPY, text, f"{len(text):,} characters")


async def _tools(conversation: Conversation, typed: Typed) -> CommandResult:
    tools = conversation.session.agent.tools
    rows = tuple((name, spec.effect.value, spec.description.split(". ")[0].rstrip(".")) for name, spec in tools.items())
    return CommandResult(rows=Rows(("tool", "can", "what it does"), rows))


async def _jobs(conversation: Conversation, typed: Typed) -> CommandResult:
    jobs = conversation.session.toolbox.jobs.all()
    match typed.words:
        case []:
            pass
        case ["stop", job_id]:
            found = next((job for job in jobs if job.id == job_id), None)
            if found is None:
                raise CommandError(f"there is no job {job_id}; /jobs lists them")
            await conversation.session.toolbox.jobs.stop(found)
            return said(f"job {job_id} has ended")
        case _:
            raise CommandError("usage: /jobs, or /jobs stop ID")
    if not jobs:
        return said("no command runs in the background")
    rows = tuple(
        (job.id, "running" if job.running else "ended", f"{job.seconds:,.0f} s", _short(job.command)) for job in jobs
    )
    return CommandResult(rows=Rows(("job", "", "time", "command"), rows, frozenset({2})))


async def _agents(conversation: Conversation, typed: Typed) -> CommandResult:
    if typed.rest == "reload":
        return said(conversation.reload_instructions())
    if typed.rest:
        raise CommandError("usage: /agents, or /agents reload")
    found = conversation.session.instructions.current
    if not found.files and not found.nested:
        return said("no AGENTS.md holds here; /init writes one", *found.problems)
    rows = tuple((f.shown, f"{f.tokens:,}", f"{f.size:,}", "cut" if f.cut else "") for f in found.files)
    nested = (f"read when needed: {', '.join(found.nested)}",) if found.nested else ()
    lines = (*found.problems, *nested, "later ones win; /agents reload tells the model what they say now")
    return CommandResult(lines, Rows(("file", "tokens", "bytes", ""), rows, frozenset({1, 2})))


def _short(command: str) -> str:
    line = " ".join(command.split())
    return line if len(line) <= MOST_COMMAND_CHARS else f"{line[: MOST_COMMAND_CHARS - 1]}…"


COMMANDS = (
    Command("new", "begin a new session", _new, aliases=("clear",), hint="[NAME]", needs_idle=True),
    Command("quit", "leave; the session can be resumed", _quit, aliases=("exit", "q")),
    Command("stop", "end the run that works", _stop),
    Command("retry", "go on after a failure, where the run stopped", _retry, aliases=("continue",), needs_idle=True),
    Command("init", "let the agent write an AGENTS.md for this repository", _init, hint="[WISHES]", needs_idle=True),
    Command("status", "session, server, model, mode, sandbox, context", _status),
    Command("copy", "copy the last answer, or the last but N-1", _copy, hint="[N]"),
    Command("tools", "the tools that the model has", _tools),
    Command("jobs", "commands in the background", _jobs, aliases=("ps",), hint="[stop ID]", arguments=words("stop")),
    Command(
        "agents",
        "the AGENTS.md files that hold; reload tells the model of changes",
        _agents,
        aliases=("memory",),
        hint="[reload]",
        arguments=words("reload"),
    ),
)
