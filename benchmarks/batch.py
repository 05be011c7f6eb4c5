"""Many prompts and detached runs: what keeping within a server's limits does to its queue, and what a live run costs.

Each task mends the example repository against a simulated server that works two requests at a time.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

from pool.facekit.live.finding import by_id
from pool.facekit.live.place import LiveRecord, live_records
from pool.facekit.live.remote import RemoteConversation
from pool.headless.batch.command import main as batch
from pool.headless.batch.places import Place
from pool.sim.process import spawned
from pool.wire.dialects import ServerKind, for_server
from pool.wire.metrics import load_of, read_metrics

EXAMPLE = Path(__file__).parents[1] / "examples" / "inventory"
TASKS = 8
SEQUENCES = 2
RATE = 60
SAMPLE_SECONDS = 0.1
LIVE_RUNS = 5


class Queue(threading.Thread):
    """Samples how many requests wait at a server, until `end`."""

    def __init__(self, url: str) -> None:
        super().__init__(daemon=True)
        self._url = url
        self._ended = threading.Event()
        self.waiting: list[int] = []

    def run(self) -> None:
        while not self._ended.wait(SAMPLE_SECONDS):
            with urllib.request.urlopen(f"{self._url}/metrics") as reply:
                load = load_of(read_metrics(reply.read().decode()), for_server(ServerKind.VLLM))
            self.waiting.append(load.waiting if load else 0)

    def end(self) -> None:
        self._ended.set()
        self.join()


async def no_look(self: Place) -> None:
    """In the place of `Place.look`: a server of which nothing is known."""


def worked(folder: Path, name: str) -> str:
    """Work the batch once; a row of figures."""
    out = folder / f"{name}.jsonl"
    with spawned(["--port", "0", "--rate", str(RATE), "--max-num-seqs", str(SEQUENCES)]) as sim:
        queue = Queue(sim.url)
        queue.start()
        began = time.monotonic()
        code = batch([str(folder / "tasks.jsonl"), "-q", "--jobs", str(TASKS), "--server", sim.url, "--out", str(out)])
        seconds = time.monotonic() - began
        queue.end()
    share = sum(count > 0 for count in queue.waiting) / len(queue.waiting)
    mean, most = statistics.fmean(queue.waiting), max(queue.waiting)
    return f"| {name} | {seconds:.0f} | {mean:.1f} | {most} | {share:.0%} | {code} |"


def live(folder: Path, url: str) -> tuple[float, float]:
    """Seconds from `pool run --detach` to its id, and from attaching to being current."""
    line = [sys.executable, "-m", "pool", "run", "--detach", "--sandbox", "off", "--mode", "allow-all"]
    began = time.monotonic()
    done = subprocess.run([*line, "--base-url", url, "Hello"], cwd=folder, capture_output=True, text=True, check=True)
    started = time.monotonic() - began
    return started, asyncio.run(current(by_id(done.stdout.strip())))


async def current(record: LiveRecord) -> float:
    began = time.monotonic()
    async with await RemoteConversation.attach(record, stay=False) as run:
        async for _ in run.events():
            if run.caught_up:
                break
    return time.monotonic() - began


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["XDG_STATE_HOME"] = str(folder / "state")
        task = {"prompt": "make the failing tests pass", "dir": str(EXAMPLE), "isolate": "copy", "sandbox": "off"}
        row = json.dumps({**task, "mode": "allow-all"})
        (folder / "tasks.jsonl").write_text(f"{row}\n" * TASKS)
        print("| limits | s | waiting, mean | most | time with a queue | exit |\n|---|---|---|---|---|---|")
        print(worked(folder, "kept"), flush=True)
        look, Place.look = Place.look, no_look
        print(worked(folder, "not looked at"), flush=True)
        Place.look = look
        with spawned(["--port", "0", "--rate", "20"]) as sim:
            figures = [live(folder, sim.url) for _ in range(LIVE_RUNS)]
            while live_records():
                time.sleep(SAMPLE_SECONDS)
        starts, attaches = zip(*figures, strict=True)
        print(f"detach to id: {min(starts):.2f} to {max(starts):.2f} s; attach: {statistics.median(attaches):.3f} s")


if __name__ == "__main__":
    main()
