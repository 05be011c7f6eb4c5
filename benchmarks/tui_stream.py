"""What the transcript costs while a reply streams: CPU, lag, key echo, memory, and the same in a long session.

    python benchmarks/tui_stream.py [--seconds 20] [--only fast,slow,unlimited,long,resume]

Runs a Textual app with the transcript and an input line in a pseudo-terminal of its own (80x24) and types keys into it.
Each measure is a process of its own; CPU is that process's, from the first token until it is quiet.
"""

from __future__ import annotations

import argparse
import asyncio
import fcntl
import json
import os
import pty
import resource
import select
import statistics
import struct
import sys
import termios
import time
from collections.abc import Iterator
from typing import Any

TOKENS = 20_000
CHARS_PER_TOKEN = 4
KEY_SECONDS = 0.1
QUIET_SECONDS = 0.4
END_MARK = "the-very-end"

SAMPLE = """## Part {n}: reading prices

The function `total` in *src/shop/cart.py* adds the prices **as floats**, which is why the sum of three items is off by
a cent. See [the documentation](https://docs.python.org/3/library/decimal.html) for what `Decimal` does.

- read the file, then change only the sum
- run the tests:
  1. `pytest -q tests/test_cart.py`
  2. the whole suite

> Rounding half up is what people expect of a bill.

| case | before | after |
|------|-------:|------:|
| three items | 0.30000000000000004 | 0.30 |
| none | 0 | 0.00 |

```python
def total(items: list[Item]) -> Decimal:
    \"\"\"The sum of all prices, rounded to cents.\"\"\"
    result = sum((item.price for item in items), Decimal(0))
    return result.quantize(Decimal("0.01"), rounding=ROUND_HALF_UP)  # part {n}
```

"""


def document(tokens: int) -> str:
    parts: list[str] = []
    size = 0
    while size < tokens * CHARS_PER_TOKEN:
        parts.append(SAMPLE.format(n=len(parts) + 1))
        size += len(parts[-1])
    return "".join(parts)[: tokens * CHARS_PER_TOKEN] + "\n\n"


def session(messages: int) -> Iterator[dict[str, Any]]:
    """A log of so many messages: one prompt and one reply with a call in turn."""
    head = {"session": "s", "run": "r", "wall": 0.0, "mono": 0.0, "v": 1}
    text = document(90)
    for n in range(messages // 2):
        at = {**head, "turn": n, "seq": 10 * n}
        started = {"prompt": f"prompt {n}", "workspace": "/w", "model": "m", "server": "s"}
        yield {**at, "type": "run.started", **started, "mode": "auto", "sandbox": "none"}
        yield {**at, "type": "turn.started", "prompt_tokens": 1, "max_tokens": 1}
        reply = {"role": "assistant", "content": text, "reasoning": "I look at the file. " * 20}
        yield {**at, "type": "message.added", "role": "assistant", "text": json.dumps(reply)}
        call = {"name": "read", "arguments": {"path": "a.py"}, "effect": "read", "title": "Read a.py"}
        yield {**at, "type": "call.proposed", "call": f"c{n}", **call}
        done = {"name": "read", "status": "ok", "text": "1|x\n" * 40, "seconds": 0.1}
        yield {**at, "type": "call.finished", "call": f"c{n}", **done}


def child(spec: dict[str, Any]) -> None:
    """The app, in the pseudo-terminal; writes its figures to a file."""
    from textual.app import App, ComposeResult
    from textual.widgets import Input

    from pool.facekit.textualtheme import PREFIX, textual_theme
    from pool.tui.transcript.answer import Answer
    from pool.tui.transcript.feed import Feed
    from pool.tui.transcript.widget import Transcript
    from pool_themes import load

    class Bench(App[None]):
        CSS = "Transcript { height: 1fr; } Input { dock: bottom; }"

        def __init__(self) -> None:
            super().__init__()
            theme = load("pool-dark")
            self.register_theme(textual_theme(theme))
            self.theme = PREFIX + theme.name
            self.transcript = Transcript(code_style=theme.code_style)

        def compose(self) -> ComposeResult:
            yield self.transcript
            yield Input()

        def on_mount(self) -> None:
            self.query_one(Input).focus()
            self.run_worker(self.work())

        async def work(self) -> None:
            await asyncio.sleep(0.5)
            out: dict[str, Any] = {}
            if spec["messages"]:
                began = time.perf_counter()
                Feed(self.transcript).replay(session(spec["messages"]))
                out["replay_seconds"] = time.perf_counter() - began
                await asyncio.sleep(0.5)
                out["rss_mb_before"] = rss()
            cpu, wall = time.process_time(), time.monotonic()
            await self.stream(document(spec["tokens"]) + END_MARK + "\n")
            out["last_token_at"] = time.monotonic()
            out["stream_seconds"] = out["last_token_at"] - wall
            await asyncio.sleep(QUIET_SECONDS)
            out["cpu"] = time.process_time() - cpu
            out["rss_mb"] = rss()
            with open(spec["report"], "w", encoding="utf-8") as file:
                json.dump(out, file)
            await asyncio.sleep(0.5)
            self.exit()

        async def stream(self, text: str) -> None:
            entry = self.transcript.add(Answer(), open_=True)
            pieces = [text[i : i + CHARS_PER_TOKEN] for i in range(0, len(text), CHARS_PER_TOKEN)]
            began, rate = time.monotonic(), spec["rate"]
            for number, piece in enumerate(pieces):
                self.transcript.append_text(entry, piece)
                if rate:
                    wait = began + number / rate - time.monotonic()
                    if wait > 0 or number % 20 == 0:
                        await asyncio.sleep(max(0.0, wait))
                elif number % 50 == 0:
                    await asyncio.sleep(0)
            self.transcript.finish(entry)

    Bench().run()


def rss() -> float:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20


def measure(report: str, *, rate: float, tokens: int, messages: int = 0, keys: bool = False) -> dict[str, Any]:
    """Run one child in a pseudo-terminal; reads what it draws, types keys if asked."""
    spec = {"rate": rate, "tokens": tokens, "messages": messages, "report": report}
    if os.path.exists(report):
        os.unlink(report)
    pid, fd = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        os.environ |= {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
        os.environ.pop("NO_COLOR", None)
        os.execv(sys.executable, [sys.executable, __file__, "--child", json.dumps(spec)])
    echoes: list[float] = []
    end_seen = 0.0
    sent: tuple[str, float] | None = None
    number, next_key, drawn = 0, time.monotonic() + 1.5, 0
    while True:
        ready, _, _ = select.select([fd], [], [], 0.01)
        now = time.monotonic()
        if ready:
            try:
                data = os.read(fd, 1 << 16)
            except OSError:
                break
            if not data:
                break
            drawn += len(data)
            text = data.decode("utf-8", "replace")
            if END_MARK in text and not end_seen:
                end_seen = now
            if sent and sent[0] in text:
                echoes.append(now - sent[1])
                sent = None
        if keys and sent is None and now > next_key and not os.path.exists(report):
            key = "QXZJ"[number % 4]
            number += 1
            os.write(fd, key.encode())
            sent, next_key = (key, time.monotonic()), now + KEY_SECONDS
    os.waitpid(pid, 0)
    with open(report, encoding="utf-8") as file:
        out: dict[str, Any] = json.load(file)
    out["lag_ms"] = round(1000 * (end_seen - out["last_token_at"]), 1)
    out["drawn_kb"] = round(drawn / 1000)
    if echoes:
        out["key_median_ms"] = round(1000 * statistics.median(echoes), 1)
        out["key_max_ms"] = round(1000 * max(echoes), 1)
        out["keys"] = len(echoes)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--only", default="fast,unlimited,slow,long,resume")
    parser.add_argument("--child", default="")
    parser.add_argument("--report", default=f"/tmp/pool-tui-stream-{os.getpid()}.json")
    options = parser.parse_args()
    if options.child:
        child(json.loads(options.child))
        return
    wanted, report = options.only.split(","), options.report
    fast = int(1000 * options.seconds)
    if "fast" in wanted:
        show("1,000 tokens/s, keys", measure(report, rate=1000, tokens=fast, keys=True))
    if "unlimited" in wanted:
        show("20,000 tokens, unlimited", measure(report, rate=0, tokens=TOKENS))
    if "slow" in wanted:
        show("80 tokens/s, keys", measure(report, rate=80, tokens=int(80 * options.seconds), keys=True))
    if "long" in wanted:
        costs = [measure(report, rate=80, tokens=800, messages=n) for n in (10, 5000)]
        for count, out in zip((10, 5000), costs, strict=True):
            show(f"80 tokens/s after {count} messages", out)
        print(f"cost per token, 5,000 messages to 10: {costs[1]['cpu'] / costs[0]['cpu']:.2f}")
    if "resume" in wanted:
        show("4,000 messages (2,000 turns) replayed", measure(report, rate=0, tokens=10, messages=4000))
    if os.path.exists(report):
        os.unlink(report)


def show(name: str, out: dict[str, Any]) -> None:
    figures = {k: round(v, 3) for k, v in out.items() if k != "last_token_at"}
    print(f"{name}: {json.dumps(figures)}", flush=True)


if __name__ == "__main__":
    main()
