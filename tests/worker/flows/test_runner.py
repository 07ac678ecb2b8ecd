"""The leases of contacts during long sprints."""

import queue
import threading
from datetime import timedelta

import pytest

from persistence.database import Database
from persistence.sessions.parking import acquire_leases
from persistence.workspaces.records import Workspace
from testbed.patience import PATIENCE_SECONDS
from tests.channel_rows import add_contact
from tests.conftest import Clock
from worker.flows import runner
from worker.flows.runner import LeaseKeeper, LeaseRenewal
from worker.runtime import Runtime


@pytest.fixture
def renewal(database: Database, workspace: Workspace) -> LeaseRenewal:
    contact_id = add_contact(database, workspace)
    with database.writing() as tx:
        return LeaseRenewal(database, acquire_leases(tx, [contact_id]))


@pytest.mark.parametrize(("seconds", "is_renewed"), [(9, False), (11, True), (29, True), (31, False)])
def test_a_lease_is_renewed_when_a_third_of_it_is_over_and_not_after_its_end(
    renewal: LeaseRenewal, clock: Clock, seconds: int, is_renewed: bool
) -> None:
    before = renewal.leases
    clock.advance(seconds=seconds)

    renewal.refresh()

    moved = renewal.leases.until - before.until
    assert (moved > timedelta(seconds=seconds - 1)) is is_renewed
    assert renewal.leases.contact_ids == before.contact_ids
    assert is_renewed or renewal.leases is before


def test_a_lease_that_could_not_be_renewed_is_tried_again(
    runtime: Runtime, renewal: LeaseRenewal, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tries = queue.SimpleQueue[str]()

    def fail(_renewal: LeaseRenewal) -> None:
        tries.put(threading.current_thread().name)
        raise OSError("the database is away")

    monkeypatch.setattr(runner, "LOOK_SECONDS", 0.001)
    monkeypatch.setattr(LeaseRenewal, "refresh", fail)
    with LeaseKeeper(runtime).keep(renewal.leases):
        assert [tries.get(timeout=PATIENCE_SECONDS) for _ in range(2)] == ["leases", "leases"]
        keepers = [thread for thread in threading.enumerate() if thread.name == "leases"]

    assert all(thread.daemon for thread in keepers)
    assert "a lease could not be renewed" in caplog.text
