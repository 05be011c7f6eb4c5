"""Other agents' command lines on the same tasks: `pool eval --harness NAME`."""

from pool.lab.eval.harnesses.description import Harness, HarnessProblem, harness_named, harnesses
from pool.lab.eval.harnesses.working import HarnessRun, HarnessTask, run_harness

__all__ = ["Harness", "HarnessProblem", "HarnessRun", "HarnessTask", "harness_named", "harnesses", "run_harness"]
