"""Writers of sessions killed at random moments (SIGKILL): `python benchmarks/session_kills.py --kills 1000 --runs 40`.

First processes that do nothing but write sessions (`tests/sessions/killing.py` says what has to hold after each kill),
then `pool run` against the simulated server: each is killed, its session is opened and judged, and gone on with by a
`pool run --continue` that has to come to its end.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from pool.sessions.log import SessionLog
from pool.sessions.replay import resumed
from pool.sim.process import spawned
from tests.agent.test_history import problems
from tests.sessions.killing import kill_many, next_request

KILLS = 1000
RUNS = 40
LATEST_SECONDS = 1.2
"""A run is killed at most so long after its session's file was made."""

START_SECONDS = 20.0
POLL_SECONDS = 0.005
TOKENS_A_SECOND = "80"
NOTES = "one\ntwo\n" * 20
LOGS = "state/pool/sessions/*.jsonl"


def run(url: str, workspace: Path, env: dict[str, str], *flags: str) -> subprocess.Popen[bytes]:
    argv = [sys.executable, "-m", "pool", "run", "What does notes.txt say?", "--base-url", url, "-C", str(workspace)]
    return subprocess.Popen([*argv, "-q", *flags], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def kill_runs(count: int, folder: Path) -> tuple[int, int, int]:
    """Kill so many runs; how many had a session on disk, how many were killed in one, how many went on to the end."""
    rng = random.Random(1)
    env = {**os.environ, "XDG_STATE_HOME": str(folder / "state")}
    begun = within = ended = 0
    with spawned(["--rate", TOKENS_A_SECOND]) as sim:
        for number in range(count):
            workspace = folder / f"w{number}"
            workspace.mkdir()
            (workspace / "notes.txt").write_text(NOTES)
            before = set(folder.glob(LOGS))
            process = run(sim.url, workspace, env)
            until = time.monotonic() + START_SECONDS
            while not (new := set(folder.glob(LOGS)) - before) and time.monotonic() < until:
                time.sleep(POLL_SECONDS)
            time.sleep(rng.uniform(0, LATEST_SECONDS))
            process.send_signal(signal.SIGKILL)
            process.communicate()
            for path in new:
                log, rows, _ = SessionLog.reopen(path, print)
                log.close()
                wrong = problems(next_request(resumed(rows)))
                if wrong:
                    raise SystemExit(f"{path}: {wrong}")
                begun += 1
                within += bool(rows) and rows[-1]["type"] != "run.finished"
            if any(path.stat().st_size for path in new):
                again = run(sim.url, workspace, env, "--continue")
                _, said = again.communicate()
                if again.returncode:
                    raise SystemExit(f"going on ended with {again.returncode}: {said.decode()}")
                ended += 1
    return begun, within, ended


def main() -> None:
    parser = argparse.ArgumentParser(description="Kill writers of sessions and see what is left.")
    parser.add_argument("--kills", type=int, default=KILLS, help=f"writers to kill (default {KILLS})")
    parser.add_argument("--runs", type=int, default=RUNS, help=f"pool runs to kill (default {RUNS})")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as where:
        folder = Path(where)
        started = time.monotonic()
        counts = kill_many(args.kills, folder, args.seed)
        words = ", ".join(f"{name} {value}" for name, value in asdict(counts).items())
        print(f"writers, seed {args.seed}: {words}; {time.monotonic() - started:.0f} s")
        begun, within, ended = kill_runs(args.runs, folder)
        print(
            f"pool run: killed {args.runs}, {begun} with a session, {within} in the middle of it, {ended} gone on with"
        )


if __name__ == "__main__":
    main()
