"""Reading requests: a large one delays only itself."""

import anyio
import pytest

from handlers import read_lanes
from handlers.asgi.refusals import Refusal
from handlers.lanes import Lane
from handlers.read_lanes import WAITING_SLOW, ReadLanes
from testbed.patience import PATIENCE_SECONDS
from tests.handlers.held import Held, until

THREADS = 4


def is_slow(seen: bool) -> bool:
    return seen


def test_one_thread_is_left_to_others_whatever_a_workspace_asks() -> None:
    async def scene() -> None:
        lanes, limiter, held = ReadLanes(THREADS), Lane(THREADS), Held()
        async with anyio.create_task_group() as tasks:
            for _ in range(10):
                tasks.start_soon(lanes.run, 1, "listLabels", (), limiter, held)
            await until(lambda: held.begun == THREADS - 1)
            with anyio.fail_after(PATIENCE_SECONDS):
                assert await lanes.run(2, "listLabels", (), limiter, lambda _: "at once") == "at once"
            held.go_on.set()
        assert (held.begun, held.most) == (10, THREADS - 1)

    anyio.run(scene)


def test_searches_of_a_workspace_run_one_by_one_and_do_not_take_the_threads_of_others() -> None:
    async def scene() -> None:
        lanes, limiter, held = ReadLanes(THREADS), Lane(THREADS), Held()
        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(lanes.run, 1, "listMessages", {"text"}, limiter, held)
            await until(lambda: held.begun == 1)
            assert limiter.busy == 0
            with anyio.fail_after(PATIENCE_SECONDS):
                assert not await lanes.run(1, "listMessages", {"before"}, limiter, is_slow)
                assert await lanes.run(2, "listMessages", {"text"}, limiter, is_slow)
            held.go_on.set()
        assert (held.begun, held.most) == (5, 1)

    anyio.run(scene)


def test_what_was_slow_is_slow_until_it_was_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene() -> None:
        lanes, limiter = ReadLanes(THREADS), Lane(THREADS)
        seen = []
        for slow_seconds in (-1.0, -1.0, PATIENCE_SECONDS, PATIENCE_SECONDS):
            monkeypatch.setattr(read_lanes, "SLOW_SECONDS", slow_seconds)
            seen.append(await lanes.run(1, "listRuns", {"flow"}, limiter, is_slow))
        assert seen == [False, True, True, False]
        assert not await lanes.run(2, "listRuns", {"flow"}, limiter, is_slow), "others learn for themselves"

    anyio.run(scene)


def test_too_many_slow_requests_of_a_workspace_are_told_to_come_back() -> None:
    async def scene() -> None:
        lanes, limiter, held = ReadLanes(THREADS), Lane(THREADS), Held()
        async with anyio.create_task_group() as tasks:
            for _ in range(WAITING_SLOW + 1):
                tasks.start_soon(lanes.run, 1, "listMessages", {"text"}, limiter, held)
            await until(lambda: held.begun == 1)
            with pytest.raises(Refusal) as refusal:
                await lanes.run(1, "listMessages", {"text"}, limiter, held)
            held.go_on.set()
        assert (refusal.value.status, refusal.value.headers) == (503, {"Retry-After": "5"})

    anyio.run(scene)


def test_who_leaves_while_waiting_leaves_the_place_to_the_next() -> None:
    async def scene() -> None:
        lanes, limiter, held = ReadLanes(THREADS), Lane(THREADS), Held()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lanes.run, 1, "listMessages", {"text"}, limiter, held)
            await until(lambda: held.begun == 1)
            with anyio.move_on_after(0.01) as gone:
                await lanes.run(1, "listMessages", {"text"}, limiter, held)
            assert gone.cancelled_caught
            tasks.start_soon(lanes.run, 1, "listMessages", {"text"}, limiter, held)
            held.go_on.set()
        assert held.begun == 2

    anyio.run(scene)
