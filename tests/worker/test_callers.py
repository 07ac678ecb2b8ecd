"""Who calls receivers: each call reports its end, whatever becomes of it.

What threads report to one that works them off in batches.
"""

import logging
import threading
from collections.abc import Callable, Iterator

import pytest

from relayboard.base.tracing import causes
from testbed.patience import PATIENCE_SECONDS
from worker.dispatcher import Callers, Finished, LoopCallers, Mailbox, ThreadCallers
from worker.http.safe_http import SafeHttp

Call = Callable[[str], tuple[str, bool]]


@pytest.fixture
def http() -> Iterator[SafeHttp]:
    made = SafeHttp()
    yield made
    made.close()


@pytest.fixture(params=["threads", "loop"])
def make(request, http) -> Callable[[Call], Callers[str, str]]:
    def make(call: Call) -> Callers[str, str]:
        if request.param == "threads":
            return ThreadCallers("calls", 4, call)

        async def call_in_loop(item: str) -> tuple[str, bool]:
            return call(item)

        return LoopCallers("calls", http, call_in_loop)

    return make


def ended(callers: Callers[str, str], *items: str) -> dict[str, Finished[str, str]]:
    mailbox: Mailbox[Finished[str, str]] = Mailbox()
    callers.begin([("receiver", item) for item in items], ("cause",), mailbox.put)
    found = mailbox.take(len(items), enough=len(items), seconds=PATIENCE_SECONDS)
    callers.end()
    return {each.item: each for each in found}


def test_results_are_reported_with_what_caused_them(make):
    found = ended(make(lambda item: (f"{item} {causes()}", item == "a")), "a", "b")

    assert found == {
        "a": Finished("a", "receiver", "a ('cause',)", has_answered=True),
        "b": Finished("b", "receiver", "b ('cause',)", has_answered=False),
    }
    assert causes() == ()


def test_a_call_that_fails_inside_the_service_is_logged_and_reported_without_a_result(make, caplog):
    def call(item: str) -> tuple[str, bool]:
        if item == "wrong":
            raise ValueError(item)
        return item, True

    with caplog.at_level(logging.ERROR):
        found = ended(make(call), "wrong", "right")

    assert (found["wrong"].result, found["wrong"].has_answered) == (None, False)
    assert found["right"].result == "right"
    assert "calls: a call failed inside the service" in caplog.text


def test_calls_of_the_loop_share_one_thread_and_those_of_threads_do_not(make, http):
    barrier = threading.Barrier(2)

    def call(item: str) -> tuple[str, bool]:
        if isinstance(callers, ThreadCallers):
            barrier.wait(PATIENCE_SECONDS)
        return threading.current_thread().name, True

    callers = make(call)
    names = {each.result for each in ended(callers, "a", "b").values()}

    assert len(names) == (2 if isinstance(callers, ThreadCallers) else 1)


def test_what_came_first_is_taken_first_and_no_more_than_asked_for() -> None:
    mailbox: Mailbox[int] = Mailbox()
    for number in range(5):
        mailbox.put(number)

    assert len(mailbox) == 5
    assert mailbox.take(3, enough=5, seconds=PATIENCE_SECONDS) == [0, 1, 2]
    assert mailbox.take(3, enough=0, seconds=PATIENCE_SECONDS) == [3, 4]
    assert mailbox.take(3, enough=0, seconds=PATIENCE_SECONDS) == []


def test_whoever_waits_goes_on_with_the_first_one_and_takes_with_enough() -> None:
    mailbox: Mailbox[int] = Mailbox()
    taken: list[list[int]] = []
    has_begun = threading.Event()

    def work() -> None:
        mailbox.wait(PATIENCE_SECONDS)
        has_begun.set()
        taken.append(mailbox.take(9, enough=3, seconds=PATIENCE_SECONDS))

    thread = threading.Thread(target=work)
    thread.start()
    mailbox.put(1)
    assert has_begun.wait(PATIENCE_SECONDS)
    mailbox.put(2)
    mailbox.put(3)
    thread.join(PATIENCE_SECONDS)
    assert taken == [[1, 2, 3]]


def test_when_the_time_is_over_there_is_what_there_is() -> None:
    mailbox: Mailbox[int] = Mailbox()
    mailbox.wait(0.01)
    mailbox.put(1)

    assert mailbox.take(9, enough=2, seconds=0.01) == [1]
