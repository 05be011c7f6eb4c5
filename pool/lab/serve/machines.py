"""Machines that models are served on, as data, and which of them this one is."""

from __future__ import annotations

import platform
import subprocess
from dataclasses import replace

from pool.lab.serve.shapes import GIB, Chip, Machine
from pool_tools.frozen import frozen

APPLE_SHARE = 0.75
"""Of a Mac's memory, what Metal recommends to use on machines above 36 GB."""

SPARK = Machine(
    "spark",
    "DGX Spark",
    Chip.BLACKWELL,
    121.0,
    273.0,
    0.80,
    2.69,
    "121 GiB seen by the system; a share of 0.80, weights of 67 GiB and a cache of 27.11 GiB leave 2.69 GiB: solved "
    "from one published start at 4,096 tokens a step, not read; a second start had 0.25 GiB less",
    shared=True,
    sm121=True,
)
H100 = Machine("h100", "H100 80 GB", Chip.HOPPER, 79.6, 3_350.0, 0.90, 4.0, "81,559 MiB; overhead estimated")
H200 = Machine("h200", "H200 141 GB", Chip.HOPPER, 140.4, 4_800.0, 0.90, 4.0, "143,771 MiB; overhead estimated")
B200 = Machine("b200", "B200 180 GB", Chip.BLACKWELL, 179.0, 8_000.0, 0.90, 4.0, "183,359 MiB; overhead estimated")
RTX_PRO = Machine(
    "rtx-pro-6000", "RTX PRO 6000 96 GB", Chip.BLACKWELL, 95.6, 1_792.0, 0.90, 3.0, "97,887 MiB; overhead estimated"
)
RTX_5090 = Machine(
    "rtx-5090", "RTX 5090 32 GB", Chip.BLACKWELL, 31.8, 1_792.0, 0.90, 2.0, "32,607 MiB; overhead estimated"
)
RTX_4090 = Machine("rtx-4090", "RTX 4090 24 GB", Chip.ADA, 24.0, 1_008.0, 0.90, 2.0, "24,564 MiB; overhead estimated")
APPLE = Machine(
    "apple",
    "Mac with 128 GB",
    Chip.APPLE,
    128.0,
    546.0,
    APPLE_SHARE,
    2.0,
    "three quarters for Metal; overhead estimated; bandwidth of an M4 Max",
    shared=True,
)

MACHINES = {machine.name: machine for machine in (SPARK, H100, H200, B200, RTX_PRO, RTX_5090, RTX_4090, APPLE)}

_BY_WORD = (
    ("gb10", SPARK),
    ("h200", H200),
    ("h100", H100),
    ("b200", B200),
    ("pro 6000", RTX_PRO),
    ("5090", RTX_5090),
    ("4090", RTX_4090),
)
_QUERY_SECONDS = 10.0


@frozen
class Found:
    """The machine that this is, with how many devices. words says how it was told; known is False for a guess."""

    machine: Machine
    devices: int
    words: str
    known: bool = True


def detect() -> Found:
    """This machine. Without a device that Pool knows it is taken for a DGX Spark, and the words say so."""
    if platform.system() == "Darwin" and platform.machine() == "arm64":
        return _mac(_output("sysctl", "-n", "hw.memsize"))
    return of_listing(_output("nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader,nounits"))


def of_listing(listing: str) -> Found:
    """A machine by what nvidia-smi lists: a name and MiB on each line; on a GB10 the memory is `[N/A]`."""
    rows = [line.rpartition(",") for line in listing.splitlines() if "," in line]
    if not rows:
        return Found(
            SPARK, 1, "no NVIDIA device answers here, so a DGX Spark is assumed; --on names another", known=False
        )
    name, memory = rows[0][0].strip(), rows[0][2].strip()
    for word, machine in _BY_WORD:
        if word in name.lower():
            if memory.isdecimal() and not machine.shared:
                machine = replace(machine, memory_gib=int(memory) / 1024)
            return Found(machine, len(rows), f"nvidia-smi: {len(rows)} x {name}")
    words = f"nvidia-smi names {name!r}, which Pool does not know; a DGX Spark is assumed; --on names another"
    return Found(SPARK, 1, words, known=False)


def _mac(memory: str) -> Found:
    bytes_ = int(memory) if memory.strip().isdecimal() else int(APPLE.memory_gib * GIB)
    gib = bytes_ / GIB
    return Found(replace(APPLE, memory_gib=gib, title=f"Mac with {gib:.0f} GB"), 1, f"sysctl: {gib:.0f} GiB")


def _output(*command: str) -> str:
    """What a program says, "" if it is not there or fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_QUERY_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""
