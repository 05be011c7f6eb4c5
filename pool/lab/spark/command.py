"""The command line of `python -m pool.lab.spark`, which `make spark` calls."""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pool import __version__
from pool.agent.configured import settings_for
from pool.config.load import flag_values
from pool.config.settings import Settings, SettingsError
from pool.lab.spark.redact import Redactor, redactor
from pool.lab.spark.steps import MINUTE, Done, Outcome, Step, planned, this_python, work
from pool_tools.home import home

EXIT_USAGE = 2
EXIT_INTERRUPTED = 130
QUERY_SECONDS = 10.0
HELP_SECONDS = 30.0
DEFAULT_FOLDER = "spark-report"


def parser() -> argparse.ArgumentParser:
    """The flags."""
    names = [step.name for step in planned(this_python())]
    p = argparse.ArgumentParser(
        prog="make spark",
        description="Work doctor, bench, a session of 40 turns, a thought closed by hand and eval against your server, "
        "and write a report without keys, names of hosts and paths of your home. Nothing is sent anywhere.",
    )
    p.add_argument("--into", default=DEFAULT_FOLDER, metavar="FOLDER", help=f"the report's folder ({DEFAULT_FOLDER})")
    p.add_argument("--base-url", default="", metavar="URL", help="server; default: as pool run finds it")
    p.add_argument("--only", nargs="+", default=[], choices=names, metavar="STEP", help=f"some of: {', '.join(names)}")
    return p


def main(argv: Sequence[str]) -> int:
    """Work the steps and write the report; returns the exit code: 0 if every step that Pool has was worked."""
    try:
        args = parser().parse_args(list(argv))
    except SystemExit as error:
        return int(error.code or 0)
    folder = Path(args.into)
    if folder.exists() and any(folder.iterdir()):
        sys.stderr.write(f"make spark: {folder} is not empty; name another folder with --into\n")
        return EXIT_USAGE
    try:
        settings = settings_for(Path.cwd(), os.environ, flag_values({"server.base_url": args.base_url})).settings
    except SettingsError as error:
        sys.stderr.write(f"make spark: {error}\n")
        return EXIT_USAGE
    steps = [step for step in planned(this_python()) if not args.only or step.name in args.only]
    print(_before(steps, folder), flush=True)
    environ = {**os.environ, **({"POOL_BASE_URL": args.base_url} if args.base_url else {})}
    try:
        with tempfile.TemporaryDirectory(prefix="pool-spark-") as raw:
            done, whole = _worked(steps, Path(raw), environ)
            _write(folder, Path(raw), done, _redactor(settings, environ))
    except OSError as error:
        sys.stderr.write(f"make spark: {error}\n")
        return EXIT_USAGE
    print(f"\nThe report is in {folder}. Look through it before you send it to anybody.")
    if not whole:
        return EXIT_INTERRUPTED
    return int(any(one.outcome in (Outcome.FAILED, Outcome.LIMIT) for one in done))


def _before(steps: Sequence[Step], folder: Path) -> str:
    minutes = sum(step.limit_seconds for step in steps) / MINUTE
    return (
        f"{len(steps)} steps, at most {minutes:.0f} minutes together: {', '.join(step.name for step in steps)}.\n"
        f"The report goes into {folder}; nothing is sent anywhere. Ctrl-C ends it and keeps what there is.\n"
    )


def _worked(steps: Sequence[Step], raw: Path, environ: Mapping[str, str]) -> tuple[list[Done], bool]:
    """What came of the steps, and whether all were begun (False after Ctrl-C)."""
    known = _commands()
    done: list[Done] = []
    for step in steps:
        print(f"{step.name:<11} up to {step.limit_seconds / MINUTE:.0f} min ... ", end="", flush=True)
        try:
            done.append(work(step, raw, environ, lambda name: name in known))
        except KeyboardInterrupt:
            print("interrupted")
            return done, False
        one = done[-1]
        print(f"{one.outcome.value} ({one.seconds:.0f} s){'; ' if one.note else ''}{one.note}", flush=True)
    return done, True


def _commands() -> set[str]:
    """The commands that this Pool has, by its own help."""
    asked = [*this_python(), "pool", "--help"]
    said = subprocess.run(asked, capture_output=True, text=True, timeout=HELP_SECONDS, check=False).stdout
    return {words[1] for line in said.splitlines() if (words := line.split())[:1] == ["pool"] and len(words) > 1}


def _redactor(settings: Settings, environ: Mapping[str, str]) -> Redactor:
    headers = [value for _, value in settings.headers]
    return redactor(
        environ,
        secrets=[settings.api_key, *headers],
        urls=[settings.base_url],
        hosts=[socket.gethostname(), socket.getfqdn(), platform.node()],
        home=str(home()),
    )


def _write(folder: Path, raw: Path, done: Sequence[Done], out: Redactor) -> None:
    """Write every output through the redactor, and the page that tells of them. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in sorted(raw.iterdir()):
        text = out.text(file.read_text(encoding="utf-8", errors="replace"))
        if text.strip():
            (folder / file.name).write_text(text, encoding="utf-8")
    machine = out.text(_machine())
    noted = [replace(one, note=out.text(one.note)) for one in done]
    (folder / "README.md").write_text(_page(noted, machine, out.words), encoding="utf-8")


def _page(done: Sequence[Done], machine: str, taken: Sequence[str]) -> str:
    rows: list[str] = []
    for one in done:
        file = "" if one.outcome is Outcome.SKIPPED else one.step.file
        rows.append(f"| {one.step.name} | {one.outcome.value} | {one.seconds:.0f} s | {file} | {one.note} |")
    lines = [
        f"# Pool {__version__} on an owner's machine",
        "",
        f"Made by `make spark` on {time.strftime('%Y-%m-%d')}.",
        "",
        "| step | outcome | time | file | |",
        "|---|---|---|---|---|",
        *rows,
        "",
        "## Machine",
        "",
        "```",
        machine,
        "```",
        "",
        "## Taken out",
        "",
        "Keys, names of hosts and people, addresses and paths of the home stand here as `[key]`, `[host]`, `[user]`, "
        "`[mail]`, `[address]`, `[card]` and `[home]`:",
        "",
        *(f"- {words}" for words in taken),
        "",
    ]
    return "\n".join(lines)


def _machine() -> str:
    """What the machine is: system, processor, memory, graphics."""
    told = [f"{platform.system()} {platform.release()} {platform.machine()}", f"Python {platform.python_version()}"]
    told.append(f"{os.cpu_count()} processors")
    if shutil.which("nvidia-smi"):
        query = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"]
        try:
            asked = subprocess.run(query, capture_output=True, text=True, timeout=QUERY_SECONDS, check=False)
            told.append(asked.stdout.strip())
        except (OSError, subprocess.TimeoutExpired):
            told.append("nvidia-smi does not answer")
    return "\n".join(line for line in told if line)
