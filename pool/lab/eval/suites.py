"""Finding suites: those that are shipped, by name, and folders of the user's own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pool.lab.eval.task import CONFIG, Task, TaskProblem, is_task, read_task
from pool_tools.frozen import frozen

SHIPPED = Path(__file__).with_name("suites")
"""Suites that come with Pool. Their files are data: nothing of it is imported."""


ALL = "all"
"""Stands for all shipped suites, whose tasks have names of their own."""


@frozen
class Suite:
    """Tasks under one name, sorted."""

    name: str
    folder: Path
    tasks: tuple[Task, ...]


def shipped() -> tuple[Suite, ...]:
    """All suites that come with Pool. Raises `TaskProblem`."""
    return tuple(suite_at(folder) for folder in sorted(SHIPPED.iterdir()) if any(map(is_task, _folders(folder))))


def suite_named(name: str) -> Suite:
    """A shipped suite by its name, or a folder of tasks, or one task's folder. Raises `TaskProblem`.

    A name with a slash, or one of no shipped suite, is a folder. `SUITE/TASK` is one task of a shipped suite.
    """
    if name == ALL:
        return Suite(ALL, SHIPPED, tuple(task for suite in shipped() for task in suite.tasks))
    first, _, rest = name.partition("/")
    own = SHIPPED / first
    if first and own.is_dir() and ".." not in name.split("/") and (SHIPPED / name).is_dir():
        return suite_at(SHIPPED / name) if not rest else _single(SHIPPED / name)
    folder = Path(name).expanduser()
    if not folder.is_dir():
        names = ", ".join(suite.name for suite in sorted(SHIPPED.iterdir()) if suite.is_dir())
        raise TaskProblem(f"there is no suite {name!r}; there are {names}, and folders of your own: ./FOLDER")
    return _single(folder.resolve()) if is_task(folder) else suite_at(folder.resolve())


def suite_at(folder: Path) -> Suite:
    """The suite in a folder whose folders are tasks. Raises `TaskProblem`."""
    tasks = tuple(read_task(one) for one in _folders(folder) if is_task(one))
    if not tasks:
        raise TaskProblem(f"{folder}: none of its folders has a {CONFIG}, so that there is no task")
    return Suite(folder.name, folder, tasks)


def chosen(suite: Suite, names: Sequence[str]) -> tuple[Task, ...]:
    """The tasks with these names, all for none. Raises `TaskProblem` for a name that there is not."""
    known = {task.name: task for task in suite.tasks}
    for name in names:
        if name not in known:
            raise TaskProblem(f"{suite.name} has no task {name!r}; it has {', '.join(known)}")
    return tuple(known[name] for name in dict.fromkeys(names)) or suite.tasks


def _single(folder: Path) -> Suite:
    return Suite(folder.parent.name, folder.parent, (read_task(folder),))


def _folders(folder: Path) -> list[Path]:
    try:
        return sorted(one for one in folder.iterdir() if one.is_dir())
    except OSError as error:
        raise TaskProblem(f"{folder}: {error.strerror}") from None
