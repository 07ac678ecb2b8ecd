"""How workers tell that they are alive."""

from datetime import timedelta

from persistence.service.diagnosis import (
    ALIVE_FOR,
    BEAT_SECONDS,
    Worker,
    end_heartbeat,
    list_heartbeats,
    record_heartbeat,
)


def worker(pid: int = 7) -> Worker:
    return Worker("node-1", pid, 10, "0.1.0", "0001")


def beat(database, *workers) -> None:
    with database.writing() as tx:
        for each in workers:
            record_heartbeat(tx, each)


def heartbeats(database):
    with database.reading() as tx:
        return list_heartbeats(tx)


def test_a_worker_is_one_row_however_often_it_beats(database, clock):
    mine = worker()
    beat(database, mine)
    started = clock.moment
    clock.advance(seconds=30)
    beat(database, mine)

    (found,) = heartbeats(database)

    assert (found.host, found.pid, found.threads, found.version, found.revision) == ("node-1", 7, 10, "0.1.0", "0001")
    assert found.started_on == started
    assert found.seen_on - found.started_on >= timedelta(seconds=30)


def test_a_worker_that_misses_three_beats_is_not_alive(database, clock):
    beat(database, worker())
    clock.advance(seconds=3 * BEAT_SECONDS)
    before = heartbeats(database)[0].is_alive
    clock.moment += ALIVE_FOR

    assert (before, heartbeats(database)[0].is_alive) == (True, False)


def test_a_worker_that_stops_cleanly_leaves_no_row_and_no_other_one_goes(database):
    mine, other = worker(), worker(8)
    beat(database, mine, other)
    with database.writing() as tx:
        end_heartbeat(tx, mine)

    assert [each.pid for each in heartbeats(database)] == [8]


def test_a_process_with_the_number_of_a_dead_one_is_another_worker(database):
    beat(database, worker(), worker())

    assert len(heartbeats(database)) == 2
