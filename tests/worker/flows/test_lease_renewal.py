"""The leases of contacts during long sprints."""

from datetime import timedelta

import pytest

from persistence.contacts.leases import acquire_leases
from persistence.database import Database
from persistence.workspaces import Workspace
from tests.channel_rows import add_contact
from tests.conftest import Clock
from worker.flows.lease_renewal import LeaseRenewal


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
