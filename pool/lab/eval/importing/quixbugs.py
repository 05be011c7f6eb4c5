"""QuixBugs (https://github.com/jkoppel/QuixBugs): forty small programs with one bug each; those in Python.

`python_programs/NAME.py` has the bug and says at its end what it must do, `correct_python_programs/NAME.py` has it
mended, `python_testcases/test_NAME.py` are its tests, with data in `json_testcases/NAME.json` for most.
"""

from __future__ import annotations

from pathlib import Path

from pool.lab.eval.importing.judging import TOOLS, copying, judge
from pool.lab.eval.importing.layout import Blob, Imported, ImportedTask, ImportProblem, blob_of

PROGRAMS, CORRECT, TESTS, DATA = "python_programs", "correct_python_programs", "python_testcases", "json_testcases"
SHARED = ("load_testdata.py", "node.py")


def read(source: Path) -> Imported:
    """The programs below a folder, a clone of QuixBugs."""
    if not (source / PROGRAMS).is_dir() or not (source / TESTS).is_dir():
        raise ImportProblem(f"{source} has no {PROGRAMS} and {TESTS}; name the top of a clone of QuixBugs")
    tasks: list[ImportedTask] = []
    left: list[tuple[str, str]] = []
    for program in sorted((source / PROGRAMS).glob("*.py")):
        name = program.stem
        if name.endswith("_test") or name in ("node", "__init__"):
            continue
        if (source / TESTS / f"test_{name}.py").is_file():
            tasks.append(_task(source, name))
        else:
            left.append((name, f"there is no {TESTS}/test_{name}.py"))
    return Imported(tasks, left)


def _task(source: Path, name: str) -> ImportedTask:
    program = f"{PROGRAMS}/{name}.py"
    test = f"{TESTS}/test_{name}.py"
    wanted = [test, "conftest.py", f"{DATA}/{name}.json", *(f"{TESTS}/{shared}" for shared in SHARED)]
    files = {f"files/{one}": blob_of(source / one) for one in wanted if (source / one).is_file()}
    correct = source / CORRECT / f"{name}.py"
    solution: dict[str, Blob] = {}
    if correct.is_file():
        solution = copying({f"{name}.py": program}, {f"{name}.py": blob_of(correct)})
    tool = TOOLS["python"]
    app = {program: blob_of(source / program)}
    node = source / PROGRAMS / "node.py"
    if node.is_file():
        app[f"{PROGRAMS}/node.py"] = blob_of(node)
    return ImportedTask(
        f"quixbugs-{name}",
        f"`{program}` has a bug, in one line. Find it and mend it; the text at the end of the file says what the "
        "function must do. Change nothing else. It is judged by tests that you do not see.",
        (f"FROM {tool.image}", *tool.prepare, "WORKDIR /app", "COPY app/ /app/"),
        {"test.sh": judge(tool, "work", taken=(program,), arguments=(test,)), **files},
        app=app,
        solution=solution,
        tags=("python", "quixbugs"),
        category="debugging",
        source=program,
    )
