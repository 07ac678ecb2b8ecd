"""`modified_on` follows the order in which changes become visible, so that mirrors miss nothing."""

from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import select, update

from persistence.changes import change_contacts
from persistence.database import Database
from persistence.follow_ups import QUICK
from persistence.stamps import later
from persistence.tables.contacts import contact
from persistence.tables.messages import message
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.factories import id_of, make_contact, make_messages

ON_POSTGRESQL = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
"""On SQLite one transaction writes at a time, so these meetings cannot be made."""

CONTACTS = "/api/v2/contacts.json"
GROUPS = "/api/v2/groups.json"
ACTIONS = "/api/v2/contact_actions.json"
LIMIT_SECONDS = 60


def modified_on(database: Database, contact_id: int) -> datetime:
    with database.reading() as tx:
        moment: datetime = tx.execute(select(contact.c.modified_on).where(contact.c.id == contact_id)).scalar_one()
        return moment


class TestMoments:
    @ON_POSTGRESQL
    def test_a_transaction_that_commits_late_bears_the_later_moment(
        self, database: Database, workspace: Workspace
    ) -> None:
        slow, quick = (id_of(database, make_contact(database, workspace)) for _ in range(2))

        with database.writing() as tx:
            change_contacts(tx, workspace.id, [slow])
            with database.writing() as other:
                change_contacts(other, workspace.id, [quick])

        assert modified_on(database, slow) > modified_on(database, quick)

    def test_a_clock_that_goes_back_takes_no_record_back(
        self, database: Database, workspace: Workspace, clock: Any
    ) -> None:
        contact_id = id_of(database, make_contact(database, workspace))
        moments = [modified_on(database, contact_id)]
        clock.advance(hours=-1)
        for _ in range(3):
            with database.writing() as tx:
                change_contacts(tx, workspace.id, [contact_id])
            moments.append(modified_on(database, contact_id))

        assert moments == sorted(set(moments))

    @ON_POSTGRESQL
    def test_a_message_is_not_taken_back_either(self, database: Database, workspace: Workspace, clock: Any) -> None:
        make_messages(database, workspace, make_contact(database, workspace))
        moments = select(message.c.modified_on)
        with database.reading() as tx:
            before: datetime = tx.execute(moments).scalar_one()
        clock.advance(hours=-1)

        with database.writing() as tx:
            tx.execute(update(message).values(modified_on=later(message, tx.now, is_sqlite=tx.sqlite)))

        with database.reading() as tx:
            assert tx.execute(moments).scalar_one() > before

    @ON_POSTGRESQL
    def test_a_change_that_takes_long_bears_the_moment_of_its_end(
        self, database: Database, workspace: Workspace, clock: Any
    ) -> None:
        contact_id = id_of(database, make_contact(database, workspace))
        with database.writing() as tx:
            change_contacts(tx, workspace.id, [contact_id])
            clock.advance(seconds=QUICK.total_seconds() * 10)
            present = clock.moment

        assert modified_on(database, contact_id) > present

    @ON_POSTGRESQL
    def test_moments_of_one_workspace_hold_up_no_other(
        self, database: Database, workspace: Workspace, other_workspace: Workspace
    ) -> None:
        ours = id_of(database, make_contact(database, workspace))
        theirs = id_of(database, make_contact(database, other_workspace))

        with database.writing() as tx:
            change_contacts(tx, workspace.id, [ours])
            tx.flush()
            with database.writing() as other:
                change_contacts(other, other_workspace.id, [theirs])

        assert modified_on(database, theirs)

    def test_what_is_read_before_the_commit_is_final(self, api: Api) -> None:
        made = api.post(CONTACTS, {"name": "Amina"}).json()

        assert api.results(CONTACTS, uuid=made["uuid"]) == [made]
