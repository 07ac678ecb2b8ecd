"""What the queue's messages look like, and which are refused."""

import json
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest
from huey.registry import Message
from sqlalchemy.engine import make_url

from persistence.sql.engines import queue_dsn
from relayboard.base.tracing import MOST_CAUSES, causes
from testbed.patience import PATIENCE_SECONDS
from testbed.running import wait_until
from testbed.servers import postgres_database
from worker.app import (
    QUEUE_NAME,
    JsonMessages,
    NoMessage,
    TablesInTurn,
    Waker,
    create_queue,
    declare_others,
    declare_run,
    declare_sweeps,
)
from worker.jobs import JOBS, Job
from worker.process import GracefulConsumer
from worker.queue_drivers import load_postgresql


@pytest.fixture(params=["sqlite", "postgresql", "redis"])
def queue_url(request, tmp_path):
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'folder' / 'queue.db'}"
    elif request.param == "redis":
        yield request.getfixturevalue("redis_url")
    else:
        with postgres_database(request.getfixturevalue("postgres_url")) as url:
            yield url


@pytest.fixture
def consume():
    """Starts a consumer of a queue; all are stopped with the test."""
    consumers = []

    def start(queue):
        consumer = GracefulConsumer(queue, workers=1, initial_delay=0.01, max_delay=0.05)
        consumer._set_signal_handlers = lambda: None
        consumers.append(consumer)
        consumer.start()

    yield start
    for consumer in consumers:
        consumer.stop(graceful=True)


class Touch:
    """Makes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


class Ran:
    def __init__(self):
        self.kinds = []
        self.changed = threading.Condition()

    def __call__(self, kind):
        with self.changed:
            self.kinds.append(kind)
            self.changed.notify_all()

    def wait_for(self, count):
        with self.changed:
            return self.changed.wait_for(lambda: len(self.kinds) >= count, PATIENCE_SECONDS)


def test_what_one_process_wakes_another_works_on(queue_url, consume):
    ran = Ran()
    working = create_queue(queue_url)
    declare_run(working, ran)
    consume(working)

    declare_run(create_queue(queue_url), pytest.fail)("webhooks")

    assert ran.wait_for(1) and ran.kinds == ["webhooks"]


def test_messages_are_json_that_name_their_task(queue_url):
    queue = create_queue(queue_url)
    declare_run(queue, pytest.fail)("webhooks")
    declare_sweeps(queue, pytest.fail, [Job("often", lambda _: bool, every_seconds=7)])
    queue.enqueue(queue.read_periodic(None)[0])

    read = [json.loads(bytes(queue.storage.dequeue())) for _ in range(2)]

    assert [(each["task"], each["kind"]) for each in read] == [("run_work", "webhooks"), ("sweep_often", None)]
    assert [set(each) for each in read] == [{"id", "task", "kind", "expires"}] * 2
    assert datetime.fromisoformat(read[1]["expires"]) > datetime.fromisoformat("2026-01-01")


def test_a_wake_up_tells_what_caused_it_to_programs_that_ask(queue_url, consume):
    told, heard = (f"00-{'a' * 32}-{'b' * 16}-01",), []
    queue = create_queue(queue_url)
    ran = Ran()
    run = declare_run(queue, lambda kind: (heard.append(causes()), ran(kind)))
    run("webhooks", told)
    run("sending")
    consume(queue)

    assert ran.wait_for(2) and sorted(heard) == [(), told]


def test_anything_else_in_the_queue_is_dropped_and_runs_nothing(queue_url, consume, tmp_path):
    ran = Ran()
    queue = create_queue(queue_url)
    run = declare_run(queue, ran)
    for other in (
        pickle.dumps(Touch(tmp_path / "touched")),
        b"",
        b"[]",
        b"{" * 100_000,
        b'{"id": "7", "task": "os.system", "kind": "touch", "expires": null}',
        b'{"id": "7", "task": "run_work", "kind": ["a"], "expires": null}',
        b'{"id": "7", "task": "sweep_nothing", "kind": null, "expires": null}',
        b'{"id": "7", "task": "sweep_often", "kind": null, "expires": 5}',
        b'{"id": "7", "task": "run_work", "kind": "a", "expires": null, "causes": ["x"]}',
    ):
        queue.storage.enqueue(other)
    run("webhooks")
    consume(queue)

    assert ran.wait_for(1) and ran.kinds == ["webhooks"]
    assert not (tmp_path / "touched").exists()


def test_the_files_of_a_queue_are_for_their_owner_only(tmp_path):
    queue = create_queue(f"sqlite:///{tmp_path / 'var' / 'queue.db'}")
    declare_run(queue, pytest.fail)("webhooks")

    assert {each.stat().st_mode & 0o777 for each in (tmp_path / "var").iterdir()} == {0o600}


def test_sweeps_look_for_work_that_nobody_woke(queue_url, consume):
    ran = Ran()
    queue = create_queue(queue_url)
    jobs = [Job("often", lambda _: bool, every_seconds=1), Job("rarely", lambda _: bool, every_seconds=3600)]
    declare_sweeps(queue, ran, jobs)
    consume(queue)

    assert ran.wait_for(3)
    assert ran.kinds.count("rarely") == 1


@pytest.mark.parametrize(
    ("url", "kind"), [("mysql://localhost/queue", "mysql"), ("sqlite://", "sqlite")], ids=["another", "in memory"]
)
def test_other_places_for_a_queue_are_refused(url, kind):
    with pytest.raises(ValueError, match=f"^a queue can be in SQLite, PostgreSQL or Redis, not in {kind}$"):
        create_queue(url)


def test_a_queue_in_postgresql_may_be_named_with_its_driver(postgres_url):
    url = make_url(postgres_url).set(drivername="postgresql+psycopg2").render_as_string(hide_password=False)

    assert create_queue(url).storage.conn is not None


def test_two_processes_that_open_a_new_queue_at_once_both_get_it(postgres_url):
    load_postgresql()
    is_halfway, go_on = threading.Event(), threading.Event()

    class Halfway(TablesInTurn):
        """Has created the tables, and commits them later."""

        @contextmanager
        def db(self, *args, **options):
            with super().db(*args, **options) as cursor:
                yield cursor
                is_halfway.set()
                assert go_on.wait(PATIENCE_SECONDS)

    with (
        postgres_database(postgres_url) as url,
        psycopg.connect(queue_dsn(url), autocommit=True) as third,
    ):

        def is_someone_waiting():
            waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            return third.execute(f"{waiting} AND wait_event_type = 'Lock'").fetchone() != (0,)

        with ThreadPoolExecutor(2) as threads:
            first = threads.submit(Halfway, QUEUE_NAME, dsn=queue_dsn(url))
            assert is_halfway.wait(PATIENCE_SECONDS)
            second = threads.submit(create_queue, url)
            try:
                wait_until(is_someone_waiting, "the second process to meet the first")
            finally:
                go_on.set()

            assert first.result(PATIENCE_SECONDS).queue_size() == 0
            assert second.result(PATIENCE_SECONDS).pending_count() == 0


def test_a_sweep_of_another_worker_is_run_by_a_process_that_begins_none(queue_url, consume):
    job, ran = Job("often", lambda _: bool, every_seconds=3600), Ran()
    theirs, ours = create_queue(queue_url), create_queue(queue_url)
    declare_sweeps(theirs, pytest.fail, [job])
    declare_others(ours, ran, [job])

    assert ours.read_periodic(datetime.now()) == []
    (sweep,) = theirs.read_periodic(datetime.now())
    theirs.enqueue(sweep)
    consume(ours)

    assert ran.wait_for(1)


def test_every_kind_of_work_has_one_name():
    kinds = [work.kind for work in JOBS]

    assert len(kinds) == len(set(kinds))


def test_a_sweep_is_due_at_once_and_then_not_before_its_time(tmp_path):
    queue = create_queue(f"sqlite:///{tmp_path / 'queue.db'}")
    declare_sweeps(queue, lambda kind: None, [Job("webhooks", lambda _: bool, every_seconds=3600)])

    assert [len(queue.read_periodic(datetime.now())) for _ in range(3)] == [1, 0, 0]


CAUSE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
WAKE = {"id": "7", "task": "run_work", "kind": "webhooks", "expires": None}
SWEEP = {"id": "8", "task": "sweep_webhooks", "kind": None, "expires": "2026-03-02T08:00:00+00:00"}


def read(given: object) -> Message:
    return JsonMessages().deserialize(json.dumps(given).encode())


def written(message: Message) -> object:
    return json.loads(JsonMessages().serialize(message))


@pytest.mark.parametrize(
    ("given", "name", "arguments"),
    [
        (WAKE, "worker.app.run_work", ("webhooks", ())),
        ({**WAKE, "causes": [CAUSE]}, "worker.app.run_work", ("webhooks", (CAUSE,))),
        ({**WAKE, "causes": [CAUSE] * MOST_CAUSES}, "worker.app.run_work", ("webhooks", (CAUSE,) * MOST_CAUSES)),
        (SWEEP, "worker.app.sweep_webhooks", ()),
    ],
)
def test_a_message_comes_out_as_it_went_in(given: dict[str, object], name: str, arguments: tuple[object, ...]) -> None:
    message = read(given)

    assert (message.id, message.name, message.args, message.kwargs) == (given["id"], name, arguments, {})
    expires = datetime(2026, 3, 2, 8, tzinfo=UTC) if given is SWEEP else None
    assert (message.expires, message.expires_resolved) == (expires, expires)
    assert (message.retries, message.retry_delay) == (0, 0)
    assert written(message) == given


@pytest.mark.parametrize("absent", ["id", "task", "kind", "expires"])
def test_a_message_has_all_its_parts(absent: str) -> None:
    with pytest.raises(NoMessage):
        read({name: value for name, value in WAKE.items() if name != absent})


@pytest.mark.parametrize(
    "changed",
    [
        {"id": ""},
        {"id": 7},
        {"id": "7\n"},
        {"task": "run_works"},
        {"task": "sweep_"},
        {"kind": None},
        {"kind": "a b"},
        {"expires": 5},
        {"expires": "soon"},
        {"causes": CAUSE},
        {"causes": ["x"]},
        {"causes": [CAUSE] * (MOST_CAUSES + 1)},
    ],
)
def test_a_message_with_a_part_of_another_form_is_refused(changed: dict[str, object]) -> None:
    with pytest.raises(NoMessage):
        read({**WAKE, **changed})


@pytest.mark.parametrize("data", [b"", b"[]", b"null", b"5", b"\xff", b"[" * 100_000, b'{"id": "7"'])
def test_what_is_no_json_object_is_refused(data: bytes) -> None:
    with pytest.raises(NoMessage):
        JsonMessages().deserialize(data)


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
