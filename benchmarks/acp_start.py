"""How long `pool acp` takes to answer `initialize`, and what importing the official SDK alone would take.

python benchmarks/acp_start.py [RUNS]
"""

from __future__ import annotations

import importlib.util
import json
import statistics
import subprocess
import sys
import time

INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}}
LIMIT_SECONDS = 0.7
RUNS = 9


def answered() -> float:
    """Seconds from the start of the process to the answer."""
    begun = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-m", "pool", "acp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
        process.stdin.flush()
        line = process.stdout.readline()
        seconds = time.perf_counter() - begun
        assert b"agentInfo" in line
        process.kill()
    return seconds


def imported() -> float:
    """Seconds for an interpreter that imports the SDK and ends."""
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import acp"], check=True)
    return time.perf_counter() - begun


def main() -> int:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    ours = [answered() for _ in range(runs)]
    print(f"pool acp answers initialize: median {statistics.median(ours):.3f} s, worst {max(ours):.3f} s")
    if importlib.util.find_spec("acp") is not None:
        theirs = [imported() for _ in range(runs)]
        print(f"python -c 'import acp': median {statistics.median(theirs):.3f} s, worst {max(theirs):.3f} s")
    return int(statistics.median(ours) > LIMIT_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
