import threading

from testbed.patience import PATIENCE_SECONDS
from worker.wake import Waker


class Queue:
    """Remembers what was sent; the first so many times it fails."""

    def __init__(self, failures=0):
        self.failures = failures
        self.sent = []
        self.changed = threading.Condition()

    def send(self, kind, _causes):
        with self.changed:
            self.sent.append(kind)
            self.changed.notify_all()
        if len(self.sent) <= self.failures:
            raise ConnectionError("the queue is down")

    def wait_for(self, count):
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.sent) >= count, PATIENCE_SECONDS)


def test_each_kind_is_sent():
    queue = Queue()
    waker = Waker(queue.send)
    waker.wake(frozenset({"webhooks", "sending"}))
    queue.wait_for(2)

    assert queue.sent == ["sending", "webhooks"]
    assert waker._thread.daemon


def test_wake_ups_that_come_together_are_sent_once_and_the_last_is_never_lost():
    queue = Queue()
    waker = Waker(queue.send, pause_seconds=0.2)
    waker.wake(frozenset({"webhooks"}))
    queue.wait_for(1)
    for _ in range(100):
        waker.wake(frozenset({"webhooks"}))
    waker.wake(frozenset({"sending"}))
    queue.wait_for(3)

    assert queue.sent == ["webhooks", "sending", "webhooks"]


def test_a_queue_that_is_down_does_not_reach_the_caller_and_is_tried_the_next_time(caplog):
    queue = Queue(failures=1)
    waker = Waker(queue.send)
    waker.wake(frozenset({"webhooks"}))
    queue.wait_for(1)
    waker.wake(frozenset({"webhooks"}))
    queue.wait_for(2)

    assert "workers of webhooks could not be woken" in caplog.text


def test_the_caller_does_not_wait_for_the_queue():
    blocked = threading.Event()
    waker = Waker(lambda *_told: blocked.wait(PATIENCE_SECONDS))

    waker.wake(frozenset({"webhooks"}))
    waker.wake(frozenset({"sending"}))

    assert not blocked.is_set()
    blocked.set()
