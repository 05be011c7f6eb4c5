"""Drive Pool from a program: send a prompt, answer what it asks, show its answer.

    python examples/drive.py "write a haiku into poem.txt" [flags of pool run]

Every line that Pool prints is an event, every line that it reads an order (docs/headless.md). This program lets it
write files below the workspace, lets it run nothing, and asks it to hurry once a call has ended.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import IO, Any


def send(orders: IO[str], kind: str, **fields: Any) -> None:
    orders.write(json.dumps({"type": kind, **fields}) + "\n")
    orders.flush()


def main(prompt: str, *flags: str) -> int:
    command = [sys.executable, "-m", "pool", "run", "-i", "stream-json", "-o", "stream-json", "--mode", "default"]
    pool = subprocess.Popen([*command, *flags], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert pool.stdin is not None
    assert pool.stdout is not None
    send(pool.stdin, "prompt", text=prompt)
    hurried = False
    for line in pool.stdout:
        event: dict[str, Any] = json.loads(line)
        match event["type"]:
            case "approval.asked":
                allow = event["effect"] == "write"
                print(f"{'allowed' if allow else 'denied'}: {event['name']}")
                send(pool.stdin, "approve", id=event["id"], allow=allow, reason="" if allow else "Only write files.")
            case "question.asked":
                send(pool.stdin, "answer", id=event["id"], text="Whatever you think best.")
            case "call.finished" if not hurried:
                hurried = True
                send(pool.stdin, "steer", text="Please hurry.")
            case "run.finished":
                print(f"{event['reason']}: {event['answer']}")
                send(pool.stdin, "end")
            case _:
                pass
    return pool.wait()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
