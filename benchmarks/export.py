"""What exporting a session of 10,000 durable events costs: time and memory of each format, and of importing it again.

Run: python benchmarks/export.py [--events N]. Each measure is a process of its own; memory is its peak, less that of a
process that only imports what it needs.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from pool.messages import Message, ReasoningField, Role, ToolCall, encode, system, tool_result, user
from pool.sessions.log import Header, SessionLog

TURNS_A_RUN = 20
FORMATS = ("atif", "html", "md", "jsonl")


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=10_000, help="events in the session (%(default)s)")
    parser.add_argument("--one", nargs=2, metavar=("WHAT", "FILE"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(measure(args.one[0], Path(args.one[1]))))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = session(Path(folder), args.events)
        events = path.read_bytes().count(b"\n") - 1
        print(f"{events:,} events, {path.stat().st_size / 1e6:.1f} MB of log\n")
        print("| | CPU seconds | peak MB more than at rest | MB written |\n|---|---|---|---|")
        rest = run("rest", path)["peak"]
        for what in (*FORMATS, *(f"{f}, not redacted" for f in FORMATS), "import atif"):
            got = run(what, path)
            print(f"| {what} | {got['seconds']:.2f} | {got['peak'] - rest:.0f} | {got['bytes'] / 1e6:.1f} |")


def run(what: str, path: Path) -> dict[str, float]:
    """A measure in a process of its own."""
    command = [sys.executable, __file__, "--one", what, str(path)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def measure(what: str, path: Path) -> dict[str, float]:
    """CPU seconds, peak megabytes of the process, and bytes of the result."""
    from pool.sessions.export.kept import incoming
    from pool.sessions.export.redact import Redactor
    from pool.sessions.export.session import Format, exported, read_session

    size = 0
    started = time.process_time()
    if what == "import atif":
        data = exported(read_session(path, None), Format.ATIF).encode()
        started = time.process_time()
        size = sum(len(one.rows) for one in incoming(data, 0.0))
    elif what != "rest":
        name, _, plain = what.partition(",")
        redactor = None if plain else Redactor(["a-known-key-12345"], ["/home/someone"], ["someone"])
        size = len(exported(read_session(path, redactor), Format(name)).encode())
    seconds = time.process_time() - started
    return {"seconds": seconds, "peak": peak_kilobytes() / 1024, "bytes": size}


def peak_kilobytes() -> int:
    """The most memory that this process has had since its program began (`getrusage` counts its parent's too)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def session(folder: Path, events: int) -> Path:
    """A session of that many events; results are parts of Python's own library, 1 to 8 KB each."""
    pick = random.Random(7)
    sources = [p.read_text(errors="replace") for p in sorted(Path(json.__file__).parent.glob("*.py"))]
    source = "".join(sources)
    log = SessionLog.create(folder, Header("0" * 32, "/home/someone/work", time.time(), "0"), print)
    seq = 0

    def write(kind: str, **fields: Any) -> None:
        nonlocal seq
        row = {"type": kind, "session": "s", "run": "r", "turn": 1, "seq": seq, "wall": 1.7e9 + seq, "mono": float(seq)}
        log.write({**row, **fields}, sync=False)
        seq += 1

    def add(message: Message) -> None:
        write("message.added", role=message.role.value, text=encode(message).data.decode(), replaces_last=False)

    add(system("You are an agent."))
    turn = 0
    while seq < events:
        if turn % TURNS_A_RUN == 0:
            write("run.started", prompt="go on", workspace="/w", model="m", server="s", mode="auto", sandbox="none")
            add(user("go on"))
        turn += 1
        at = pick.randrange(len(source) - 8000)
        text = source[at : at + pick.randrange(1000, 8000)]
        call = ToolCall(f"c{turn}", "edit" if turn % 4 == 0 else "read", json.dumps({"path": f"src/f{turn}.py"}))
        tokens = {"prompt": 1000, "completion": 100, "cached": 900, "reasoning": 0, "estimated": False}
        diff = "--- a/x\n+++ b/x\n" + "".join(f"+{line}\n" for line in text[:600].splitlines())
        write("turn.started", prompt_tokens=1000, max_tokens=100)
        write("usage", usage=tokens, first_token_seconds=0.1, reply_seconds=1.0)
        add(Message(Role.ASSISTANT, "", "I look at this file next.", ReasoningField.REASONING, (call,)))
        preview = {
            "title": f"Read src/f{turn}.py",
            "preview_kind": "diff" if turn % 4 == 0 else "text",
            "preview": diff,
        }
        write("call.proposed", call=call.id, name=call.name, arguments={"path": "x"}, effect="read", **preview)
        write("approval.given", call=call.id, allowed=True, by="mode", reason="")
        write("call.started", call=call.id, name=call.name)
        write("call.finished", call=call.id, name=call.name, status="ok", text=text, seconds=0.1, data={}, changes=[])
        add(tool_result(call.id, text))
        write("turn.finished", finish="tool_calls", ending="whole", calls=1, repairs=[])
    log.close()
    return log.path


if __name__ == "__main__":
    main()
