"""The commands of docs/scale.md, with the programs that they are for."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pool.sim.process import running
from pool.sim.settings import SimSettings

PAGE = Path(__file__).parents[2] / "docs" / "scale.md"
LIMIT_SECONDS = 50


def command(program: str) -> str:
    """The first block of the page that calls the program."""
    blocks = re.findall(r"```sh\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    return next(block for block in blocks if re.search(rf"^(?:srun )?{program} ", block, re.MULTILINE))


def test_the_slurm_script_is_a_shell_script_whose_steps_get_the_signal() -> None:
    script = command("srun")
    done = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, timeout=LIMIT_SECONDS)
    assert (done.returncode, done.stderr) == (0, "")
    assert "--signal=TERM@" in script


@pytest.mark.skipif(shutil.which("parallel") is None, reason="GNU parallel is not installed")
def test_gnu_parallel_works_again_what_failed(tmp_path: Path) -> None:
    place, shop = tmp_path / "bin", tmp_path / "src" / "shop"
    place.mkdir()
    shop.mkdir(parents=True)
    (tmp_path / "out").mkdir()
    flags = "--sandbox off --mode allow-all --wait-server 0"
    (place / "pool").write_text(f'#!/bin/sh\nexec {sys.executable} -m pool "$@" {flags}\n')
    (place / "pool").chmod(0o755)
    for words in (
        ["init", "-q"],
        ["-c", "user.name=A", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x"],
    ):
        subprocess.run(["git", *words], cwd=shop, check=True)
    (tmp_path / "prompts.txt").write_text("What are you?\nDo you work?\n")
    line = command("parallel").replace("~/", f"{tmp_path}/")

    def done(url: str) -> list[str]:
        """Work what is to be worked; the exit codes in the log."""
        env = {**os.environ, "PATH": f"{place}:{os.environ['PATH']}", "POOL_BASE_URL": url}
        subprocess.run(["bash", "-c", line], cwd=tmp_path, env=env, capture_output=True, timeout=LIMIT_SECONDS)
        return [row.split("\t")[6] for row in (tmp_path / "jobs.log").read_text().splitlines()[1:]]

    assert done("http://127.0.0.1:9") == ["75", "75"]
    with running(SimSettings(port=0)) as sim:
        assert done(sim.url) == ["75", "75", "0", "0"]
    results = [json.loads(path.read_text()) for path in (tmp_path / "out").rglob("stdout")]
    assert [result["reason"] for result in results] == ["completed", "completed"]
