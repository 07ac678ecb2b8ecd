from sqlalchemy import select, update

import worker.trimming
from persistence.deliveries import DELIVERED, NewDelivery, delivery, record_deliveries
from worker.trimming import begin_trimming


def test_old_deliveries_are_deleted_batch_by_batch(services, database, workspace, clock, monkeypatch):
    made = [NewDelivery("mo_sms", "http://hooks.example.org/", "text/plain", b"x")] * 4
    with database.writing() as tx:
        kept, *_ = record_deliveries(tx, workspace.id, made)
        old = delivery.c.uuid != kept
        tx.execute(update(delivery).where(old).values(status=DELIVERED, finished_on=tx.now))
    clock.advance(days=8)
    monkeypatch.setattr(worker.trimming, "BATCH", 2)
    step = begin_trimming(services)

    assert (step(), step()) == (True, False)

    with database.reading() as tx:
        assert list(tx.execute(select(delivery.c.uuid)).scalars()) == [kept]
