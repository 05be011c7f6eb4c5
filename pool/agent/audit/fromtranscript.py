"""From a transcript, of Pool or of another agent, to the record that an audit looks at."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from pool.agent.audit.callarguments import PATHS, command_of, text_of, wanted_changes
from pool.agent.audit.facts import TaskFacts
from pool.agent.audit.filebook import FileBook, net_changes, tests_text, tree_changes
from pool.agent.audit.filekinds import is_prose, is_test
from pool.agent.audit.keptedits import KeptEdits
from pool.agent.audit.record import Act, Edit, Record, Said
from pool.sessions.export.incoming import NO_RESULT
from pool.sessions.export.transcript import Call, Step, StepKind, Transcript

_TEST_TOOLS = re.compile(r"(?:run_?)?tests?|run_?(?:the_)?tests?|pytest|test_?runner")
DEFAULT_TESTS = "python -m pytest -q"
"""What a tool that runs the tests stands for where nobody says."""

_STATUS = re.compile(
    r"\b(?:exit(?:ed with)?(?: code| status)?|return ?code|exit_code)\D{0,3}(\d{1,3})\b", re.IGNORECASE
)
_STATUS_HEAD_CHARS = 200
CONTAINER_FOLDERS = ("/app", "/testbed", "/workspace", "/repo")
"""Where containers of evaluations keep the tree: a trajectory does not say which folder it worked in."""

_READERS = re.compile(r"(?:.*_)?(?:read|view|open|cat|show)(?:_?file)?s?")
_CAT = re.compile(r"\s*cat\s+([\w./-]+)\s*")
_GIT_WORDS = ("op", "rev", "name", "message")


def record_of(
    transcript: Transcript, facts: TaskFacts, kept: KeptEdits | None = None, workspace: Path | None = None
) -> Record:
    """The record of a transcript. kept is what its checkpoints tell, if there are any. Raises `OSError`."""
    record = Record(transcript.id, facts, transcript.model, transcript.workspace)
    steps = _Reader(record, kept).read_all(transcript)
    edits = [edit for act in record.acts if act.done for edit in act.edits]
    if kept is not None:
        edits = [replace(edit, step=steps.get(call, 0)) for call, edit in kept.order]
    if facts.original is not None and (facts.result or workspace) is not None:
        record.changes = tree_changes(facts.original, cast(Path, facts.result or workspace), edits)
    else:
        record.changes = net_changes(edits)
        if any(not edit.whole for edit in edits):
            record.notes.append("of some files only the changed parts are known, not the files")
    roots = [root for root in (facts.original, facts.result or workspace) if root is not None]
    shown = {act.path: act.output for act in record.acts if act.path and _READERS.fullmatch(act.tool.lower())}
    record.tests = tests_text(roots, record.changes, shown)
    return record


class _Reader:
    def __init__(self, record: Record, kept: KeptEdits | None) -> None:
        self._record = record
        self._known = kept.by_call if kept is not None else None
        self._steps: dict[str, int] = {}
        self._files = FileBook(record.facts.original)
        self._answer: Said | None = None
        self._waiting: Act | None = None

    def read_all(self, transcript: Transcript) -> dict[str, int]:
        """Read a transcript to its end; the steps of its calls by their ids."""
        self.read(transcript, "")
        self._settle("")
        self._close_answer()
        return self._steps

    def read(self, transcript: Transcript, agent: str) -> None:
        """Take all steps of a transcript that were not taken back."""
        gone = _taken_back(transcript.steps)
        for number, step in enumerate(transcript.steps, 1):
            if number in gone or step.copied:
                continue
            self._step(number, step, transcript, agent)

    def _step(self, number: int, step: Step, transcript: Transcript, agent: str) -> None:
        if step.kind is StepKind.USER and self._is_result(step):
            self._settle(step.text)
            return
        self._settle("")
        match step.kind:
            case StepKind.USER if not agent:
                if step.started is not None or not self._record.prompts or step.steered:
                    self._close_answer()
                if step.text.strip() and not step.text.startswith("[Pool]"):
                    self._record.prompts.append(Said(number, step.text))
            case StepKind.AGENT:
                if step.reasoning:
                    self._record.thoughts.append(Said(number, step.reasoning, agent))
                if step.text and step.calls:
                    self._record.thoughts.append(Said(number, step.text, agent))
                for call in step.calls:
                    self._call(number, call, transcript, agent)
                if step.text and not step.calls and not agent:
                    self._answer = Said(number, step.text)
            case _:
                pass

    def _is_result(self, step: Step) -> bool:
        """Whether a text that stands as the user's is what a call gave: some agents name no call with it."""
        return self._waiting is not None and step.started is None and not step.steered

    def _settle(self, output: str) -> None:
        """Note a call whose result was not with it."""
        act, self._waiting = self._waiting, None
        if act is not None:
            act = replace(act, output=output, exit_status=_told_status(output))
            self._record.acts[-1] = act
            self._note(act)

    def _close_answer(self) -> None:
        """A run is over: its last words are held against the test runs so far."""
        answer, self._answer = self._answer, None
        if answer is None:
            return
        self._record.answers.append(answer)
        why = self._record.book.ledger.against(answer.text)
        if why:
            self._record.unbacked.append((answer, why))

    def _call(self, number: int, call: Call, transcript: Transcript, agent: str) -> None:
        for sub in transcript.subagents:
            if sub.agent in call.subagents or sub.id in call.subagents:
                self.read(sub, sub.agent or "1")
        self._steps[call.id] = number
        arguments = _arguments(call.arguments)
        result = None if call.result == NO_RESULT else call.result
        output = (call.output if call.output is not None else result) or ""
        command, path = command_of(arguments), text_of(arguments, PATHS)
        command = command or self._standing_for(call.name, arguments)
        status = call.data.get("exit_status")
        told = status if isinstance(status, int) else _told_status(output)
        act = Act(number, call.name, command, path, output, call.status, told, arguments, (), agent)
        edits = tuple(self._edits(act, call)) if act.done else ()
        act = replace(act, edits=edits)
        self._settle("")
        self._record.acts.append(act)
        if act.done and call.output is None and result is None:
            self._waiting = act
        elif act.done:
            self._note(act)

    def _standing_for(self, name: str, arguments: Mapping[str, Any]) -> str:
        """The command that a tool of another kind stands for."""
        if _TEST_TOOLS.fullmatch(name.lower()):
            return self._record.facts.tests or DEFAULT_TESTS
        if name == "git" and isinstance(arguments.get("action"), str):
            words = [str(arguments[word]) for word in _GIT_WORDS if arguments.get(word)]
            return " ".join(["git", str(arguments["action"]), *(["--all"] if arguments.get("all") else []), *words])
        return ""

    def _edits(self, act: Act, call: Call) -> Iterator[Edit]:
        if self._known is not None and call.id in self._known:
            for edit in self._known[call.id]:
                self._files.knows(edit.path, edit.after)
                yield Edit(act.step, edit.path, edit.before, edit.after, edit.whole, act.agent)
            return
        if call.status == "failed" and not act.command:
            return
        for wanted in wanted_changes(act.arguments):
            path = _inside(wanted.path, self._record.workspace)
            yield self._files.apply(type(wanted)(path, wanted.old, wanted.new, wanted.adds), act.step, act.agent)

    def _note(self, act: Act) -> None:
        record = self._record
        contents = {edit.path: edit.after for edit in act.edits}
        code = any(not is_prose(path) and not is_test(path) for path in contents)
        if act.command:
            tested = record.book.command(act.step, act.command, act.output, act.exit_status, contents, act.agent)
            record.book.keep(act.step, contents, code=code and not tested)
            if shown := _CAT.fullmatch(act.command):
                self._files.shown(shown[1], act.output)
        elif act.path and _READERS.fullmatch(act.tool.lower()) and not contents:
            self._files.shown(_inside(act.path, record.workspace), act.output)
        else:
            record.book.ledger.acted = True
        if contents and not act.command:
            record.book.ledger.edited(contents)
            record.book.keep(act.step, contents, code=code)


def _arguments(text: str) -> dict[str, Any]:
    try:
        value: Any = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def _told_status(output: str) -> int | None:
    found = _STATUS.search(output[:_STATUS_HEAD_CHARS]) or _STATUS.search(output[-_STATUS_HEAD_CHARS:])
    return int(found[1]) if found else None


def _inside(path: str, workspace: str) -> str:
    """A path as it is named within the workspace; one outside stays as it is."""
    path = path.removeprefix("./")
    for folder in (workspace, *CONTAINER_FOLDERS):
        if folder and path.startswith(f"{folder.rstrip('/')}/"):
            return path[len(folder.rstrip("/")) + 1 :]
    return path


def _taken_back(steps: Sequence[Step]) -> set[int]:
    """Numbers of steps that an undo took back and no redo brought again."""
    gone: set[int] = set()
    reached: dict[int, set[int]] = {}
    for number, step in enumerate(steps, 1):
        event = step.event or {}
        to = event.get("to_step")
        if step.kind is not StepKind.EVENT or event.get("type") != "rewound" or not isinstance(to, int):
            continue
        reached[number] = set(range(to, number))
        gone |= reached[number]
        for earlier in range(to, number):
            # An undo that is taken back itself: what it took counts again.
            gone -= reached.get(earlier, set())
    return gone
