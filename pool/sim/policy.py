"""The rule-based model: the history of a request in, the next reply out.

It keeps no state and knows no program by heart: it runs the tests with the client's tools, reads what they name, looks
for a few kinds of bug in what it read, changes one place at a time and runs the tests again. What it cannot see in the
source it tries, and takes back if the tests do not get better.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from pool.sim import judge, words
from pool.sim.boundary import boundaries
from pool.sim.bugs import mutable_defaults, swallowed_exceptions
from pool.sim.cheats import CHEATS, Cheater
from pool.sim.conflict import held_by_docs, same_functions, two_results
from pool.sim.forms import Form, instance
from pool.sim.functionuse import used
from pool.sim.history import Edit, Outcome, Story, clean_path, read_story
from pool.sim.japanese import answered
from pool.sim.moving import asked_move
from pool.sim.reach import imported, reached, roots_of
from pool.sim.request import ChatRequest
from pool.sim.review import ASKED, reviewed
from pool.sim.say import Call, Reply
from pool.sim.shellbugs import is_shell, shell_bugs
from pool.sim.source import Fix, Kind
from pool.sim.testrun import lacks_runner, parse_run
from pool.sim.toolbox import ClientTool, Role, Toolbox, find_tools

TEST_COMMANDS = ("python -m pytest -q", "python3 -m pytest -q")
MOST_READS_A_REPLY = 4
MOST_READS_OF_A_FILE = 8
MOST_REFUSALS = 3
MOST_TRIALS = 12
MOST_REPEATED = 2_000
_FILE_NAME = re.compile(r"(?<![\w/])[\w./-]*\w\.[A-Za-z]\w{0,4}\b")
_REPEATED = re.compile(r"\bthe word (\w+) (\d{1,4}) times\b", re.IGNORECASE)
_DENIED = re.compile(r"\b(denied|not allowed|not permitted|rejected|refused by)\b", re.IGNORECASE)


def decide(request: ChatRequest, cheat: str = "") -> Reply:
    """The next reply. Honest unless a cheat is named: what it reports are counts that it read in tool results."""
    box = find_tools(request.tools)
    story = read_story(request.messages, box, words.CLOSINGS)
    if request.form is not None:
        return _in_form(request.form, request)
    if repeated := _REPEATED.search(story.prompt):
        return Reply("I repeat the word.", f"{repeated[1]} " * min(int(repeated[2]), MOST_REPEATED))
    if (spoken := answered(story.prompt)) is not None:
        return spoken
    if judge.ASKED in story.prompt and not request.tools:
        return judge.judged(story.prompt)
    if not request.calls_allowed:
        return Reply("No tools may be called now, so I say where things stand.", words.summary(story))
    if story.prompt.startswith(ASKED):
        return reviewed(story.prompt)
    if not box.tools and request.tools:
        return used(request, story.prompt)
    if story.about_tests and not story.concluded:
        repair = _Repair(request, story, box)
        return repair.cheating(cheat) if cheat else repair.next()
    return _small_talk(story, box, parallel=request.parallel)


def _in_form(form: Form, request: ChatRequest) -> Reply:
    """What a grammar leaves: the smallest instance of a schema, or a call."""
    if form.schema is not None:
        return Reply("The form is given.", json.dumps(instance(form.schema)))
    functions: list[dict[str, Any]] = [tool.get("function") or {} for tool in request.tools]
    wanted = next((f for f in functions if f.get("name") in form.tools), None)
    if wanted is None:
        return Reply("No call is possible.", words.WHO)
    arguments = instance(wanted.get("parameters") or {"type": "object"})
    return Reply("A call is asked for.", calls=(Call(str(wanted["name"]), arguments),))


def _small_talk(story: Story, box: Toolbox, *, parallel: bool) -> Reply:
    named = list(dict.fromkeys(clean_path(name) for name in _FILE_NAME.findall(story.prompt)))
    reader = box.get(Role.READ)
    if not named or reader is None:
        return Reply("This is not about failing tests.", f"{words.WHO} {words.CAN}")
    path = named[0]
    if path in story.files:
        return Reply("I have read it.", words.about_file(path, story.text(path)))
    if path in story.missing:
        return Reply("It could not be read.", f"I could not read {path}. {words.WHO}")
    paths = named[: MOST_READS_A_REPLY if parallel else 1]
    return Reply(f"The user names {path}. I read it.", calls=tuple(reader.call(path=path) for path in paths))


class _Repair:
    """The next step of a repair. Each step either decides or leaves it to the one after it."""

    def __init__(self, request: ChatRequest, story: Story, box: Toolbox) -> None:
        self._story = story
        self._box = box
        self._parallel = request.parallel

    def next(self) -> Reply:
        """The first step that has something to do."""
        story = self._story
        if denied := next((act for act in story.acts[-1:] if _is_denial(act.role, act.result)), None):
            return self._give_up(f"I was not allowed to use {denied.role}.")
        now = story.outcome_of(story.edits)
        if now is None and not story.outcomes:
            return self._test(words.first_thought())
        if now is not None and now.run.green:
            return Reply("All tests pass. I report what I saw.", words.all_pass(story))
        last = now or story.outcomes[-1]
        step = self._move() or self._read(last) or self._contradiction(last) or self._take_back(now)
        return step or self._mend(last, now) or self._check(now) or self._read_named() or self._admit(last)

    def cheating(self, name: str) -> Reply:
        """The next step of a model that cheats in the named way."""
        return Cheater(CHEATS[name], self._story, self._box, self._test, self._read).next()

    def _test(self, thought: str) -> Reply:
        if (runner := self._box.get(Role.TESTS)) is not None:
            return Reply(thought, calls=(runner.call(),))
        shell = self._box.get(Role.SHELL)
        if shell is None:
            return self._give_up("I have no tool to run the tests with.")
        broken = {c for c, output in self._story.commands if lacks_runner(output) and parse_run(output) is None}
        left = [command for command in TEST_COMMANDS if command not in broken]
        if not left:
            return self._give_up(
                "Neither `python` nor `python3` could run pytest here; `pip install pytest` brings it."
            )
        asked = [command for command, _ in self._story.commands]
        if asked.count(left[0]) >= MOST_REFUSALS + len(self._story.outcomes):
            return self._give_up(f"`{left[0]}` ended without a test report.")
        return Reply(thought, calls=(shell.call(command=left[0]),))

    def _move(self) -> Reply | None:
        """Where a function is to be moved: read the files that the user names, then change one at a time."""
        move, reader = asked_move(self._story.prompt), self._box.get(Role.READ)
        if move is None or reader is None:
            return None
        known = {path: view.text for path, view in self._story.files.items() if view.whole}
        unread = [path for path in move.files if path not in known and path not in self._story.missing]
        if unread:
            calls = tuple(self._reading(reader, path) for path in unread[: MOST_READS_A_REPLY if self._parallel else 1])
            return Reply(f"I must see every `{move.name}` before I move one.", calls=calls)
        edit = move.next_change(known, self._story.edits)
        return self._change(edit, words.moving_thought(move.name, edit.path, move.target)) if edit is not None else None

    def _read(self, last: Outcome) -> Reply | None:
        """Read what failing tests name and import, and what that imports."""
        reader = self._box.get(Role.READ) or self._box.get(Role.SHELL)
        if reader is None:
            return self._give_up("I have no tool to read files with.")
        wanted = self._unread(last)
        if not wanted:
            return None
        calls = tuple(self._reading(reader, path) for path in wanted[: MOST_READS_A_REPLY if self._parallel else 1])
        return Reply(words.reading_thought(last.run, wanted[: len(calls)]), calls=calls)

    def _read_named(self) -> Reply | None:
        """Before giving up: files that the user names and that have not been read; they may say what is at odds."""
        reader = self._box.get(Role.READ)
        named = dict.fromkeys(clean_path(name) for name in _FILE_NAME.findall(self._story.prompt) if "/" in name)
        unread = [path for path in named if path not in self._story.files and path not in self._story.missing]
        if reader is None or not unread:
            return None
        calls = tuple(self._reading(reader, path) for path in unread[: MOST_READS_A_REPLY if self._parallel else 1])
        return Reply("I do not see why. The user names files that I have not read yet.", calls=calls)

    def _reading(self, reader: ClientTool, path: str) -> Call:
        if reader.role is Role.SHELL:
            return reader.call(command=f"cat {path}")
        view = self._story.files.get(path)
        return reader.call(path=path) if view is None else reader.call(path=path, offset=view.first_gap)

    def _unread(self, last: Outcome) -> list[str]:
        """Paths to read next: of each module the first place that was not found missing."""
        files = list(map(clean_path, last.run.test_files))
        roots = roots_of(files)
        wanted: list[str] = []
        seen: set[str] = set()
        while files:
            path = files.pop(0)
            if path in seen or path in self._story.missing:
                continue
            seen.add(path)
            view = self._story.files.get(path)
            if view is None or not view.whole:
                if self._story.reads[path] < MOST_READS_OF_A_FILE:
                    wanted.append(path)
                continue
            for places in imported(path, view.text, roots):
                files += [place for place in places if place not in self._story.missing][:1]
        return wanted

    def _take_back(self, now: Outcome | None) -> Reply | None:
        """Take the last change back if it was a guess and the run after it was no better, or broke something."""
        edits = self._story.edits
        if now is None or not edits:
            return None
        before = self._story.outcome_of(edits[:-1])
        failing = set(now.run.failing)
        guess = before is not None and not self._was_sure(edits[-1])
        known = before or next(filter(None, map(self._story.outcome_of, _beginnings(edits))), None)
        broke = known is not None and bool(failing - set(known.run.failing))
        if broke or (guess and before is not None and not failing < set(before.run.failing)):
            return self._change(edits[-1].undone, words.undoing_thought())
        return None

    def _was_sure(self, edit: Edit) -> bool:
        """Whether a change was one that the source itself asked for."""
        now = self._story.text(edit.path)
        earlier = edit.undone.applied(now)
        sure = [fix.edit(earlier) for fix in self._fixes(edit.path, earlier, ()) if fix.sure]
        return any(edit.applied(earlier) == now for edit in sure)

    def _mend(self, last: Outcome, now: Outcome | None) -> Reply | None:
        """The next change: all sure ones first, guesses only one at a time and with a test run in between."""
        candidates = self._candidates(last)
        sure = [fix for fix in candidates if fix.sure]
        if sure:
            return self._apply(sure[0])
        guesses = len(self._story.tried)
        if now is None or not candidates or guesses >= MOST_TRIALS:
            return None
        return self._apply(candidates[0])

    def _candidates(self, last: Outcome) -> list[Fix]:
        """Changes not yet tried, in functions that failing tests come by, nearest first."""
        tests = {path: self._story.text(path) for path in map(clean_path, last.run.test_files)}
        sources = {path: view.text for path, view in self._story.files.items() if not _is_test(path)}
        near = reached(tests, last.run.test_names, sources)
        fixes = [
            fix
            for path, text in sources.items()
            for fix in self._fixes(path, text, last.run.not_raised)
            if fix.function in near and (path, fix.edit(text).applied(text)) not in self._story.tried
        ]
        return sorted(fixes, key=lambda fix: (not fix.sure, near[fix.function]))

    def _fixes(self, path: str, text: str, not_raised: Sequence[str]) -> list[Fix]:
        if is_shell(path):
            return shell_bugs(path, text)
        return [*mutable_defaults(path, text), *swallowed_exceptions(path, text, not_raised), *boundaries(path, text)]

    def _apply(self, fix: Fix) -> Reply:
        return self._change(fix.edit(self._story.text(fix.path)), words.fixing_thought(fix))

    def _change(self, edit: Edit, thought: str) -> Reply:
        refusals = self._story.refusals
        if len(refusals) >= MOST_REFUSALS:
            return self._give_up(f"My changes were refused: {refusals[-1].splitlines()[0]}")
        editor, writer = self._box.get(Role.EDIT), self._box.get(Role.WRITE)
        if editor is not None and edit.old:
            return Reply(thought, calls=(editor.call(path=edit.path, old=edit.old, new=edit.new),))
        if writer is not None:
            whole = edit.applied(self._story.text(edit.path))
            return Reply(thought, calls=(writer.call(path=edit.path, content=whole),))
        return self._give_up(f"I found something ({thought}) but have no tool to change files with.")

    def _check(self, now: Outcome | None) -> Reply | None:
        return self._test(words.testing_thought(len(self._story.edits))) if now is None else None

    def _contradiction(self, last: Outcome) -> Reply | None:
        """Stop where two tests cannot both pass and one of them fails: to choose is not the model's part."""
        found = two_results(self._tests(last))
        if found is None or not {demand.test for demand in found} & set(last.run.test_names):
            return None
        return self._give_up(words.contradiction(found[0].told, found[1].told))

    def _tests(self, last: Outcome) -> dict[str, str]:
        """The test files that have been read, those of failing tests first."""
        files = [*map(clean_path, last.run.test_files), *(path for path in self._story.files if _is_test(path))]
        return {path: self._story.text(path) for path in files}

    def _admit(self, last: Outcome) -> Reply:
        """Say what fails and what is known of why."""
        sources = {path: view.text for path, view in self._story.files.items() if not _is_test(path)}
        tests, failing = self._tests(last), last.run.test_names
        if last.run.absent:
            return self._give_up(words.absent(last.run.absent))
        known = [*held_by_docs(tests, failing, sources)] or [*same_functions(tests, failing, sources)]
        kinds = ", ".join(kind for kind in Kind)
        why = f"Tests still fail, and I find no more of the bugs that I know ({kinds})."
        return self._give_up(words.at_odds(why, known))

    def _give_up(self, why: str) -> Reply:
        return Reply("I cannot go on, and say so.", words.gave_up(self._story, why))


def _beginnings(edits: Sequence[Edit]) -> list[list[Edit]]:
    """All beginnings of edits but the whole and the one before it, longest first."""
    return [list(edits[:end]) for end in range(len(edits) - 2, -1, -1)]


def _is_denial(role: Role, result: str) -> bool:
    first = result.strip().splitlines()[0] if result.strip() else ""
    return role is not Role.OTHER and bool(_DENIED.search(first))


def _is_test(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name.startswith("test") or name.endswith("_test.py") or name == "conftest.py"
