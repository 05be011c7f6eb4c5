"""Pool's files are replaced under a session: it is said once, and modules that are loaded later are the old ones."""

from __future__ import annotations

import gc
import importlib
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pool.agent import installation as module
from pool.agent.installation import RESTART, Installation, InstallationChanged, installation
from pool.agent.loop import INSTALLED_ANEW
from pool.cli import main
from pool.events import Notice, RunFinished, StopReason
from tests.cases.driver import ModelServer, answer, driving

NAME = "pool_upgraded_in_a_test"


def write(folder: Path, version: str) -> None:
    """A package of some modules that say which version they are; files are replaced, as installers do it."""
    texts = {
        "__init__.py": f'__version__ = "{version}"\n',
        "early.py": f'VERSION = "{version}"\n',
        "late.py": f'from {NAME}.inner.deep import VERSION\n\n\ndef fail():\n    raise ValueError("in {version}")\n',
        "inner/__init__.py": "",
        "inner/deep.py": f'"""Ünïcode."""\nVERSION = "{version}"\n',
        "inner/unreadable.py": f'VERSION = "{version}"\n',
        "sim/__init__.py": "",
        "not-a-module.py": "(",
    }
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f"{path.name}.new")
        beside.write_text(text, encoding="utf-8")
        os.replace(beside, path)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    write(tmp_path / NAME, "1.0")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    # What was compiled is not looked for: both versions are written within one second.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    finders = list(sys.meta_path)
    yield tmp_path / NAME
    sys.meta_path[:] = finders
    for name in [name for name in sys.modules if name.partition(".")[0] == NAME]:
        del sys.modules[name]


@pytest.fixture
def found(package: Path, monkeypatch: pytest.MonkeyPatch) -> Installation:
    monkeypatch.setattr(module, "LEFT_OUT", frozenset({f"{NAME}.sim"}))
    found = Installation({NAME: package}, package / "__init__.py", "1.0")
    sys.meta_path.insert(0, found)
    return found


def test_what_is_loaded_after_an_upgrade_is_the_version_that_runs(package: Path, found: Installation) -> None:
    assert importlib.import_module(f"{NAME}.early").VERSION == "1.0"
    assert found.news() == ""
    found.keep()
    write(package, "2.0")

    assert found.news() == "Pool's files were replaced while this session ran: 1.0 is 2.0 now"
    late = importlib.import_module(f"{NAME}.late")
    assert late.VERSION == "1.0"
    assert importlib.import_module(f"{NAME}.early").VERSION == "1.0"
    with pytest.raises(ValueError, match=r"in 1\.0"):
        late.fail()


def test_what_was_not_kept_fails_with_a_word_on_what_to_do(package: Path, found: Installation) -> None:
    importlib.import_module(NAME)
    write(package, "2.0")
    # Too late: what is there now is the new version.
    found.keep()
    with pytest.raises(InstallationChanged, match=r"1\.0 is 2\.0 now, and .*\.late was not loaded yet: start pool aga"):
        importlib.import_module(f"{NAME}.late")
    assert importlib.import_module("json") is sys.modules["json"]


def test_a_part_that_no_session_needs_is_not_kept(package: Path, found: Installation) -> None:
    importlib.import_module(NAME)
    found.keep()
    write(package, "1.0")
    assert "was installed again" in found.news()
    with pytest.raises(InstallationChanged):
        importlib.import_module(f"{NAME}.sim")


def test_pool_may_be_gone_altogether(package: Path, found: Installation) -> None:
    importlib.import_module(NAME)
    found.keep()
    shutil.rmtree(package)
    assert found.news() == "Pool 1.0 was removed or moved while this session ran"
    assert importlib.import_module(f"{NAME}.late").VERSION == "1.0"


async def test_a_session_says_it_once_and_goes_on(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pool.agent.factory.installation", lambda: Installation({}, package / "__init__.py", "1.0"))
    work = tmp_path / "work"
    work.mkdir()
    async with ModelServer(answer("Done.")) as server, driving(server.url, work) as driver:
        await driver.run("One.")
        write(package, "2.0")
        await driver.run("Two.")
        await driver.run("Three.")
        notices = [e.body for e in driver.events if isinstance(e.body, Notice) and "replaced" in e.body.text]
        assert [(one.level, one.remedy) for one in notices] == [("warning", RESTART)]
    assert len(server.bodies) == 3


async def test_a_part_that_cannot_be_loaded_ends_the_run_with_what_to_do(tmp_path: Path) -> None:
    def fail() -> None:
        raise InstallationChanged("1.0 is 2.0 now, and pool.x was not loaded yet")

    async with ModelServer(answer("Done.")) as server, driving(server.url, tmp_path) as driver:
        await driver.run("One.")
        driver.session.agent.on_turn = fail
        await driver.run("Two.")
        driver.session.agent.on_turn = lambda: None
        await driver.run("Three.")
        ends = [e.body.reason for e in driver.events if isinstance(e.body, RunFinished)]
        assert ends == [StopReason.COMPLETED, StopReason.INTERNAL_ERROR, StopReason.COMPLETED]
        said = [e.body for e in driver.events if isinstance(e.body, Notice) and e.body.level == "error"]
        assert [(one.text, one.remedy) for one in said] == [
            ("a part of Pool cannot be loaded: 1.0 is 2.0 now, and pool.x was not loaded yet", INSTALLED_ANEW)
        ]


def test_a_command_that_cannot_be_loaded_says_so_in_two_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(main.COMMANDS, "schema", ("pool.no_such_module", "main"))
    monkeypatch.setattr(sys, "argv", ["pool", "schema"])
    threshold = gc.get_threshold()
    with pytest.raises(SystemExit) as ended:
        main.entry()
    gc.set_threshold(*threshold)
    assert ended.value.code == 1
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "pool: a part of Pool cannot be loaded: No module named 'pool.no_such_module'"
    assert len(said) == 2


def test_there_is_one_for_a_process_and_it_knows_our_packages() -> None:
    finders = list(sys.meta_path)
    try:
        one = installation()
        assert installation() is one
        assert not one.changed
        assert one.find_spec("pool.no_such_module", None) is None
    finally:
        sys.meta_path[:] = finders
