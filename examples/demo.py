"""`make demo`: Pool repairs the inventory program in a temporary folder, and everything it does is shown.

Without POOL_BASE_URL the simulated server is started on a free port: it speaks a real server's wire, and its "model" is
a rule-based program, no language model. With POOL_BASE_URL the same run goes to a real server. Exits non-zero unless
all tests pass in the end.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pool_tools.sandbox import NoSandbox, Policy
from pool_tools.sandbox.probe import probe

HERE = Path(__file__).resolve().parent
PROMPT = "Some tests of this program fail. Find out why, mend the program (not the tests), and run the tests again."
START_SECONDS = 20


def main() -> int:
    """Run the demo; returns its exit code."""
    parser = argparse.ArgumentParser(description="Let Pool repair a small broken program.")
    parser.add_argument("--seed", type=int, help="plant the bugs at other places, chosen by this number")
    parser.add_argument("--tokens-per-second", type=float, default=200, help="speed of the simulated server")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pool-demo-") as folder:
        return demo(Path(folder), args.seed, args.tokens_per_second)


def demo(folder: Path, seed: int | None, speed: float) -> int:
    """Copy the example, show its tests, let Pool work, show what changed and the tests again."""
    work, before = folder / "inventory", folder / "before"
    if seed is None:
        shutil.copytree(HERE / "inventory", work, ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache"))
    else:
        subprocess.run([sys.executable, HERE / "plant.py", "--seed", str(seed), work], check=True)
    shutil.copytree(work, before)
    title("The tests before")
    failed, passed = run_tests(work)
    title("Pool at work")
    with server(folder, speed) as env:
        code = run_pool(work, env)
    title("What it changed")
    show_diff(before, work)
    title("The tests after")
    failed_after, passed_after = run_tests(work)
    print(f"\nbefore: {failed} of {failed + passed} failing; after: {failed_after} failing, {passed_after} passing")
    print(f"exit code of pool run: {code}")
    return 0 if code == 0 and passed_after and not failed_after else 1


def title(text: str) -> None:
    print(f"\n=== {text}\n", flush=True)


def run_tests(work: Path) -> tuple[int, int]:
    """Run the example's tests; returns how many failed and passed."""
    command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider"]
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=work, env=env, capture_output=True, text=True, timeout=120)
    print(done.stdout.strip(), flush=True)
    counts = {word: int(n) for n, word in re.findall(r"(\d+) (failed|passed)", done.stdout)}
    return counts.get("failed", 0), counts.get("passed", 0)


@contextmanager
def server(folder: Path, speed: float) -> Iterator[dict[str, str]]:
    """The environment that points at a server: the user's own, or the simulator for the time of the run."""
    if os.environ.get("POOL_BASE_URL"):
        print(f"server: {os.environ['POOL_BASE_URL']} (POOL_BASE_URL)")
        yield {}
        return
    command = [sys.executable, "-m", "pool", "sim", "--port", "0", "--rate", str(speed)]
    log = folder / "sim.log"
    with log.open("w") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip().split()[-1:]
        if not url:
            raise SystemExit(f"the simulated server did not start:\n{log.read_text()}")
        print(f"server: {url[0]} (simulated; its answers come from rules, not from a language model)")
        yield {"POOL_BASE_URL": url[0]}
    finally:
        process.terminate()
        process.wait(START_SECONDS)


def run_pool(work: Path, env: dict[str, str]) -> int:
    """`pool run` on the folder. Commands run in the sandbox if there is one, else freely in the temporary folder."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    found = probe(Policy((work,)))
    confined = found.tier != NoSandbox.name
    mode = ["--mode", "auto" if confined else "allow-all"]
    if not confined:
        print(f"{found.reason}: commands run without a sandbox, in the temporary folder")
    command = [sys.executable, "-m", "pool", "run", "-v", "-C", str(work), *mode, PROMPT]
    done = subprocess.run(command, env={**os.environ, **env, "PATH": path}, stdout=subprocess.PIPE, text=True)
    return done.returncode


def show_diff(before: Path, after: Path) -> None:
    """A unified diff of all files that differ."""
    for file in sorted(p for p in after.rglob("*.py") if "__pycache__" not in p.parts):
        name = file.relative_to(after)
        old = before / name
        old_lines = old.read_text().splitlines(keepends=True) if old.exists() else []
        sys.stdout.writelines(
            difflib.unified_diff(old_lines, file.read_text().splitlines(keepends=True), f"a/{name}", f"b/{name}")
        )


if __name__ == "__main__":
    sys.exit(main())
