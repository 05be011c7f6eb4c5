"""What one request and its reply leave behind: notices, and counts that can be true."""

from __future__ import annotations

from pathlib import Path

from pool.events import Notice, StopReason
from tests.cases.driver import DONE, delta, finish, play, say, usage


async def test_a_trace_that_cannot_be_written_is_told_once(tmp_path: Path) -> None:
    said = say(delta(content="Done."), finish("stop"), DONE)
    run, _ = await play(tmp_path / "w", said, trace=tmp_path / "typo" / "trace.jsonl")
    (notice,) = (n for n in run.of(Notice) if "trace" in n.text)
    assert notice.level == "warning"
    assert f"the folder {tmp_path / 'typo'} does not exist" in notice.text
    assert run.answer == "Done."
    assert not (tmp_path / "typo").exists()


async def test_a_count_that_cannot_be_true_is_replaced_by_an_estimate(tmp_path: Path) -> None:
    run, _ = await play(tmp_path, say(delta(content="Done."), finish("stop"), usage(2**39, 3), DONE))
    assert (run.reason, run.answer) == (StopReason.COMPLETED, "Done.")
    assert run.finished.usage.estimated
    assert 500 < run.finished.usage.prompt < 10_000
