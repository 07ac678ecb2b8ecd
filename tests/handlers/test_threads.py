"""Work in threads: its result, what it raises, its context, and the end of threads that have nothing to do."""

import asyncio
import threading
from contextvars import ContextVar

import anyio
import pytest

from handlers import threads
from handlers.lanes import Lane
from handlers.threads import Threads
from testbed.patience import PATIENCE_SECONDS

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
