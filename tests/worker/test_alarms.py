from sqlalchemy import select

from persistence.tables.deliveries import delivery
from tests.channel_rows import add_channel
from worker.jobs import begin_alarms


def test_a_phone_that_is_silent_for_half_an_hour_is_told_of_once(runtime, database, workspace, clock, woken):
    add_channel(database, workspace, webhook_url="http://hooks.example.org/")
    step = begin_alarms(runtime)
    clock.advance(minutes=31)

    assert (step(), step()) == (False, False)

    with database.reading() as tx:
        assert list(tx.execute(select(delivery.c.event)).scalars()) == ["alarm"]
    assert woken == ["webhooks"]
