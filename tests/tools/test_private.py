"""Private folders: held while their process lives, removed by a later one when it was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pool_tools.private import SWEEP_MOST, make_private, private_folder, sweep
from pool_tools.sandbox.base import Policy
from pool_tools.sandbox.probe import probe

from .conftest import bubblewrap

HOLDER = """
import sys, time
from pathlib import Path
from pool_tools.private import make_private
folder = make_private("sandbox")
(folder.path / "tmp").mkdir()
(folder.path / "tmp/link").symlink_to(sys.argv[1])
print(folder.path, flush=True)
time.sleep(60)
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own for temporary files, here and in processes that are started."""
    path = tmp_path / "temporary"
    path.mkdir()
    monkeypatch.setenv("TMPDIR", str(path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return path


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """A file outside to which a link in a private folder leads."""
    path = tmp_path / "outside"
    path.mkdir()
    (path / "file").touch()
    return path


@pytest.fixture
def holder(kept: Path) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(kept)], stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def held_by(process: subprocess.Popen[str]) -> Path:
    assert process.stdout is not None
    return Path(process.stdout.readline().strip())


def test_a_folder_is_swept_once_its_process_was_killed(holder: subprocess.Popen[str], kept: Path) -> None:
    folder = held_by(holder)
    sweep()
    assert (folder / "tmp").is_dir(), "its owner lives"
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert folder.is_dir()
    sweep()
    assert not folder.exists()
    assert (kept / "file").exists(), "links are not followed"


def test_own_folders_are_kept(temporary: Path) -> None:
    with private_folder("probe") as folder:
        sweep()
        assert folder.parent == temporary
        assert folder.is_dir()
    assert list(temporary.iterdir()) == []


def test_a_sandbox_holds_its_folder(folder: Path, temporary: Path) -> None:
    sandbox = bubblewrap(folder)
    sandbox.wrap(("true",), folder, {})
    sweep()
    (held,) = temporary.iterdir()
    assert (held / "tmp").is_dir()
    sandbox.close()
    assert list(temporary.iterdir()) == []


def test_what_is_not_a_private_folder_stays(temporary: Path, kept: Path) -> None:
    (temporary / "pool-private-notes-of-mine").mkdir()
    (temporary / "pool-private-sandbox-open0000").mkdir(mode=0o755)
    (temporary / "pool-private-sandbox-file0000").touch()
    (temporary / "pool-private-sandbox-link0000").symlink_to(kept)
    before = set(temporary.iterdir())
    sweep()
    assert set(temporary.iterdir()) == before
    assert (kept / "file").exists()


def test_one_start_sweeps_a_bounded_number(temporary: Path) -> None:
    for _ in range(SWEEP_MOST + 3):
        os.close(make_private("sandbox").lock)
    sweep()
    assert len(list(temporary.iterdir())) == 3


def test_folders_are_made_while_others_sweep(temporary: Path) -> None:
    done = threading.Event()

    def sweep_on() -> None:
        while not done.is_set():
            sweep()

    thread = threading.Thread(target=sweep_on)
    thread.start()
    try:
        made = [make_private("sandbox") for _ in range(SWEEP_MOST // 2)]
    finally:
        done.set()
        thread.join()
    assert {folder.path for folder in made} == set(temporary.iterdir())
    for folder in made:
        folder.remove()


def test_a_probe_sweeps(temporary: Path, folder: Path) -> None:
    dead = make_private("sandbox")
    os.close(dead.lock)
    probe(Policy((folder,)), tiers=())
    for thread in threading.enumerate():
        if thread.name == "sweep":
            thread.join(10)
    assert not dead.path.exists()
