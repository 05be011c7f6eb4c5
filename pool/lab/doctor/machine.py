"""The machine on which Pool runs: memory, what confines commands, and the programs that it or the model calls."""

from __future__ import annotations

import asyncio
import re
import sys
import tempfile
from pathlib import Path

from pool.lab.doctor.finding import Check, Finding, Status
from pool.lab.doctor.here import Here
from pool.lab.doctor.subject import Subject

GIB = 2**30
KIB = 2**10
LOW_BYTES = 2 * GIB
"""Less free memory than this is named: tests and compilers of a project want it."""

LEAST_BYTES = GIB // 2
SWAPPED_SHARE = 0.5
"""A machine that has put this share of its swap to use is short of memory."""

OLDEST_GIT = (2, 25)
"""Worktrees, and switches that Pool's checkpoints use, are all there from 2.25 on (January 2020)."""

_LINE = re.compile(r"^(\w+):\s+(\d+) kB$", re.MULTILINE)
_VERSION = re.compile(r"(\d+)\.(\d+)")


async def memory(subject: Subject) -> Finding:
    """How much memory there is, and how much of it is free."""
    found = await asyncio.to_thread(_memory, subject.here)
    if not found.get("total"):
        return Finding("memory", Status.OK, "this system does not tell it in a way that Pool reads", data=found)
    words = f"{found['total'] / GIB:.1f} GiB"
    free = found.get("free")
    if free is None:
        return Finding("memory", Status.OK, words, data=found)
    words += f", {free / GIB:.1f} GiB of it free"
    remedy = "ps -eo rss,comm --sort=-rss | head"
    if free < LOW_BYTES:
        status = Status.FAIL if free < LEAST_BYTES else Status.WARN
        means = "Commands of the agent, such as tests and compilers, may be killed, or the model server with them."
        return Finding("memory", status, words, means, remedy, found)
    swapped = found.get("swapped", 0) / (found.get("swap") or 1)
    if swapped > SWAPPED_SHARE:
        words += f"; {swapped:.0%} of the swap is in use"
        means = "If a part of the model is swapped out, it writes slower than it could."
        return Finding("memory", Status.WARN, words, means, remedy, found)
    return Finding("memory", Status.OK, words, data=found)


def _memory(here: Here) -> dict[str, int]:
    """Bytes: total, free (what programs can have), swap, swapped."""
    try:
        told = {name: int(kib) * KIB for name, kib in _LINE.findall(here.meminfo.read_text(encoding="ascii"))}
    except (OSError, ValueError):
        size = here.output("sysctl", "-n", "hw.memsize") if sys.platform == "darwin" else ""
        return {"total": int(size)} if size.isdecimal() else {}
    found = {"total": told.get("MemTotal", 0), "swap": told.get("SwapTotal", 0)}
    found["swapped"] = found["swap"] - told.get("SwapFree", found["swap"])
    return found | ({"free": told["MemAvailable"]} if "MemAvailable" in told else {})


async def sandbox(subject: Subject) -> Finding:
    """What confines commands here, found by trying it on a scratch folder."""
    from pool_tools.sandbox import NoSandbox, Policy
    from pool_tools.sandbox.probe import probe

    def look() -> tuple[str, str, str]:
        with tempfile.TemporaryDirectory(prefix="pool-doctor-") as folder:
            found = probe(Policy((Path(folder).resolve(),)), subject.here.environ)
            try:
                return found.tier, found.note, found.remedy
            finally:
                found.sandbox.close()

    tier, note, remedy = await asyncio.to_thread(look)
    data = {"tier": tier, "note": note, "advice": remedy}
    if tier == NoSandbox.name:
        words = f"nothing confines commands here: {note}"
        means = f"Pool asks before every command, and headless runs cannot run any. {remedy}".strip()
        return Finding("sandbox", Status.FAIL, words, means, _install("bubblewrap"), data)
    if remedy:
        means = f"Commands are confined, but less well than could be. {remedy}"
        return Finding("sandbox", Status.WARN, note, means, _install("bubblewrap"), data)
    return Finding("sandbox", Status.OK, note, data=data)


async def git(subject: Subject) -> Finding:
    """Is git there, and new enough?"""
    told = await asyncio.to_thread(subject.here.output, "git", "--version")
    version = _VERSION.search(told)
    data = {"version": told}
    if version is None:
        means = "Without git there is no undo, no pool diff, no pool commit and no worktree."
        return Finding("git", Status.FAIL, "git is not installed, or does not run", means, _install("git"), data)
    if (int(version[1]), int(version[2])) < OLDEST_GIT:
        means = "Pool is tested with newer ones; undo and worktrees may fail."
        return Finding("git", Status.WARN, told, means, _install("git"), data)
    return Finding("git", Status.OK, told, data=data)


async def ripgrep(subject: Subject) -> Finding:
    """Is rg there? Pool searches without it, but models like to type it."""
    told = await asyncio.to_thread(subject.here.output, "rg", "--version")
    first = told.partition("\n")[0]
    data = {"version": first}
    if first:
        return Finding("ripgrep", Status.OK, f"{first}; Pool's own search does not need it", data=data)
    words = "rg is not installed; Pool's own search does not need it"
    means = "A model often types rg in the shell: the command fails, which costs a turn."
    return Finding("ripgrep", Status.WARN, words, means, _install("ripgrep"), data)


def _install(package: str) -> str:
    return f"brew install {package}" if sys.platform == "darwin" else f"sudo apt-get install -y {package}"


MEMORY = Check("memory", "how much memory?", memory)
SANDBOX = Check("sandbox", "what confines commands?", sandbox)
GIT = Check("git", "is git there?", git)
RIPGREP = Check("ripgrep", "is rg there?", ripgrep)
