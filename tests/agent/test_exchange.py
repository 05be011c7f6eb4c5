"""What one request and its reply leave behind: notices, and counts that can be true."""

from __future__ import annotations

from pathlib import Path

from pool.events import Notice, StopReason, UsageReported
from tests.cases.driver import DONE, broken, delta, finish, play, refuse, say, usage


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


async def test_time_before_the_try_that_is_answered_counts_as_waiting(tmp_path: Path) -> None:
    """A full server, then a reply that breaks off: neither is time of reading or writing."""
    busy = refuse(429, "slow down", Retry_After="1")
    run, _ = await play(
        tmp_path, busy, broken("reset", delta(content="Do")), say(delta(content="Done."), finish("stop"), DONE)
    )
    (reported,) = run.of(UsageReported)
    assert run.answer == "Done."
    assert reported.waited_seconds >= 1.0
    assert 0 <= reported.first_token_seconds - reported.waited_seconds < reported.reply_seconds - 0.9
