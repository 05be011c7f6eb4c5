"""What the rules say to people: thoughts, and replies without calls."""

from __future__ import annotations

from collections.abc import Sequence

from pool.sim.history import Story
from pool.sim.source import Fix
from pool.sim.testrun import TestRun

DONE = "I am done:"
GAVE_UP = "I could not finish this."
CLOSINGS = (DONE, GAVE_UP)
WHO = "I am a rule-based simulator, not a language model."
CAN = "I can see why the tests of a Python project fail, mend some kinds of bug, or read a file that you name."
MOST_LINES_QUOTED = 3


def first_thought() -> str:
    """Before the first test run."""
    return "The user wants the tests to pass. Before I change anything I should see which of them fail and why."


def reading_thought(run: TestRun, paths: Sequence[str]) -> str:
    """Before reading files."""
    return f"The run says: {run.counts}. I have not seen all of {_listed(paths)} and need it to know why."


def fixing_thought(fix: Fix) -> str:
    """Before an edit."""
    guess = "" if fix.sure else " I am not certain; the tests will tell."
    return f"{fix.path}, line {fix.first}: {fix.why}. That is a classic {fix.kind}. I change this one place.{guess}"


def moving_thought(name: str, path: str, target: str) -> str:
    """Before a file is changed to move a function."""
    if path == target:
        return f"I begin with {target}: the right `{name}`, and what it needs."
    return f"{path} has a `{name}` of its own: I take it out and import the one in {target}."


def undoing_thought() -> str:
    """Before an edit is taken back."""
    return "That change did not help, so it was a wrong guess. I take it back before I try anything else."


def testing_thought(edits: int) -> str:
    """Before a test run that checks changes."""
    return f"I have made {_number(edits, 'change')}. I do not know that it is right until the tests have run again."


def all_pass(story: Story) -> str:
    """The end of a task that went well, with the counts that were seen."""
    first, last = story.outcomes[0].run, story.outcomes[-1].run
    if not story.edits:
        return f"{DONE} all tests pass ({last.counts}), so I changed nothing. {WHO}"
    return f"{DONE} at first {first.counts}; now {last.counts}. {changes(story)} {WHO}"


def gave_up(story: Story, why: str) -> str:
    """The end of a task that went wrong."""
    seen = f"The last test run: {story.outcomes[-1].run.counts}. " if story.outcomes else ""
    return f"{GAVE_UP} {why} {seen}{changes(story)} {WHO}"


def contradiction(one: str, other: str) -> str:
    """Why two tests cannot both pass."""
    return (
        f"Two tests contradict each other: {one}; {other}. One call cannot have both results, so one of them must go."
    )


def absent(files: Sequence[str]) -> str:
    """What is missing and cannot be had."""
    names = _listed(["/".join(file.split("/")[-2:]) for file in files])
    return f"The tests need {names}, not there now. I cannot fetch it, having no network, and will not make it up."


def at_odds(why: str, known: Sequence[str]) -> str:
    """Why no more is done, and which demands are at odds as far as they are known."""
    return " ".join((why, *(f"{sentence}. Both may not be possible." for sentence in known)))


def summary(story: Story) -> str:
    """Where a task stands, for a reply that may not call tools."""
    if not story.acts:
        return f"{WHO} {CAN}"
    runs = f"Test runs: {'; '.join(outcome.run.counts for outcome in story.outcomes)}. " if story.outcomes else ""
    read = f"Files read: {', '.join(story.files)}. " if story.files else ""
    return f"So far: {runs}{read}{changes(story)} {WHO}"


def changes(story: Story) -> str:
    """What is changed in the files."""
    if not story.edits:
        return "No file is changed."
    paths = dict.fromkeys(edit.path for edit in story.edits)
    return f"I made {_number(len(story.edits), 'change')} in {_listed(list(paths))}."


def no_function() -> str:
    """Where no function fits what is asked for."""
    return f"None of the functions that I have can do this. {WHO}"


def about_file(path: str, text: str) -> str:
    """What a file holds, for a prompt that only names it."""
    lines = text.splitlines()
    quoted = "\n".join(f"    {line}" for line in lines[:MOST_LINES_QUOTED])
    return f"{path} has {_number(len(lines), 'line')} and begins:\n\n{quoted}\n\n{WHO}"


def _number(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def _listed(paths: Sequence[str]) -> str:
    return ", ".join(paths[:-1]) + f" and {paths[-1]}" if len(paths) > 1 else "".join(paths)
