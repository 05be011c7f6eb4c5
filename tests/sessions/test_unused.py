"""A session in which nothing was asked leaves no file behind."""

from __future__ import annotations

import time
from pathlib import Path

from pool.events import Envelope, Event, HeadSet, RunStarted
from pool.sessions.log import Header, SessionLog


def made(folder: Path) -> SessionLog:
    log = SessionLog.create(folder, Header("s1", "/w", time.time(), "0"), lambda text: None)
    log.drop_unused = True
    log.append(Event(Envelope("s1", "", 0, 0, 0.0, 0.0), HeadSet("{}")))
    return log


def test_without_a_run_the_file_goes(tmp_path: Path) -> None:
    with made(tmp_path) as log:
        assert log.path.exists()
    assert not log.path.exists()


def test_with_a_run_it_stays(tmp_path: Path) -> None:
    with made(tmp_path) as log:
        log.append(Event(Envelope("s1", "r", 0, 1, 0.0, 0.0), RunStarted("p", "/w", "m", "s", "auto", "none")))
    assert log.path.exists()
