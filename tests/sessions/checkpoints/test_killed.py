"""kill -9 at any moment of a call or an undo: every file is whole, and everything can still be brought back."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from pool.sessions.checkpoints.undo import carry_out, plan_undo
from tests.sessions.checkpoints.repos import act, checkpoints, repository, tree

ROUNDS = 4
FILES = 60

WORKER = """
import sys
from pathlib import Path
from pool.sessions.checkpoints.checkpoints import Checkpoints
made = Checkpoints(Path(sys.argv[1]), Path(sys.argv[2]))
root = Path(sys.argv[2])
print("open", flush=True)
for n in range(1000):
    made.before("r1", n, "c")
    for k in range(n % 7, 60, 3):
        (root / f"f{k}").write_text(f"changed {n}\\n" * 40)
    (root / f"new{n % 5}").write_text("new\\n")
    if n % 4 == 0:
        (root / f"f{n % 60}").unlink(missing_ok=True)
    made.after()
    print(n, flush=True)
"""

UNDOER = """
import sys
from pathlib import Path
from pool.sessions.checkpoints.checkpoints import Checkpoints
from pool.sessions.checkpoints.undo import carry_out, plan_undo
made = Checkpoints(Path(sys.argv[1]), Path(sys.argv[2]))
plan = plan_undo(made, ["r1"])
print("planned", flush=True)
carry_out(made, plan)
"""


def killed(script: str, state: Path, root: Path, seconds: float) -> None:
    """Run a script and kill it so many seconds after its first line."""
    args = [sys.executable, "-c", script, str(state / "checkpoints" / "s1"), str(root)]
    process = subprocess.Popen(args, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline()
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    process.communicate()


def test_a_call_that_is_killed_can_be_undone(tmp_path: Path) -> None:
    state = tmp_path / "state" / "pool"
    root = repository(tmp_path / "r", **{f"f{n}": f"{n}\n" for n in range(FILES)})
    (root / "dirty").write_text("untracked\n")
    before = tree(root)
    chance = random.Random(7)
    for _ in range(ROUNDS):
        killed(WORKER, state, root, chance.uniform(0, 0.15))
        with checkpoints(state, root) as made:
            done = carry_out(made, plan_undo(made, ["r1"]))
            assert not done.failures
        assert tree(root) == before


def test_an_undo_that_is_killed_leaves_whole_files_and_can_go_on(tmp_path: Path) -> None:
    state = tmp_path / "state" / "pool"
    root = repository(tmp_path / "r", **{f"f{n}": f"{n}\n" * 2000 for n in range(FILES)})
    before = tree(root)
    chance = random.Random(3)
    cut = 0
    for round_ in range(ROUNDS):
        with checkpoints(state, root) as made:
            act(made, "r1", lambda n=round_: [(root / f"f{k}").write_text(f"{n} agent\n" * 2000) for k in range(FILES)])
        after = tree(root)
        killed(UNDOER, state, root, chance.uniform(0, 0.12))
        halfway = {name: state_ for name, state_ in tree(root).items() if not name.startswith(".pool-undo-")}
        assert all(halfway[name] in (before[name], after[name]) for name in halfway)
        assert halfway.keys() == before.keys()
        with checkpoints(state, root) as made:
            made.begin()
            cut += bool(made.notes)
            assert not [name for name in tree(root) if name.startswith(".pool-undo-")]
            assert not carry_out(made, plan_undo(made, ["r1"])).failures
        assert tree(root) == before
    assert cut
