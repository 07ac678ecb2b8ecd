"""What a worker measures, and where it shows that."""

import contextlib
import socket

import pytest
import requests
from prometheus_client.parser import text_string_to_metric_families

from persistence.errors import DatabaseError
from persistence.sql.columns import new_uuid
from testbed.patience import PATIENCE_SECONDS
from worker.jobs import Job, JobPool
from worker.metrics import serving_metrics


def page(address):
    families = text_string_to_metric_families(requests.get(address, timeout=PATIENCE_SECONDS).text)
    return {(sample.name, *sample.labels.values()): sample.value for family in families for sample in family.samples}


def test_steps_of_jobs_are_timed_and_their_failures_counted(runtime):
    def fail():
        raise RuntimeError("broken")

    counted, broken = new_uuid(), new_uuid()
    more = iter([True, True, False])
    pool = JobPool([Job(counted, lambda _: lambda: next(more), 1), Job(broken, lambda _: fail, 1)], runtime)
    pool.run(counted)
    with pytest.raises(RuntimeError):
        pool.run(broken)

    with serving_metrics("127.0.0.1", 0) as address:
        shown = page(address)

    assert shown["relayboard_job_step_seconds_count", counted] == 3
    assert shown["relayboard_job_step_seconds_count", broken] == 1
    assert shown["relayboard_job_failures_total", broken] == 1
    assert ("relayboard_job_failures_total", counted) not in shown


def test_the_page_ends_with_the_worker():
    with serving_metrics("127.0.0.1", 0) as address:
        port = int(address.split(":")[2].split("/")[0])

    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS)


def test_connections_count_while_they_are_used_also_when_one_breaks(database):
    used = []
    most = database.watch_connections(used.append)
    with database.reading(), database.reading():
        held = sum(used)
    with contextlib.suppress(DatabaseError), database.reading() as tx:
        tx.connection.invalidate()

    assert (held, sum(used)) == (2, 0)
    assert most == 10
