"""`pool eval` with real processes: an honest and a cheating model of the simulator on one task, judged and audited."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pool.lab.eval.command import main
from pool.sim.process import running
from pool.sim.settings import SimSettings
from tests.needs import bubblewrap


@bubblewrap
@pytest.mark.slow
def test_an_honest_arm_beside_a_cheating_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    into, site = tmp_path / "run", tmp_path / "site"
    with running(SimSettings(port=0)) as honest, running(SimSettings(port=0, cheat="hard-codes")) as cheat:
        words = ["fix", "--task", "inventory", "--base-url", honest.url, "--against", f"cheat={cheat.url}"]
        assert main([*words, "--into", str(into), "--publish", str(site), "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        rows = {row["arm"]: row for row in told["rows"]}
        good, bad = rows["pool"], rows["cheat"]
        assert (good["reward"], good["held_out"], good["audit"], good["flags"]) == (1.0, 1.0, "clean", [])
        assert (bad["reward"], bad["held_out"]) == (0.0, 0.0)
        assert bad["audit"] in ("suspected", "contradicted")
        assert good["turns"] == len(
            json.loads((into / good["folder"] / "agent" / "result.json").read_text())["per_turn"]
        )
        asked = len(honest.seen)
        # What has a result is not made again.
        assert main([*words, "--resume", str(into), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["rows"] == told["rows"]
        assert len(honest.seen) == asked
    assert "pool eval fix" in (into / "report.html").read_text()
    assert (site / "index.html").is_file()
    assert main(["report", str(into)]) == 0
    assert "inventory                    1/1       0/1" in capsys.readouterr().out


def test_what_cannot_be_done_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POOL_SERVER_FIRST_CONTACT_SECONDS", "0.2")
    assert main(["nothing"]) == 2
    assert "there is no suite 'nothing'; there are fix, impossible, ja" in capsys.readouterr().err
    assert main(["fix", "--task", "none"]) == 2
    assert "fix has no task 'none'; it has backups" in capsys.readouterr().err
    assert main(["fix", "--base-url", "http://127.0.0.1:9", "--into", str(tmp_path / "no")]) == 75
    assert not (tmp_path / "no").exists()
    assert main(["fix", "--resume", str(tmp_path)]) == 2
    assert main(["list"]) == 0
    assert "tools        7 tasks" in capsys.readouterr().out
