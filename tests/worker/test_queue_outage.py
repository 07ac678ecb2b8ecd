import signal
import threading

import pytest
from redis.exceptions import ConnectionError as RedisAway

from testbed.patience import PATIENCE_SECONDS
from tests.worker.conftest import redis_server
from worker.app import create_queue, declare_sweeps
from worker.jobs import Job
from worker.process import END_SIGNALS, GracefulConsumer


@pytest.fixture
def lost_queue():
    """A queue in a Redis server that has died."""
    with redis_server() as url:
        queue = create_queue(url)
        assert queue.pending_count() == 0
    return queue


def test_sweeps_go_on_while_the_queue_is_down(lost_queue, caplog):
    swept = threading.Semaphore(0)
    jobs = [Job("webhooks", lambda _: bool, every_seconds=1)]
    declare_sweeps(lost_queue, lambda kind: swept.release(), jobs)
    consumer = GracefulConsumer(lost_queue, workers=1)
    consumer._set_signal_handlers = lambda: None
    consumer.start()

    assert swept.acquire(timeout=PATIENCE_SECONDS) and swept.acquire(timeout=PATIENCE_SECONDS)

    consumer.stop(graceful=True)
    said = "the queue cannot be used; sweep_webhooks runs without it"
    told = [each for each in caplog.records if each.message == said]
    assert told and all(each.exc_info and each.exc_info[0] is RedisAway for each in told), "with the reason"


def test_a_sweep_that_still_runs_is_not_begun_again(lost_queue):
    begun, go_on = threading.Semaphore(0), threading.Event()

    def run(kind):
        begun.release()
        go_on.wait(PATIENCE_SECONDS)

    declare_sweeps(lost_queue, run, [Job("webhooks", lambda _: bool, every_seconds=0)])
    consumer = GracefulConsumer(lost_queue, workers=1)
    scheduler = consumer._create_scheduler()
    scheduler.enqueue_periodic_tasks()
    scheduler.enqueue_periodic_tasks()

    assert begun.acquire(timeout=PATIENCE_SECONDS)
    assert not begun.acquire(timeout=0.05)
    go_on.set()


def test_a_signal_that_came_too_early_ends_the_consumer_gracefully(tmp_path):
    consumer = GracefulConsumer(create_queue(f"sqlite:///{tmp_path / 'queue.db'}"), workers=1)
    assert consumer._signum is None
    consumer.early_signals = [signal.SIGTERM, signal.SIGTERM]
    before = {number: signal.getsignal(number) for number in END_SIGNALS}
    try:
        consumer._set_signal_handlers()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

    assert (consumer._signum, consumer._restart, consumer._graceful) == (signal.SIGTERM, False, True)
    assert not consumer.stop_flag.is_set()
