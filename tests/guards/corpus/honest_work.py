"""Work that repeats itself for good reasons: polling, tests after edits, large changes, long looking around."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tests.guards.corpus.bad_calls import PROJECT, TEST
from tests.guards.script import Case, Say, answer, call, edit, read, shell

DONE = answer("It is done as you asked.")
TICK = 'n=$(($(cat n.txt) + 1)); echo $n > n.txt; echo "[$n/9] compiling unit $n"'
FLAKY = (
    'n=$(($(cat n.txt) + 1)); echo $n > n.txt; [ $n -gt 3 ] && echo connected || { echo "connection refused"; exit 7; }'
)
Files = Mapping[str, str]
NO_FILES: Files = {}
NONE = frozenset[str]()
PROGRESS = frozenset({"progress"})
COUNTER = {"n.txt": "0\n"}


def work(name: str, *turns: Say, end: Say = DONE, notes: frozenset[str] = NONE, files: Files = NO_FILES) -> Case:
    """Turns of honest work and an answer."""
    return Case(name, (*turns, end), honest=True, notes=notes, files={**PROJECT, **COUNTER, **files})


def each(count: int, name: str = "src/m{}.py") -> dict[str, str]:
    """Files that are much alike."""
    return {name.format(i): f"def old_name_{i}(x):\n    return x * {i}\n" for i in range(count)}


def _refactoring() -> Iterator[Say]:
    for i in range(30):
        yield Say(
            calls=(
                *read(f"src/m{i}.py").calls,
                *edit(f"src/m{i}.py", f"old_name_{i}", f"new_name_{i}").calls,
            )
        )


def _cycles(count: int) -> Iterator[Say]:
    yield read("app.py")
    for i in range(1, count + 1):
        yield edit("app.py", f"x + {i}", f"x + {i + 1}")
        yield shell(TEST)


def _status(count: int) -> Iterator[Say]:
    yield shell("git init -q . && git add -A")
    for i in range(count):
        yield call("write", path=f"doc{i}.md", content=f"# Part {i}\n")
        yield shell("git status --short | head -3")


_SPOIL = edit("app.py", "x + 3", "x - 3")
_MEND = edit("app.py", "x - 3", "x + 3")

CASES: tuple[Case, ...] = (
    work("polling a build", *(shell(TICK) for _ in range(9))),
    work("polling a build that says nothing new", *(shell("sleep 0.05; cat n.txt") for _ in range(7))),
    work("waiting for a server", *(shell(f"sleep 0.05; {FLAKY}") for _ in range(4))),
    work(
        "tests after each edit", *_cycles(3), end=answer("`f` adds 4 now. The test fails still, as it wants 5 from 2.")
    ),
    work("edit and test, twelve times", *_cycles(12), end=answer("I could not find a value; one test still fails.")),
    work("large refactoring", *_refactoring(), shell("grep -rc new_name src | wc -l"), files=each(30)),
    work(
        "many files read, then an answer",
        *(read(f"src/m{i}.py") for i in range(20)),
        notes=PROGRESS,
        files=each(20),
    ),
    work(
        "many files read at once",
        Say(calls=tuple(c for i in range(12) for c in read(f"src/m{i}.py").calls)),
        files=each(12),
    ),
    work(
        "a long investigation",
        *(call("search", pattern=f"old_name_{i}") for i in range(24)),
        notes=PROGRESS,
        files=each(30),
    ),
    work("searches that find nothing", *(call("search", pattern=f"nothing_{i}") for i in range(10))),
    work("git status between edits", *_status(8)),
    work(
        "a test that must be able to fail",
        *(read("app.py"), edit("app.py", "x + 1", "x + 3"), shell(TEST), _SPOIL, shell(TEST), _MEND, shell(TEST)),
        end=answer("`f` adds 3 now. All tests pass, and the test fails without the change."),
    ),
    work(
        "a change taken back for another",
        *(read("app.py"), edit("app.py", "x + 1", "x + 2"), shell(TEST)),
        *(edit("app.py", "x + 2", "x + 1"), edit("app.py", "x + 1", "x + 3"), shell(TEST)),
        end=answer("Now `f` adds 3. All tests pass."),
    ),
    work("many files written", *(call("write", path=f"page{i}.html", content=f"<h1>{i}</h1>\n") for i in range(15))),
    work("a command tried twice", shell("ls missing-folder"), shell("ls missing-folder"), call("list")),
    work(
        "a failed edit mended",
        edit("app.py", "x+1", "x+3"),
        read("app.py"),
        edit("app.py", "x + 1", "x + 3"),
        shell(TEST),
    ),
    work(
        "the program run after each edit",
        *(
            say
            for i in range(6)
            for say in (
                edit("app.py", "def f(x):", f"# step {i}\ndef f(x):"),
                shell("python3 -B -c 'import app; print(app.f(2))'"),
            )
        ),
    ),
    work(
        "a long file read in parts",
        *(read("long.txt", offset=i, limit=20) for i in range(1, 180, 20)),
        files={"long.txt": "".join(f"line {i}\n" for i in range(200))},
    ),
    work("appending to a log", *(shell(f"echo entry {i} >> log.txt && tail -1 log.txt") for i in range(10))),
    work(
        "plan, some reading, then the edit",
        Say("The plan is clear. Now I will start implementing.", calls=read("app.py").calls),
        *(read(f"src/m{i}.py") for i in range(3)),
        edit("app.py", "x + 1", "x + 3"),
        shell(TEST),
        files=each(3),
    ),
)
