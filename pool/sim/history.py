"""What happened so far, read anew from the messages of each request."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pool.sim.listing import FileView, refused
from pool.sim.say import Call
from pool.sim.template import calls_of, text_of
from pool.sim.testrun import TestRun, parse_run
from pool.sim.toolbox import Role, Toolbox

_SHOWN = re.compile(r"cat (\S+)")
_TAGGED = re.compile(r"<([A-Za-z][\w-]*)\b[^>]*>.*?</\1>", re.DOTALL)
_ABOUT_TESTS = re.compile(r"\b(tests?|pytest|failing|fails?|bugs?|fix|mend|repair|green)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Act:
    """One call of the model and its result. values are in the role's words (`pool.sim.toolbox`)."""

    role: Role
    values: Mapping[str, str]
    result: str

    @property
    def path(self) -> str:
        """The file that it was about, "" if none."""
        return clean_path(self.values.get("path", ""))


@dataclass(frozen=True, slots=True)
class Edit:
    """A change that was made: in path, old became new."""

    path: str
    old: str
    new: str

    def applied(self, text: str) -> str:
        """Text with this change."""
        return text.replace(self.old, self.new, 1)

    @property
    def undone(self) -> Edit:
        """The change that takes this one back."""
        return Edit(self.path, self.new, self.old)


@dataclass(frozen=True, slots=True)
class Outcome:
    """A test run, and the changes that were in the files then, in order."""

    run: TestRun
    edits: tuple[Edit, ...]


@dataclass(slots=True)
class Story:
    """The history of one task.

    prompt: the user's last words. about_tests: whether the task is to see why tests fail. files: what is known of
    each. edits: changes that are in the files, changes that were taken back left out. tried: each file's text after
    each change ever made. refusals: answers to changes refused since the last one that was made. commands: what was
    run, with its output. reads: how often each file was asked for.
    """

    prompt: str = ""
    about_tests: bool = False
    concluded: bool = False
    acts: list[Act] = field(default_factory=list[Act])
    files: dict[str, FileView] = field(default_factory=dict[str, FileView])
    missing: set[str] = field(default_factory=set[str])
    edits: list[Edit] = field(default_factory=list[Edit])
    tried: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    refusals: list[str] = field(default_factory=list[str])
    outcomes: list[Outcome] = field(default_factory=list[Outcome])
    commands: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    reads: Counter[str] = field(default_factory=Counter[str])

    def outcome_of(self, edits: Sequence[Edit]) -> Outcome | None:
        """The last test run with exactly these changes in the files."""
        return next((past for past in reversed(self.outcomes) if past.edits == tuple(edits)), None)

    def text(self, path: str) -> str:
        """The text of a file as far as it is known."""
        view = self.files.get(path)
        return view.text if view is not None else ""


def clean_path(path: str) -> str:
    """A path in the form in which files are told apart."""
    return path.strip().removeprefix("./")


def read_story(messages: Sequence[Mapping[str, Any]], box: Toolbox, closings: tuple[str, ...]) -> Story:
    """Replay the messages. closings are beginnings of replies that ended a task."""
    story = Story()
    results = _results(messages)
    for at, message in enumerate(messages):
        match message.get("role"):
            case "user":
                _hear(story, text_of(message.get("content")))
            case "assistant":
                calls = calls_of(message)
                if not calls and text_of(message.get("content")).startswith(closings):
                    story.concluded = True
                for position, (_, name, arguments) in enumerate(calls):
                    result = results.get((at, position))
                    if result is not None:
                        tool = box.named(name)
                        _live(story, Act(tool.role, tool.values(arguments), result))
            case _:
                pass
    return story


def function_results(messages: Sequence[Mapping[str, Any]]) -> list[tuple[Call, str]]:
    """Calls since the user's last words that have a result, with it."""
    results = _results(messages)
    last = max((at for at, message in enumerate(messages) if message.get("role") == "user"), default=-1)
    return [
        (Call(name, arguments), results[at, position])
        for at, message in enumerate(messages)
        if at > last and message.get("role") == "assistant"
        for position, (_, name, arguments) in enumerate(calls_of(message))
        if (at, position) in results
    ]


def _results(messages: Sequence[Mapping[str, Any]]) -> dict[tuple[int, int], str]:
    """Tool results by (message, position) of their call: by id where ids match, else in order."""
    found: dict[tuple[int, int], str] = {}
    waiting: list[tuple[tuple[int, int], str]] = []
    for at, message in enumerate(messages):
        if message.get("role") == "assistant":
            waiting = [((at, position), call[0]) for position, call in enumerate(calls_of(message))]
        elif message.get("role") == "tool" and waiting:
            wanted = str(message.get("tool_call_id") or "")
            index = next((index for index, (_, name) in enumerate(waiting) if name and name == wanted), 0)
            place, _ = waiting.pop(index)
            found[place] = text_of(message.get("content"))
    return found


def _hear(story: Story, text: str) -> None:
    """A user's message: a new task, unless it only helps an unfinished one along."""
    # Clients put context into tags before a prompt: that is not what the user asks for.
    text = _TAGGED.sub("", text).strip() or text
    story.prompt = text
    if _ABOUT_TESTS.search(text):
        story.about_tests, story.concluded = True, False
    elif story.concluded:
        story.about_tests = False


def _live(story: Story, act: Act) -> None:
    story.acts.append(act)
    match act.role:
        case Role.SHELL | Role.TESTS:
            story.commands.append((act.values.get("command", ""), act.result))
            run = parse_run(act.result)
            if run is not None:
                story.outcomes.append(Outcome(run, tuple(story.edits)))
            elif shown := _SHOWN.fullmatch(act.values.get("command", "")):
                _see(story, clean_path(shown[1]), act.result)
        case Role.READ:
            _see(story, act.path, act.result)
        case Role.EDIT:
            _change(story, Edit(act.path, act.values.get("old", ""), act.values.get("new", "")), act.result)
        case Role.WRITE:
            _change(story, Edit(act.path, story.text(act.path), act.values.get("content", "")), act.result)
        case Role.OTHER:
            pass


def _see(story: Story, path: str, result: str) -> None:
    story.reads[path] += 1
    if not story.files.setdefault(path, FileView()).learn(result):
        del story.files[path]
        story.missing.add(path)


def _change(story: Story, edit: Edit, result: str) -> None:
    if refused(result, edit.path):
        story.refusals.append(result)
        # The refusal may show the file as it is now; it must be read again in any case.
        story.files.pop(edit.path, None)
        return
    story.refusals.clear()
    view = story.files.get(edit.path)
    if view is not None:
        view.replace(edit.applied(view.text))
        story.tried.add((edit.path, view.text))
    if story.edits and story.edits[-1].undone == edit:
        story.edits.pop()
    else:
        story.edits.append(edit)
