"""How many subagents a server has room for, and who waits for whom."""

from __future__ import annotations

import asyncio

import pytest

from pool.agent.subagents.serverroom import MOST_AT_ONCE, Places, Room, room_in
from pool.wire.dialects import ServerKind
from pool.wire.identify import Documents, ServerInfo, identify

VLLM = ServerInfo(ServerKind.VLLM)


def metrics(running: int, waiting: int, used: float | None = None) -> dict[str, float]:
    given = {"vllm:num_requests_running": float(running), "vllm:num_requests_waiting": float(waiting)}
    return given if used is None else {**given, "vllm:kv_cache_usage_perc": used}


@pytest.mark.parametrize(
    ("values", "slots", "at_once", "why"),
    [
        (metrics(1, 0, 0.2), 0, MOST_AT_ONCE, "none waits"),
        (metrics(1, 0), 2, 2, "none waits"),
        (metrics(3, 2, 0.2), 0, 1, "2 requests wait"),
        (metrics(1, 0, 0.8), 0, 1, "80% of the server's cache is used"),
        ({}, 0, 1, "does not say how busy"),
    ],
)
def test_room_of_a_batching_server(values: dict[str, float], slots: int, at_once: int, why: str) -> None:
    room = room_in(values, VLLM, slots)
    assert room.at_once == at_once
    assert why in room.why
    assert not room.evicts


@pytest.mark.parametrize(
    ("documents", "slots"),
    [
        ({"/props": {"total_slots": 3, "default_generation_settings": {}}}, 3),
        ({"/props": {"total_slots": "many"}}, 0),
        ({"/get_server_info": {"max_running_requests": 8, "max_total_num_tokens": 9}}, 8),
        ({}, 0),
    ],
)
def test_slots_are_what_the_server_says(documents: dict[str, object], slots: int) -> None:
    assert identify(Documents(documents), None, "", reachable=True).slots == slots


async def test_who_came_first_goes_first_and_room_is_looked_at_anew() -> None:
    room, order, told = 1, list[int](), list[str]()
    gates = [asyncio.Event() for _ in range(4)]

    async def look() -> Room:
        return Room(room, "so")

    places = Places(look)

    async def one(number: int) -> None:
        async with places.place(lambda found: told.append(f"{number} {found.why}")):
            order.append(number)
            await gates[number].wait()

    async def until(count: int) -> None:
        async with asyncio.timeout(10):
            while len(order) < count:
                await asyncio.sleep(0)

    running = [asyncio.create_task(one(number)) for number in range(4)]
    await until(1)
    assert order == [0]
    room = 3
    gates[0].set()
    await until(4)
    assert order == [0, 1, 2, 3]
    assert told[0] == "1 so"
    for gate in gates:
        gate.set()
    await asyncio.gather(*running)


async def test_a_number_that_is_set_counts_and_who_is_cancelled_leaves_its_place() -> None:
    async def look() -> Room:
        raise AssertionError("nobody is asked")

    places = Places(look, fixed=1)
    forever = asyncio.Event()

    async def one() -> None:
        async with places.place(lambda room: None):
            await forever.wait()

    first = asyncio.create_task(one())
    second = asyncio.create_task(one())
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    forever.set()
    await asyncio.wait_for(second, 10)
