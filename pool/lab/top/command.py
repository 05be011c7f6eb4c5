"""The command line of `pool top`."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TextIO

from pool.agent.configured import settings_for
from pool.config.interface import AUTO_THEME
from pool.config.load import flag_values
from pool.config.settings import Settings, SettingsError
from pool.events import STOP_TABLE, StopReason
from pool.lab.top.board import board, plain
from pool.lab.top.watching import Watcher, document
from pool.wire.endpoint import EndpointError, parse_endpoint
from pool.wire.probe import USUAL_PORTS, discover
from pool.wire.transport import Transport
from pool_themes import Theme, ThemeError, load, names

EVERY_SECONDS = 1.0
LEAST_SECONDS = 0.1
EXIT_USAGE = 2
EXIT_AWAY = STOP_TABLE[StopReason.SERVER_FAILED].exit
EXIT_INTERRUPTED = STOP_TABLE[StopReason.INTERRUPTED].exit
DARK, LIGHT = "pool-dark", "pool-light"
LIGHT_BACKGROUNDS = frozenset({"7", "15"})
"""What terminals that set COLORFGBG give as the number of a light background."""


def parser() -> argparse.ArgumentParser:
    """The flags of `pool top`."""
    p = argparse.ArgumentParser(
        prog="pool top",
        description="Show what a model server is doing, from its metrics: requests, cache, speeds, drafts. It sends no "
        "request that generates.",
        epilog="Exit codes: 0, 2 usage, 75 nothing could be seen (--once, --json), 130 interrupted. See docs/top.md.",
    )
    p.add_argument("--base-url", metavar="URL", help="server, such as http://127.0.0.1:8000 (POOL_BASE_URL)")
    p.add_argument("--profile", metavar="NAME", default="", help="the server of a profile (pool config)")
    p.add_argument("--every", type=_seconds, default=EVERY_SECONDS, metavar="S", help="seconds between two looks (1)")
    p.add_argument("--theme", metavar="NAME", choices=names(), help="colours; default: as your settings have it")
    p.add_argument("--once", action="store_true", help="look twice, print, and end")
    p.add_argument(
        "--json", action="store_true", help="one JSON object for each look, until interrupted; with --once one"
    )
    return p


def main(argv: Sequence[str]) -> int:
    """Run `pool top`; returns the exit code."""
    try:
        args = parser().parse_args(list(argv))
    except SystemExit as error:
        return int(error.code or 0)
    try:
        flags = flag_values({"server.base_url": args.base_url})
        settings = settings_for(Path.cwd(), os.environ, flags, args.profile).settings
        return asyncio.run(_top(args, settings))
    except (SettingsError, EndpointError, ThemeError) as error:
        sys.stderr.write(f"pool top: {error}\n")
        return EXIT_USAGE
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED


async def _top(args: argparse.Namespace, settings: Settings) -> int:
    url = settings.base_url
    if not url:
        near = await discover()
        url = near[0].base_url if near else f"http://127.0.0.1:{USUAL_PORTS[0]}"
    async with Transport(parse_endpoint(url, settings.api_key, settings.headers)) as transport:
        watcher = Watcher(transport)
        if args.once:
            return await _once(watcher, args.every, as_json=args.json)
        if args.json:
            return await _stream(watcher, args.every)
        if not sys.stdout.isatty():
            sys.stderr.write("pool top: this is no terminal; --once or --json print what there is\n")
            return EXIT_USAGE
        from pool.lab.top.app import TopApp

        await TopApp(watcher, theme_of(args.theme or settings.ui.theme, os.environ), args.every).run_async()
        return 0


async def _once(watcher: Watcher, every_seconds: float, *, as_json: bool) -> int:
    """Two looks, since speeds need them."""
    if await watcher.look() is not None:
        await asyncio.sleep(every_seconds)
    now = await watcher.look()
    if as_json:
        print(json.dumps(document(watcher.server, now), ensure_ascii=False))
    else:
        unicode = _unicode(sys.stdout)
        for row in board(watcher.server, now, tuple(watcher.speeds), _width(), unicode=unicode):
            text = plain(row)
            print(text if unicode else text.encode("ascii", "backslashreplace").decode())
    return EXIT_AWAY if now is None else 0


async def _stream(watcher: Watcher, every_seconds: float) -> int:
    """A line for each look, until the reader goes or Ctrl-C."""
    while True:
        print(json.dumps(document(watcher.server, await watcher.look()), ensure_ascii=False), flush=True)
        await asyncio.sleep(every_seconds)


def theme_of(name: str, environment: Mapping[str, str]) -> Theme:
    """The theme of that name; for `auto`, light where the terminal says so in COLORFGBG. Raises `ThemeError`."""
    if name != AUTO_THEME:
        return load(name)
    background = environment.get("COLORFGBG", "").rpartition(";")[2]
    return load(LIGHT if background in LIGHT_BACKGROUNDS else DARK)


def _seconds(text: str) -> float:
    value = float(text)
    if not LEAST_SECONDS <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is no number of seconds from {LEAST_SECONDS} on")
    return value


def _unicode(out: TextIO) -> bool:
    return (out.encoding or "").lower().replace("-", "") == "utf8"


def _width() -> int:
    return max(40, shutil.get_terminal_size().columns - 1)
