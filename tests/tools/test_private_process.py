"""A process that keeps its environment and memory from what the same user runs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from .escapes.agents import interpreter, plain_user

SECRET = "sk-of-the-agent"

_AGENT = """
import os, subprocess, sys
from pool_tools.private_process import keep_private
if sys.argv[1] == "private":
    assert keep_private()
script = '''
for n in environ mem fd/0 cwd maps; do
  head -c 4096 /proc/$PPID/$n >/dev/null 2>&1 && echo "read $n"
done
tr "\\\\0" "\\\\n" </proc/$PPID/environ 2>/dev/null
readlink /proc/$PPID/fd/0 >/dev/null && echo "read a link"
true
'''
seize = 0x4206
trace = f"import ctypes, os; print('traced' if ctypes.CDLL(None).ptrace({seize}, os.getppid(), 0, 0) == 0 else '')"
for argv in (["sh", "-c", script], [sys.executable, "-c", trace]):
    done = subprocess.run(argv, capture_output=True, text=True, env={"PATH": os.defpath})
    print(done.stdout)
handle = os.open("/", os.O_PATH)
print("own descriptors", len(os.listdir("/proc/self/fd")) > 2, os.path.isdir(f"/proc/self/fd/{handle}/usr"))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="there is no such switch here")
@pytest.mark.parametrize("kept", [False, True], ids=["as usual", "private"])
def test_what_the_same_user_runs_sees_nothing(kept: bool) -> None:
    uid = plain_user()
    try:
        python, modules = interpreter(uid)
    except LookupError as error:
        pytest.skip(str(error))
    done = subprocess.run(
        [python, "-c", _AGENT, "private" if kept else ""],
        env={"POOL_API_KEY": SECRET, "PYTHONPATH": str(modules), "PATH": "/usr/bin:/bin"},
        stdin=subprocess.DEVNULL,
        cwd="/",
        capture_output=True,
        text=True,
        timeout=30,
        user=uid,
        group=uid,
        extra_groups=None if uid is None else [],
    )
    assert done.returncode == 0, done.stderr
    # As it usually is, so that this test could fail.
    for sign in ("read environ", "read maps", "read a link", "traced", SECRET):
        assert (sign in done.stdout) is not kept, sign
    assert "own descriptors True True" in done.stdout
