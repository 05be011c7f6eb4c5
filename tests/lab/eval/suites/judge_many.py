"""A process that judges many trees and runs many tests, so that pytest is imported once: a job a line of its input.

A job is {"tests": folder of a task's tests, "app": tree, "logs": folder}, answered by {"figures": ..., "why": ...};
or {"run": tree}, answered by what `python -m pytest -q` says there, as {"said": text}.
"""

from __future__ import annotations

import gc
import importlib.util
import json
import os
import sys
import tempfile
from pathlib import Path
from types import ModuleType

COPIED = Path(__file__).resolve().parents[4] / "pool" / "lab" / "eval" / "copied"


def load(name: str) -> ModuleType:
    """A judge of the suites, loaded from its file."""
    spec = importlib.util.spec_from_file_location(f"copied_{name}", COPIED / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def visible_tests(tree: str) -> str:
    """What the tests of a tree say, run as their author would."""
    import pytest

    with tempfile.TemporaryFile() as said:
        child = os.fork()
        if not child:
            try:
                os.dup2(said.fileno(), 1)
                os.chdir(tree)
                os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
                sys.dont_write_bytecode = True
                pytest.main(["-q", "-p", "no:cacheprovider", "-p", "no:doctest", "-p", "no:logging", "--rootdir", tree])
                sys.stdout.flush()
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        said.seek(0)
        return said.read().decode(errors="replace")


def main() -> None:
    """Do jobs until standard input ends."""
    trees = load("trees")
    importlib.import_module("pytest")
    gc.freeze()
    for line in sys.stdin:
        job = json.loads(line)
        if "run" in job:
            print(json.dumps({"said": visible_tests(job["run"])}), flush=True)
            continue
        tests, app, logs = (Path(job[name]) for name in ("tests", "app", "logs"))
        settings = json.loads((tests / "judge.json").read_text(encoding="utf-8"))
        with tempfile.TemporaryDirectory() as folder:
            verdict = trees.judged(tests, app, logs, Path(folder), settings)
        print(json.dumps({"figures": verdict.figures, "why": verdict.why}), flush=True)


if __name__ == "__main__":
    main()
