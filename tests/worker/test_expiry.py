from sqlalchemy import select, text

import worker.jobs
from persistence.messages.actions import fail_old_messages
from persistence.tables.messages import message
from tests.channel_rows import add_channel, add_contact, add_outgoing
from worker.jobs import begin_expiry


def test_messages_that_waited_for_a_week_fail_batch_by_batch(runtime, database, workspace, clock, monkeypatch):
    channel_id, contact_id = add_channel(database, workspace), add_contact(database, workspace)
    for _ in range(3):
        add_outgoing(database, workspace, channel_id, contact_id, clock())
    clock.advance(days=8)
    monkeypatch.setattr(worker.jobs, "BATCH", 2)
    step = begin_expiry(runtime)

    assert (step(), step()) == (True, False)

    with database.reading() as tx:
        assert set(tx.execute(select(message.c.status)).scalars()) == {"failed"}


def test_no_more_fail_at_once_than_a_batch_whatever_the_database_plans(database, workspace, clock):
    channel_id, contact_id = add_channel(database, workspace), add_contact(database, workspace)
    for _ in range(5):
        add_outgoing(database, workspace, channel_id, contact_id, clock())
    clock.advance(days=8)

    with database.writing() as tx:
        if not tx.sqlite:
            for plan in ("hashjoin", "mergejoin", "hashagg", "sort", "material", "memoize"):
                tx.execute(text(f"SET LOCAL enable_{plan} = off"))
        assert [fail_old_messages(tx, 2) for _ in range(4)] == [2, 2, 1, 0]
