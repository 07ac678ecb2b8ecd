"""Phones that a workspace claims."""

import pytest
from sqlalchemy import select

from persistence.database import Database
from persistence.relayers.relayers import claim_phone, lock_phones
from persistence.relayers.sync import note_unclaimed_sync
from persistence.tables.channels import channel
from persistence.workspaces.records import Workspace
from tests.channel_rows import add_channel

UNCLAIMED = {"workspace_id": None, "address": None}


@pytest.mark.together
@pytest.mark.parametrize(
    ("said", "number", "country"),
    [("RW", "0788123123", "RW"), ("RW", "+254733555010", "RW"), (None, "+254733555010", "KE")],
)
def test_the_country_of_a_phone_is_what_it_said_or_that_of_its_number(
    database: Database, workspace: Workspace, said: str | None, number: str, country: str
) -> None:
    channel_id = add_channel(database, workspace, **UNCLAIMED, country=said, claim_code="ABCDEFGHJ")
    with database.writing() as tx:
        assert claim_phone(tx, workspace, " abcd efghj", number, None).channel_id == channel_id
        row = tx.execute(select(channel).where(channel.c.id == channel_id)).one()

    assert (row.country, row.workspace_id, row.claim_code) == (country, workspace.id, None)


def test_the_sync_of_an_unclaimed_phone_is_no_sign_of_another(database: Database, workspace: Workspace) -> None:
    ids = [
        add_channel(database, workspace, **UNCLAIMED, last_seen=None, claim_code=f"ABCDEFGH{letter}")
        for letter in "ABC"
    ]
    with database.writing() as tx:
        (phone,) = lock_phones(tx, channel.c.id == ids[1])
        note_unclaimed_sync(tx, phone)
        seen = dict(tx.execute(select(channel.c.id, channel.c.last_seen)).tuples().all())

    assert [seen[each] for each in ids] == [None, tx.now, None]
