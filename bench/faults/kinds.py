"""The faults. Each hits the service, restores what it took away, and says whether it hit while work was under way."""

import contextlib
import random
import time
from collections.abc import Callable, Iterator
from email.utils import parsedate_to_datetime
from functools import partial

import psycopg2
import requests
from sqlalchemy import text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError

from bench.faults.run import MOST_CONNECTIONS, Run, count_leased, is_at_work, pause, while_database_is_there
from testbed.running import wait_until

WRITERS_OF_API = 4
"""Requests that an API process writes at the same time: with as many waiting, its share of the pool is used up."""
AWAY_SECONDS = (0.5, 2.0)
JUMP_SECONDS = 120
CLOCK_IS_READ_SECONDS = 1.5
LOCK_PATIENCE_SECONDS = 5.0
OTHERS = "datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
BALLAST = "CREATE TEMP TABLE ballast AS SELECT repeat(md5(n::text), 200) AS filling FROM generate_series(1, 5000) n"


def kill_worker(run: Run, chance: random.Random) -> bool:
    was_at_work = count_leased(run) > 0
    run.service.kill("worker")
    run.service.start("worker")
    return was_at_work


def kill_api(run: Run, chance: random.Random) -> bool:
    was_at_work = run.under_way > 0
    run.service.kill("api")
    run.service.start("api")
    return was_at_work


def end_connections(run: Run, chance: random.Random) -> bool:
    """Ends all connections of the service; it hits if one was in a transaction."""
    with run.service.database.engine.connect() as connection:
        busy = connection.execute(text(f"SELECT count(*) FROM pg_stat_activity WHERE {OTHERS} AND state <> 'idle'"))
        was_at_work = bool(busy.scalar_one())
        connection.execute(text(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {OTHERS}"))
    return was_at_work


def restart_postgres(run: Run, chance: random.Random) -> bool:
    was_at_work = is_at_work(run)
    run.around.restart_postgres()
    return was_at_work


def fill_disk(run: Run, chance: random.Random) -> bool:
    """No file of PostgreSQL can grow. It hits if a statement of our own is refused while work is under way."""
    was_at_work = is_at_work(run)
    run.around.disk.fill()
    try:
        was_refused = is_refused(run)
        pause(chance.uniform(*AWAY_SECONDS))
    finally:
        run.around.disk.free()
    run.around.start_postgres()
    return was_at_work and was_refused


def is_refused(run: Run) -> bool:
    """Whether the database cannot write a table that needs room."""
    try:
        with run.service.database.engine.connect() as connection:
            connection.execute(text(BALLAST))
            connection.rollback()
    except DBAPIError:
        return True
    return False


def take_queue_away(run: Run, chance: random.Random) -> bool:
    was_at_work = is_at_work(run)
    run.around.redis.kill()
    pause(chance.uniform(*AWAY_SECONDS))
    run.around.redis.start()
    return was_at_work


def exhaust_pool(run: Run, chance: random.Random) -> bool:
    """Locks the table that all need, until as many wait as the API has places for writers, and some time more."""
    with run.service.database.engine.connect() as connection:
        connection.execute(text("LOCK TABLE delivery IN ACCESS EXCLUSIVE MODE"))

        def is_exhausted() -> bool:
            waiting = f"SELECT count(*) FROM pg_stat_activity WHERE {OTHERS} AND wait_event_type = 'Lock'"
            return int(connection.execute(text(waiting)).scalar_one()) >= WRITERS_OF_API

        try:
            wait_until(is_exhausted, "the pool to be exhausted", LOCK_PATIENCE_SECONDS)
        except AssertionError:
            return False
        pause(chance.uniform(*AWAY_SECONDS))
    return True


def take_connections(run: Run, chance: random.Random) -> bool:
    """Takes every connection that PostgreSQL has, those of the service too; it hits if one was in a transaction."""
    with contextlib.ExitStack() as taken:
        first = taken.enter_context(connected(run))
        with first.cursor() as cursor:
            cursor.execute(f"SELECT count(*) FROM pg_stat_activity WHERE {OTHERS} AND state <> 'idle'")
            (busy,) = cursor.fetchone() or (0,)
            mine = [first.info.backend_pid, *take_the_rest(run, taken)]
            cursor.execute(
                f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {OTHERS} AND pid <> ALL(%s)", [mine]
            )
        take_the_rest(run, taken)
        pause(chance.uniform(*AWAY_SECONDS))
    return bool(busy)


def take_the_rest(run: Run, taken: contextlib.ExitStack) -> list[int]:
    """Opens connections until there are no more; the process ids behind them."""
    mine: list[int] = []
    for _ in range(MOST_CONNECTIONS):
        try:
            mine.append(taken.enter_context(connected(run)).info.backend_pid)
        except psycopg2.OperationalError:
            break
    return mine


@contextlib.contextmanager
def connected(run: Run) -> Iterator[psycopg2.extensions.connection]:
    url = make_url(run.service.database_url).set(drivername="postgresql").render_as_string(hide_password=False)
    connection = psycopg2.connect(url)
    try:
        yield connection
    finally:
        connection.close()


def jump_clock(run: Run, chance: random.Random) -> bool:
    """The clock of API and worker jumps ahead or behind, and after some time back. It hits if the API shows it."""
    was_at_work = is_at_work(run)
    run.around.clock.jump(chance.choice((-JUMP_SECONDS, JUMP_SECONDS)))
    pause(CLOCK_IS_READ_SECONDS + chance.uniform(*AWAY_SECONDS))
    was_seen = abs(time_of_api(run) - time.time()) > JUMP_SECONDS / 2
    run.around.clock.jump(0)
    return was_at_work and was_seen


def time_of_api(run: Run) -> float:
    """What time the API says it is, in seconds since 1970."""
    answer = requests.get(f"{run.service.url}/health/live", timeout=60)
    return parsedate_to_datetime(answer.headers["Date"]).timestamp()


Fault = Callable[[Run, random.Random], bool]
FAULTS: dict[str, tuple[Fault, int]] = {
    "SIGKILL of the worker": (kill_worker, 4),
    "SIGKILL of the API": (kill_api, 4),
    "all connections ended": (end_connections, 3),
    "PostgreSQL restarted": (restart_postgres, 2),
    "disk of PostgreSQL full": (fill_disk, 2),
    "queue away": (take_queue_away, 2),
    "pool exhausted": (exhaust_pool, 2),
    "no connection left in PostgreSQL": (take_connections, 2),
    "clock jumps by two minutes": (jump_clock, 2),
}
"""The faults by name, each with how often it comes."""
NEEDS_DISK = "disk of PostgreSQL full"
NEEDS_CLOCK = "clock jumps by two minutes"


def hit(run: Run, name: str, chance: random.Random) -> None:
    """Hits once, and counts it."""
    fault, _ = FAULTS[name]
    was_hit = while_database_is_there(partial(fault, run, chance))
    (run.hits if was_hit else run.misses)[name] += 1


def start_the_dead(run: Run) -> None:
    """Starts what ended by itself, as a supervisor does: a process that begins while the database is away gives up."""
    for name, process in list(run.service.processes.items()):
        if process.poll() is not None:
            run.service.processes.pop(name)
            run.service.start(name)
            run.restarted[name] += 1
