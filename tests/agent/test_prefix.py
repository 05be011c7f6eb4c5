"""The watch on the prompt's prefix: what is a break, and what it is called."""

from __future__ import annotations

from pool.agent.prefix import PrefixWatch
from pool.events import Usage

HEAD = '{"model":"m"}'


def test_growth_is_no_break() -> None:
    watch = PrefixWatch()
    for messages in ([b"s", b"u"], [b"s", b"u", b"a", b"t"], [b"s", b"u", b"a", b"t2"]):
        assert watch.request(messages, HEAD).broken == ""
    assert (watch.requests, watch.breaks, watch.unannounced) == (3, 0, 0)


def test_a_break_names_its_place_or_its_cause() -> None:
    watch = PrefixWatch()
    watch.request([b"s", b"u", b"a", b"t"], HEAD)
    report = watch.request([b"s", b"U", b"a", b"t"], HEAD)
    assert (report.kept, report.broken) == (1, "message 2 of 4 was changed")
    watch.announce("compaction")
    assert watch.request([b"s", b"u", b"a"], HEAD).broken == "compaction"
    assert watch.request([b"s", b"x", b"y"], HEAD).broken == "message 2 of 3 was changed"
    assert (watch.breaks, watch.unannounced) == (3, 2)


def test_a_changed_head_breaks_all() -> None:
    watch = PrefixWatch()
    watch.request([b"s", b"u"], HEAD)
    assert watch.request([b"s", b"u", b"a"], "{}", "thinking is off for one reply").broken.startswith("thinking")
    report = watch.request([b"s", b"u", b"a"], HEAD)
    assert (report.kept, report.broken) == (0, "the request's head was changed")


def test_a_server_that_lost_its_cache_is_named() -> None:
    watch = PrefixWatch()
    report = watch.request([b"s", b"u"], HEAD)
    assert watch.usage(Usage(prompt=4000, cached=0), report) == ""
    report = watch.request([b"s", b"u", b"a"], HEAD)
    assert watch.usage(Usage(prompt=4200, cached=3900), report) == ""
    report = watch.request([b"s", b"u", b"a", b"t"], HEAD)
    assert "only 0 of 4,200 tokens cached" in watch.usage(Usage(prompt=4300, cached=0), report)


def test_a_reply_cut_short_says_nothing_of_the_cache() -> None:
    watch = PrefixWatch()
    report = watch.request([b"s", b"u"], HEAD)
    assert watch.usage(Usage(prompt=4000, cached=3900), report) == ""
    report = watch.request([b"s", b"u", b"a"], HEAD)
    assert watch.usage(Usage(prompt=4200, cached=0), report, whole=False) == ""
    report = watch.request([b"s", b"u", b"a", b"t"], HEAD)
    assert "only 0 of 4,200 tokens cached" in watch.usage(Usage(prompt=4300, cached=0), report)
