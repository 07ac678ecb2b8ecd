"""What is in the demo."""

from datetime import timedelta

import pytest
from sqlalchemy import Integer, cast, func, select

from persistence.database import Database
from persistence.labels import create_label
from persistence.tables.changes import conversation
from persistence.tables.contacts import contact, group, ticket
from persistence.tables.messages import INCOMING, OUTGOING, label, message
from persistence.users import add_member, find_member
from persistence.workspaces import sample
from persistence.workspaces.records import Workspace
from persistence.workspaces.sample import COLLEAGUES, DAYS, UNREAD, fill_sample, fill_team
from tests.channel_rows import add_channel
from tests.factories import make_field, make_named


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_demo_has_weeks_of_conversations_some_unread_and_tickets_open_and_closed(
    database: Database, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sample, "CONTACTS", 40)
    channel_id = add_channel(database, workspace)
    fields = [make_field(database, workspace, "Due", "datetime"), make_field(database, workspace, "District")]
    make_named(database, workspace, group, ["Mothers"])
    with database.writing() as tx:
        add_member(tx, workspace.id, "ann@example.org", "administrator")
        user_id = find_member(tx, workspace.id, "ann@example.org") or 0
        group_id = tx.execute(select(group.c.id).where(group.c.name == "Mothers")).scalar_one()
        label_id = create_label(tx, workspace.id, "Question")
        fill_sample(
            tx,
            workspace,
            channel_id=channel_id,
            user_id=user_id,
            label_id=label_id,
            group_id=group_id,
            fields=fields,
        )
        conversations = select(func.count(), func.sum(cast(conversation.c.is_unread, Integer)))
        people, unread = tx.execute(conversations).one()
        answered = select(func.count()).where(message.c.direction == OUTGOING)
        oldest = tx.execute(select(func.min(message.c.created_on))).scalar_one()
        last_seen = select(func.max(message.c.created_on)).where(message.c.direction == INCOMING)
        seen = last_seen.where(message.c.contact_id == contact.c.id).scalar_subquery()
        wrong = select(func.count()).where(contact.c.last_seen_on.is_distinct_from(seen))
        tickets = dict(tx.execute(select(ticket.c.status, func.count()).group_by(ticket.c.status)).tuples().all())

        assert UNREAD < people < 40 and unread == UNREAD
        assert tx.execute(answered).scalar_one() > people
        assert timedelta(days=DAYS - 7) < tx.now - oldest < timedelta(days=DAYS + 1)
        assert tx.execute(wrong).scalar_one() == 0
        assert abs(tickets["open"] - tickets["closed"]) <= 1 and sum(tickets.values()) >= 24
        assert tx.execute(select(label.c.message_count)).scalar_one() == 60

        fill_team(tx, workspace)
        answers = func.count(message.c.author_id.distinct()), func.count() - func.count(message.c.author_id)
        assert tx.execute(select(*answers).where(message.c.direction == OUTGOING)).one() == (len(COLLEAGUES), 0)
        holders = select(func.count(ticket.c.assignee_id.distinct())).where(ticket.c.assignee_id != user_id)
        assert tx.execute(holders).scalar_one() == len(COLLEAGUES)
