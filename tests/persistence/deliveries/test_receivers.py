"""Receivers of webhooks."""

import pytest

from persistence.database import Database
from persistence.deliveries.receivers import OVERLAP, find_receiver
from persistence.errors import RecordMissing
from persistence.tables.channels import channel
from persistence.workspaces.records import Workspace
from tests.channel_rows import add_channel
from tests.run_rows import uuid_of
from worker.webhooks.signing import ROTATION_OVERLAP


def test_a_former_secret_is_used_exactly_as_long_as_its_owner_is_told() -> None:
    assert OVERLAP == ROTATION_OVERLAP


def test_a_channel_is_found_as_a_receiver_by_its_uuid_alone(database: Database, workspace: Workspace) -> None:
    channel_ids = [add_channel(database, workspace) for _ in range(3)]
    with database.reading() as tx:
        found = [find_receiver(tx, workspace.id, uuid_of(database, channel, each)) for each in channel_ids]
        with pytest.raises(RecordMissing):
            find_receiver(tx, workspace.id, "00000000-0000-4000-8000-000000000000")

    assert [each.endpoint.channel_id for each in found] == channel_ids
