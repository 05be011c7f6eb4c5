"""Build wheel and sdist into dist/, twice, and hold that both builds have the same bytes.

usage: python -m release.wheel [FOLDER]
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EPOCH = "SOURCE_DATE_EPOCH"
"""The time that all files in an archive get, in seconds since 1970 (https://reproducible-builds.org)."""


def build(folder: Path, root: Path = ROOT) -> list[Path]:
    """The wheel and the sdist of a checkout, made in folder; sorted. Raises SystemExit."""
    env = {**os.environ, EPOCH: os.environ.get(EPOCH) or commit_time(root)}
    words = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-t", "sdist", "-d", str(folder)]
    done = subprocess.run(words, cwd=root, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"hatchling failed:\n{done.stderr}")
    return sorted([*folder.glob("*.whl"), *folder.glob("*.tar.gz")])


def commit_time(root: Path) -> str:
    """When the last commit was made, in seconds since 1970; hatchling's own fixed time without a repository."""
    words = ["git", "-C", str(root), "log", "-1", "--format=%ct"]
    try:
        found = subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        found = ""
    return found or "1580601600"


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def main(argv: Sequence[str]) -> int:
    """Build, build again, compare; the exit code."""
    folder = Path(argv[0] if argv else ROOT / "dist").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for old in (*folder.glob("laguna_pool-*.whl"), *folder.glob("laguna_pool-*.tar.gz")):
        old.unlink()
    made = build(folder)
    with tempfile.TemporaryDirectory(prefix="pool-wheel-") as second:
        again = {path.name: digest(path) for path in build(Path(second))}
    for path in made:
        print(f"{digest(path)}  {os.path.relpath(path)}")
    different = [path.name for path in made if again.get(path.name) != digest(path)]
    if different:
        sys.stderr.write(f"a second build has other bytes: {', '.join(different)}; is a file changing meanwhile?\n")
        return 1
    print("a second build has the same bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
