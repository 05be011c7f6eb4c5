"""Write all wheels that a machine without a network needs into dist/, for x86_64 and aarch64, and try them.

usage: python -m release.bundle [--python 3.12 ...] [--machine aarch64 ...] [--extra mcp ...]

The wheel of Pool must be in dist/ already (make wheel). The result is one folder for all targets: pip takes what fits.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from release.parts import EXTRAS, PYTHONS, ROOT
from release.sbom import version
from release.wheel import digest
from release.wheelhouse import Target, missing

MACHINES = ("x86_64", "aarch64")
ROUNDS = 4
"""pip judges markers by the Python that runs it, so what other Pythons need too is asked for in further rounds."""

NO_NETWORK = ("unshare", "--user", "--map-root-user", "--net")
"""Runs a command in a network of its own, in which there is nothing."""

README = """\
Pool {version}, and all that it needs, for {machines}; Python {pythons}.

Copy this folder to the machine, and install from it without a network:

    python3 -m venv pool-venv
    pool-venv/bin/pip install --no-index -f . 'laguna-pool{extras}'
    pool-venv/bin/pool --version

pip takes the wheels that fit the machine. SHA256SUMS is for: sha256sum --check --quiet SHA256SUMS
"""


def parser() -> argparse.ArgumentParser:
    """The flags."""
    p = argparse.ArgumentParser(prog="python -m release.bundle", description="Write a wheelhouse into dist/.")
    p.add_argument("--python", action="append", choices=PYTHONS, help="a Python to have wheels for (default: all)")
    p.add_argument("--machine", action="append", choices=MACHINES, help="a processor (default: all)")
    p.add_argument("--extra", action="append", choices=EXTRAS, help="an extra to have too (default: none)")
    return p


def main(argv: Sequence[str]) -> int:
    """Make the folder; the exit code."""
    args = parser().parse_args(list(argv))
    pythons, machines, extras = args.python or PYTHONS, args.machine or MACHINES, sorted(set(args.extra or ()))
    wheel = ROOT / "dist" / f"laguna_pool-{version()}-py3-none-any.whl"
    if not wheel.is_file():
        sys.stderr.write(f"{wheel} is not there: make wheel\n")
        return 1
    folder = ROOT / "dist" / f"laguna-pool-{version()}-wheelhouse"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shutil.copy(wheel, folder)
    named = f"[{','.join(extras)}]" if extras else ""
    for target in [Target(python, machine) for python in pythons for machine in machines]:
        print(f"Python {target.python} on {target.machine} ...", flush=True)
        if lacking := fill(folder, f"laguna-pool{named}=={version()}", target):
            sys.stderr.write(f"no wheels to be had for {target.machine}, {target.python}: {', '.join(lacking)}\n")
            return 1
    text = README.format(version=version(), machines=", ".join(machines), pythons=", ".join(pythons), extras=named)
    (folder / "README.txt").write_text(text, encoding="utf-8")
    wheels = sorted(folder.glob("*.whl"))
    (folder / "SHA256SUMS").write_text("".join(f"{digest(one)}  {one.name}\n" for one in wheels), encoding="utf-8")
    size = sum(one.stat().st_size for one in wheels) // 1_000_000
    print(f"{os.path.relpath(folder)}: {len(wheels)} wheels, {size} MB; README.txt there says how to install")
    return try_it(folder, named, pythons, machines)


def fill(folder: Path, wanted: str, target: Target) -> list[str]:
    """Fetch what a target lacks; what is not to be had after that. Raises CalledProcessError where pip fails."""
    lacking = missing(folder, [wanted], target)
    for _ in range(ROUNDS):
        if not lacking:
            break
        _download(folder, [wanted, *(text.partition(" (for ")[0] for text in lacking)], target)
        lacking = missing(folder, [wanted], target)
    return lacking


def _download(folder: Path, requirements: Iterable[str], target: Target) -> None:
    platforms = [word for name in target.platforms for word in ("--platform", name)]
    words = [sys.executable, "-m", "pip", "download", "--quiet", "--dest", str(folder), "-f", str(folder)]
    words += ["--only-binary", ":all:", "--python-version", target.python, "--implementation", "cp", *platforms]
    subprocess.run([*words, *dict.fromkeys(requirements)], check=True)


def try_it(folder: Path, extras: str, pythons: Sequence[str], machines: Sequence[str]) -> int:
    """Install from the folder here, with the network off where the system lets us; the exit code."""
    here = f"{sys.version_info[0]}.{sys.version_info[1]}"
    if here not in pythons or platform.machine() not in machines:
        print(f"not tried: this is Python {here} on {platform.machine()}")
        return 0
    off = subprocess.run([*NO_NETWORK, "true"], capture_output=True, check=False) if shutil.which("unshare") else None
    lead = NO_NETWORK if off is not None and off.returncode == 0 else ()
    with tempfile.TemporaryDirectory(prefix="pool-bundle-") as place:
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        pip = [f"{place}/bin/python", "-m", "pip", "install", "--quiet", "--no-index", "-f", str(folder)]
        done = subprocess.run([*lead, *pip, f"laguna-pool{extras}"], check=False).returncode
        done = done or subprocess.run([*lead, f"{place}/bin/pool", "--version"], check=False).returncode
    print(f"installing from it {'failed' if done else 'works'}" + (", with no network" if lead else ""))
    return done


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
