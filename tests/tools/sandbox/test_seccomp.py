from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest

from pool_tools.sandbox.seccomp import Unnamespaced, landlock_program, program
from pool_tools.sandbox.syscalls import ARCHITECTURES

HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}


@pytest.mark.parametrize("machine", sorted(ARCHITECTURES))
def test_numbers_are_the_kernels(machine: str) -> None:
    if not HEADERS[machine].exists():
        pytest.skip(f"no kernel headers for {machine}")
    found = dict(re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", HEADERS[machine].read_text()))
    wanted = ARCHITECTURES[machine].numbers
    assert {name: int(found[name]) for name in wanted} == wanted


@pytest.mark.parametrize("machine", sorted(ARCHITECTURES))
def test_jumps_stay_in_the_program(machine: str) -> None:
    rests = [Unnamespaced(network, abi, (12, -12)) for network in (False, True) for abi in (1, 7)]
    for code in (program(machine), *(landlock_program(machine, rest) for rest in rests)):
        assert code is not None
        steps = list(struct.iter_unpack("=HBBI", code))
        assert all(i + 1 + max(yes, no) < len(steps) for i, (_, yes, no, _) in enumerate(steps) if yes or no)
    assert program("riscv64") is None
    assert landlock_program("riscv64", rests[0]) is None
