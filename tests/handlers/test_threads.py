"""Work in threads: its result, what it raises, its context, and the end of threads that have nothing to do.

Writing requests: those of one workspace leave a thread to others, whoever sends them.

Reading requests: a large one delays only itself.
"""

import asyncio
import threading
from collections.abc import Callable
from contextvars import ContextVar

import anyio
import pytest
from sqlalchemy import select, text

from handlers import threads
from handlers.app import POSTGRES_THREADS
from handlers.asgi.plain_responses import Refusal
from handlers.threads import PHONES_KEPT, WAITING_SLOW, Lane, ReadLanes, Threads, WriteLanes
from persistence.tables.channels import channel
from persistence.tables.service import workspace_clock
from persistence.workspaces.writes import create_workspace
from testbed.gateways import SECRET, add_gateway
from testbed.patience import PATIENCE_SECONDS
from testbed.running import wait_until
from testbed.tokens import make_token
from tests.api import Api
from tests.handlers.held import Held, until
from tests.phones import claimed_phone

NAME: ContextVar[str] = ContextVar("name", default="nobody")


def test_the_result_comes_from_another_thread_with_the_context_of_the_caller() -> None:
    async def scene() -> None:
        NAME.set("Ann")
        found = await Threads().run(lambda: (NAME.get(), threading.get_ident()), Lane(1))
        assert found[0] == "Ann"
        assert found[1] != threading.get_ident()

    anyio.run(scene)


@pytest.mark.parametrize("error", [ValueError("no"), StopIteration("odd")])
def test_what_work_raises_is_raised_to_who_waits(error: Exception) -> None:
    async def scene() -> None:
        pool, limiter = Threads(), Lane(1)

        def fail() -> None:
            raise error

        with pytest.raises((ValueError, RuntimeError)) as raised:
            await pool.run(fail, limiter)
        assert error in (raised.value, raised.value.__cause__)
        assert limiter.busy == 0
        assert await pool.run(lambda: "next", limiter) == "next"

    anyio.run(scene)


def test_no_more_run_at_a_time_than_the_limiter_allows() -> None:
    async def scene() -> None:
        pool, limiter, lock, counts = Threads(), Lane(2), threading.Lock(), [0, 0]
        together = threading.Barrier(2)

        def work() -> None:
            with lock:
                counts[0] += 1
                counts[1] = max(counts)
            together.wait(PATIENCE_SECONDS)
            with lock:
                counts[0] -= 1

        async with anyio.create_task_group() as tasks:
            for _ in range(6):
                tasks.start_soon(pool.run, work, limiter)
        assert counts == [0, 2]

    anyio.run(scene)


def test_who_is_cancelled_waits_for_the_end_of_the_work() -> None:
    async def scene() -> None:
        begun, go_on, ended = threading.Event(), threading.Event(), threading.Event()

        def work() -> None:
            begun.set()
            assert go_on.wait(PATIENCE_SECONDS)
            ended.set()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(Threads().run, work, Lane(1))
            with anyio.fail_after(PATIENCE_SECONDS):
                while not begun.is_set():
                    await anyio.sleep(0.001)
            tasks.cancel_scope.cancel()
            go_on.set()
        assert ended.is_set()

    anyio.run(scene)


def test_who_is_cancelled_again_and_again_waits_all_the_same() -> None:
    async def scene() -> None:
        begun, go_on, ended = threading.Event(), threading.Event(), threading.Event()
        limiter = Lane(1)

        def work() -> None:
            begun.set()
            assert go_on.wait(PATIENCE_SECONDS)
            ended.set()

        task = asyncio.create_task(Threads().run(work, limiter))
        with anyio.fail_after(PATIENCE_SECONDS):
            while not begun.is_set():
                await anyio.sleep(0.001)
        for _ in range(3):
            task.cancel()
            await asyncio.sleep(0)
        assert not task.done()
        assert limiter.busy == 1
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended.is_set()
        assert limiter.busy == 0

    asyncio.run(scene())


def test_threads_without_work_end_and_new_ones_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "IDLE_SECONDS", 0.01)

    async def scene() -> None:
        pool, limiter = Threads(), Lane(1)
        for _ in range(3):
            thread = await pool.run(threading.current_thread, limiter)
            thread.join(PATIENCE_SECONDS)
            assert not thread.is_alive()

    anyio.run(scene)


THREADS = 4


def test_one_thread_is_left_to_others_whatever_a_workspace_writes() -> None:
    async def scene() -> None:
        lanes, limiter, held = WriteLanes(THREADS, Threads()), Lane(THREADS), Held()
        async with anyio.create_task_group() as tasks:
            for _ in range(10):
                tasks.start_soon(lanes.run, 1, limiter, held)
            await until(lambda: held.begun == THREADS - 1)
            with anyio.fail_after(PATIENCE_SECONDS):
                assert await lanes.run(2, limiter, lambda: "at once") == "at once"
            held.go_on.set()
        assert (held.begun, held.most) == (10, THREADS - 1)

    anyio.run(scene)


def test_a_phone_waits_with_the_workspace_in_which_it_was_seen_last() -> None:
    lanes = WriteLanes(THREADS, Threads())

    assert lanes.owner_of("7") == "7"
    for workspace_id in (1, 2):
        lanes.note_phone("7", workspace_id)
        assert lanes.owner_of("7") == workspace_id
    for number in range(PHONES_KEPT):
        lanes.note_phone(f"other {number}", 3)
    assert lanes.owner_of("7") == "7", "it is asked for its workspace again"


def by_token(api: Api) -> Callable[[int], int]:
    return lambda number: api.post("/api/v2/contacts.json", {"name": f"Contact {number}"}).status_code


def by_gateway(api: Api) -> Callable[[int], int]:
    channel_id = add_gateway(api.database, api.workspace, "https://gateway.example.org/")
    with api.database.reading() as tx:
        uuid = tx.execute(select(channel.c.uuid).where(channel.c.id == channel_id)).scalar_one()
    url = f"/c/ex/{uuid}/{SECRET}/receive"
    return lambda number: api.client.post(url, data={"from": f"+25078{number:07}", "text": "Hi"}).status_code


def by_phone(api: Api) -> Callable[[int], int]:
    phones = [claimed_phone(api, number=f"+25078812{number:04}") for number in range(2 * POSTGRES_THREADS)]

    def sync(number: int) -> int:
        phones[number].receive_sms(f"+25078{number:07}", "Hi")
        phones[number].sync()
        return 200

    for number in range(len(phones)):
        sync(number)
    return sync


def count_blocked(api: Api) -> int:
    mine = text("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")
    with api.database.reading() as tx:
        return int(tx.execute(mine).scalar_one())


@pytest.mark.parametrize("writer", [by_token, by_gateway, by_phone])
def test_writes_that_wait_for_the_clock_of_their_workspace_do_not_keep_others_waiting(
    api: Api, writer: Callable[[Api], Callable[[int], int]]
) -> None:
    write = writer(api)
    assert write(0) // 100 == 2, "which begins the clock"
    with api.database.writing() as tx:
        other = create_workspace(tx, "Other", country="RW", timezone="Africa/Kigali")
    neighbor = api.with_token(make_token(api.database, other, "administrator"))
    statuses: list[int] = []

    def note(number: int) -> None:
        statuses.append(write(number))

    threads = [threading.Thread(target=note, args=(number,)) for number in range(2 * POSTGRES_THREADS)]

    with api.database.writing() as tx:
        if not api.database.sqlite:  # where one writes at a time, in all workspaces
            mine = workspace_clock.c.workspace_id == api.workspace.id
            tx.execute(select(workspace_clock).where(mine).with_for_update())
            for thread in threads:
                thread.start()
            wait_until(lambda: count_blocked(api) == POSTGRES_THREADS - 1, "all that may to wait for the clock")
            assert [neighbor.post("/api/v2/contacts.json", {"name": "Eve"}).status_code for _ in range(5)] == [201] * 5
            assert statuses == []
    for thread in threads:
        if api.database.sqlite:
            thread.start()
        thread.join(PATIENCE_SECONDS)

    assert len(statuses) == len(threads) and {status // 100 for status in statuses} == {2}


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
            monkeypatch.setattr(threads, "SLOW_SECONDS", slow_seconds)
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
