"""The hub: logged before shown, every face from any point, and a slow face that never stalls the run."""

from __future__ import annotations

import asyncio

from pool.agent.hub import EventHub
from pool.events import ContentDelta, Event, GuardFired, Notice, ReasoningDelta, to_dict


class Log:
    def __init__(self) -> None:
        self.events: list[Event] = []

    def append(self, event: Event) -> None:
        self.events.append(event)


async def collected(hub: EventHub, after: int = -1) -> list[Event]:
    return [event async for event in hub.subscribe(after)]


async def test_durable_events_are_logged_and_deltas_are_not() -> None:
    log = Log()
    hub = EventHub("s", log)
    hub.emit(Notice("info", "one"))
    hub.emit(ContentDelta("x"))
    hub.emit(Notice("info", "two"))
    assert [e.envelope.seq for e in log.events] == [0, 2]
    assert all(isinstance(e.body, Notice) for e in log.events)


async def test_a_late_face_gets_what_was_durable_and_then_everything() -> None:
    hub = EventHub("s")
    hub.emit(Notice("info", "one"))
    hub.emit(ContentDelta("gone"))
    events = hub.subscribe()
    later = hub.subscribe(after=0)
    hub.emit(Notice("info", "two"))
    hub.close()
    assert [e.body async for e in events] == [Notice("info", "one"), Notice("info", "two")]
    assert [e.body async for e in later] == [Notice("info", "two")]


async def test_deltas_join_while_a_face_lags() -> None:
    hub = EventHub("s")
    events = hub.subscribe()
    for _ in range(10_000):
        hub.emit(ReasoningDelta("a"))
    hub.emit(ContentDelta("b"))
    hub.emit(GuardFired("g", "note", "d"))
    hub.emit(ContentDelta("c"))
    hub.close()
    assert [e.body async for e in events] == [
        ReasoningDelta("a" * 10_000),
        ContentDelta("b"),
        GuardFired("g", "note", "d"),
        ContentDelta("c"),
    ]


async def test_a_waiting_face_is_woken() -> None:
    hub = EventHub("s")
    task = asyncio.create_task(collected(hub))
    await asyncio.sleep(0)
    hub.emit(Notice("info", "one"))
    await asyncio.sleep(0)
    hub.close()
    assert [e.body for e in await asyncio.wait_for(task, 2)] == [Notice("info", "one")]


async def test_a_face_that_leaves_is_forgotten() -> None:
    hub = EventHub("s")
    hub.emit(Notice("info", "one"))
    async for _ in hub.subscribe():
        break
    await asyncio.sleep(0)
    hub.emit(Notice("info", "two"))
    hub.close()


def test_envelope_and_body_are_one_flat_object() -> None:
    hub = EventHub("session")
    hub.run, hub.turn = "run", 3
    row = to_dict(hub.emit(GuardFired("turns", "stop", "d"), call="c1"))
    assert row.pop("wall") > 1e9
    assert row.pop("mono") >= 0
    assert row == {
        "type": "guard.fired", "session": "session", "run": "run", "turn": 3, "seq": 0, "call": "c1", "v": 1,
        "guard": "turns", "action": "stop", "detail": "d", "cost": "",
    }  # fmt: skip
