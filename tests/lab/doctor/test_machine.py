"""The checks of this machine, on machines that a test makes up: a PATH of scripts, an account of memory, a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from pool.config.settings import ServerEnvironment
from pool.lab.doctor.examine import MACHINE_CHECKS, chosen, examine
from pool.lab.doctor.finding import Finding, Status
from pool.lab.doctor.here import Here
from pool.lab.doctor.subject import Subject
from pool.wire.endpoint import parse_endpoint
from pool.wire.transport import Transport

OK, WARN, FAIL = Status.OK, Status.WARN, Status.FAIL


def machine(folder: Path, programs: dict[str, str], memory: str = "", width: int = 100, **variables: str) -> Here:
    """A machine whose programs say fixed texts."""
    for name, said in programs.items():
        script = folder / name
        script.write_text(f"#!/bin/sh\nprintf '%s\\n' '{said}'\n")
        script.chmod(0o755)
    meminfo = folder / "meminfo"
    meminfo.write_text(memory)
    encoding = variables.pop("encoding", "utf-8")
    environ = {"PATH": str(folder), "TERM": "xterm-256color", "COLORTERM": "truecolor", **variables}
    return Here(environ, meminfo, width, 40 if width else 0, encoding)


async def found_at(here: Here, *names: str) -> dict[str, Finding]:
    async with Transport(parse_endpoint("http://127.0.0.1:9")) as transport:
        subject = Subject(transport, ServerEnvironment(), here=here)
        steps = [step async for step in examine(subject, chosen(names))]
    return {step.check.name: step.finding for step in steps if step.finding is not None}


def kib(total: int, free: int, swap: int = 0, swap_free: int = 0) -> str:
    return (
        f"MemTotal: {total * 2**20} kB\nMemAvailable: {free * 2**18} kB\n"
        f"SwapTotal: {swap * 2**20} kB\nSwapFree: {swap_free * 2**20} kB\n"
    )


@pytest.mark.parametrize(
    ("memory", "status"),
    [(kib(121, 80), OK), (kib(121, 4), WARN), (kib(121, 1), FAIL), (kib(121, 80, 16, 2), WARN), ("", OK)],
)
async def test_memory(memory: str, status: Status, tmp_path: Path) -> None:
    found = (await found_at(machine(tmp_path, {}, memory), "memory"))["memory"]
    assert found.status is status, found.words
    assert bool(found.remedy) == (status is not OK)


async def test_an_empty_machine(tmp_path: Path) -> None:
    found = await found_at(machine(tmp_path, {}, width=0), "git", "ripgrep", "terminal", "fonts", "clipboard")
    assert {name: f.status for name, f in found.items()} == {
        "git": FAIL,
        "ripgrep": WARN,
        "terminal": OK,
        "fonts": OK,
        "clipboard": OK,
    }
    assert "install" in found["git"].remedy


async def test_a_good_machine(tmp_path: Path) -> None:
    programs = {"git": "git version 2.45.1", "rg": "ripgrep 14.1.0", "wl-copy": "", "fc-list": "DejaVu Sans Mono"}
    here = machine(tmp_path, programs, kib(121, 80), WAYLAND_DISPLAY="wayland-0", TERM_PROGRAM="ghostty")
    found = await found_at(here, *[check.name for check in MACHINE_CHECKS if check.name != "sandbox"])
    assert {name: f.words for name, f in found.items() if f.status is not OK} == {}
    assert "wl-copy" in found["clipboard"].words


async def test_an_old_git(tmp_path: Path) -> None:
    assert (await found_at(machine(tmp_path, {"git": "git version 2.17.1"}), "git"))["git"].status is WARN


@pytest.mark.parametrize(
    ("check", "variables", "width", "status"),
    [
        ("terminal", {"TERM": "dumb"}, 100, FAIL),
        ("terminal", {}, 40, WARN),
        ("terminal", {"TERM": "xterm", "COLORTERM": ""}, 100, WARN),
        ("terminal", {"TERM": "xterm", "COLORTERM": "", "NO_COLOR": "1"}, 100, OK),
        ("fonts", {"encoding": "iso-8859-1"}, 100, WARN),
        ("fonts", {"TERM": "linux"}, 100, WARN),
        ("fonts", {"DISPLAY": ":0", "SSH_TTY": "/dev/pts/1"}, 100, OK),
        ("clipboard", {"TERM": "xterm-kitty", "SSH_TTY": "/dev/pts/1"}, 100, OK),
        ("clipboard", {"DISPLAY": ":0"}, 100, WARN),
    ],
)
async def test_terminals(check: str, variables: dict[str, str], width: int, status: Status, tmp_path: Path) -> None:
    found = (await found_at(machine(tmp_path, {}, width=width, **variables), check))[check]
    assert found.status is status, found.words
    assert bool(found.remedy) == (status is not OK)


async def test_fonts_without_a_sign_and_a_tmux_that_keeps_copies(tmp_path: Path) -> None:
    here = machine(tmp_path, {"fc-list": "", "tmux": "off"}, DISPLAY=":0", TMUX="/tmp/tmux")
    found = await found_at(here, "fonts", "clipboard")
    assert found["fonts"].status is WARN
    assert "✓" in found["fonts"].words
    assert found["clipboard"].remedy == "tmux set-option -g set-clipboard on"


async def test_the_sandbox_is_tried(tmp_path: Path) -> None:
    """Without bubblewrap in PATH something weaker, or nothing, is found, and a line says what to install."""
    found = (await found_at(machine(tmp_path, {}), "sandbox"))["sandbox"]
    assert found.status in (WARN, FAIL)
    assert found.data["tier"] in ("landlock", "none", "seatbelt")
    assert "bubblewrap" in found.remedy
