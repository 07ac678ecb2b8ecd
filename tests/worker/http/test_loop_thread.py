"""A thread with an event loop."""

import asyncio
import threading

import pytest

from testbed.patience import PATIENCE_SECONDS
from testbed.running import wait_until
from worker.http.loop_thread import LoopThread


def test_work_is_done_at_a_time_and_its_end_is_told() -> None:
    thread = LoopThread("loop", at_end=lambda: None)
    meeting = asyncio.Event()

    async def wait() -> str:
        await meeting.wait()
        return threading.current_thread().name

    async def come() -> None:
        meeting.set()

    waiting = thread.ask(wait())
    thread.begin([come()])
    assert waiting.result(PATIENCE_SECONDS) == "loop"
    thread.end()


def test_an_error_is_told_to_whoever_asked() -> None:
    thread = LoopThread("loop", at_end=lambda: None)

    async def fail() -> None:
        raise KeyError("it")

    with pytest.raises(KeyError):
        thread.ask(fail()).result(PATIENCE_SECONDS)
    thread.end()


def test_it_ends_with_the_work_that_was_begun_and_says_so_before() -> None:
    told = threading.Event()
    thread = LoopThread("loop", at_end=told.set)
    meeting = asyncio.Event()

    async def wait() -> str:
        await meeting.wait()
        return "done"

    waiting = thread.ask(wait())
    thread.end()
    assert told.wait(PATIENCE_SECONDS) and thread.is_alive

    async def come() -> None:
        meeting.set()

    thread.begin([come()])
    assert waiting.result(PATIENCE_SECONDS) == "done"
    wait_until(lambda: not thread.is_alive, "the thread to end")
