"""How Pool was installed, and so how it is taken away."""

from __future__ import annotations

import importlib.util
import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from pool_tools.frozen import frozen
from pool_tools.text import visible

NAME = "laguna-pool"
REMOVE_SECONDS = 120.0


@frozen
class Program:
    """The installed program. remove are the words that take it away, none where that is not Pool's to do.

    note says for people what stays, or why nothing is done.
    """

    how: str
    remove: Sequence[str]
    note: str


def installed_program() -> Program:
    """What runs now."""
    prefix = Path(sys.prefix)
    try:
        found = distribution(NAME)
    except PackageNotFoundError:
        return Program("a folder", (), f"Pool runs from {_here()}, where no installer knows it; delete that folder")
    if _editable(found):
        what = f"Pool runs from the checkout {_here()}; delete it and the environment {prefix}"
        return Program("a checkout", (), what)
    if (prefix / "uv-receipt.toml").exists():
        return Program("uv tool", ("uv", "tool", "uninstall", NAME), "")
    if (prefix / "pipx_metadata.json").exists():
        return Program("pipx", ("pipx", "uninstall", NAME), "")
    stays = f"what it needed stays in {prefix}"
    stays += "; if that was made for Pool, delete it" if sys.prefix != sys.base_prefix else ""
    if importlib.util.find_spec("pip"):
        return Program("pip", (sys.executable, "-m", "pip", "uninstall", "--yes", NAME), stays)
    return Program("uv", ("uv", "pip", "uninstall", "--python", sys.executable, NAME), stays)


def remove_program(program: Program) -> str:
    """Take it away; what went wrong, "" if nothing did."""
    words = shlex.join(program.remove)
    if shutil.which(program.remove[0]) is None:
        return f"{program.remove[0]} is not on the search path; where it is: {words}"
    try:
        done = subprocess.run(
            program.remove, capture_output=True, text=True, timeout=REMOVE_SECONDS, check=False, cwd="/"
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{words}: {error}"
    if done.returncode:
        return f"{words} failed: {visible(' '.join(done.stderr.split())[-400:])}"
    return ""


def _editable(found: Distribution) -> bool:
    """Whether what is installed only leads to a checkout (PEP 610)."""
    try:
        return bool(json.loads(found.read_text("direct_url.json") or "{}").get("dir_info", {}).get("editable"))
    except ValueError:
        return False


def _here() -> Path:
    return Path(__file__).resolve().parents[3]
