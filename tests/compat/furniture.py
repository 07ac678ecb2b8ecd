"""A workspace that holds some of everything, more than a page of each kind."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

from sqlalchemy import insert, select

from persistence.boundaries import read_features, store_boundaries
from persistence.broadcasts.records import IS_UNFINISHED
from persistence.classifiers import create_classifier
from persistence.resthooks import create_subscriber, record_resthook_event
from persistence.tables.contacts import contact, group
from persistence.tables.flows import flow, flow_start
from persistence.tables.messages import broadcast, label, message
from persistence.tables.service import archive
from testbed.flow_rows import definition, node, say, store_flow
from testbed.running import wait_until
from tests.boundary_files import RWANDA
from tests.campaign_rows import make_campaign, make_event
from tests.channel_rows import add_channel, add_contact, add_outgoing
from tests.compat.conftest import Tenant
from tests.factories import make_field, make_named
from tests.run_rows import NODE, add_run, add_start

COUNT = 6
START = datetime.now(UTC).replace(microsecond=0) - timedelta(days=1)
"""The worker archives what is older than ninety days."""
VALUE = {
    "name": "Has Phone",
    "value": "yes",
    "category": "Yes",
    "node": NODE,
    "time": "2026-03-02T08:10:11.000000Z",
    "input": "Yes I do",
}
STEP = {"node": NODE, "time": "2026-03-02T08:09:00.100000Z"}
VISIT = {"type": "R", "left_on": "2026-03-02T08:10:11.000000Z", "results": [VALUE]}


def furnish(tenant: Tenant) -> None:
    """Six records of each kind, written to the database if the API cannot create them."""
    database, workspace = tenant.service.database, tenant.workspace
    with database.writing() as tx:
        store_boundaries(tx, read_features(RWANDA))
        for number in range(COUNT):
            create_classifier(tx, workspace.id, f"Intents {number}", "wit", ["book_slot"])
            record_resthook_event(tx, workspace.id, f"hook-{number}", {"number": number})
            create_subscriber(tx, workspace.id, f"hook-{number}", f"https://example.org/hooks/{number}")
    _add_archives(tenant)
    make_named(database, workspace, group, [f"Group {number}" for number in range(COUNT)])
    make_named(database, workspace, label, [f"Label {number}" for number in range(COUNT)])
    make_field(database, workspace, "Due Date", "datetime")
    for number in range(COUNT):
        make_field(database, workspace, f"Age {number}", "number")
        make_event(database, workspace, make_campaign(database, workspace, f"Reminders {number}"))
    _add_traffic(tenant)
    _add_conversations(tenant)


def _add_archives(tenant: Tenant) -> None:
    with tenant.service.database.writing() as tx:
        for number in range(COUNT):
            values = {
                "workspace_id": tenant.workspace.id,
                "archive_type": "message" if number % 2 else "run",
                "period": "monthly" if number % 3 else "daily",
                "start_date": date(2025, number + 1, 1),
                "record_count": number,
                "size": 7,
                "hash": "0f3b1c9e77aa4d2c8b5e6f1029384756",
                "location": f"archives/{tenant.workspace.uuid}/{number}.jsonl.gz",
            }
            tx.execute(insert(archive).values(**values, is_trimmed=True, created_on=tx.now))


def _add_traffic(tenant: Tenant) -> None:
    """Contacts with phone numbers, each with a message on a channel of its own."""
    database, workspace = tenant.service.database, tenant.workspace
    for number in range(COUNT):
        channel_id = add_channel(database, workspace, address=f"+2507880009{number:02}", device_uuid=None)
        contact_id = add_contact(database, workspace, f"+2507880001{number:02}", f"Person {number}")
        incoming: dict[str, Any] = {
            "direction": "in",
            "status": "handled",
            "type": "text",
            "text": f"Question {number}",
        }
        moment = START + timedelta(minutes=number)
        values = {"urn": f"tel:+2507880001{number:02}", **(incoming if number % 2 else {"text": f"Reply {number}"})}
        status = values.pop("status", "sent")
        add_outgoing(database, workspace, channel_id, contact_id, moment, status, sent_on=moment, **values)


def _add_conversations(tenant: Tenant) -> None:
    database, workspace = tenant.service.database, tenant.workspace
    with database.reading() as tx:
        mine = select(contact.c.id).where(contact.c.workspace_id == workspace.id).order_by(contact.c.id)
        people = list(tx.execute(mine).scalars())
    for number in range(COUNT):
        uuid = f"{number}{workspace.uuid[1:]}"
        made = definition(f"Flow {number}", [node(f"hello {number}", [say("Hello")])], uuid=uuid)
        store_flow(database, workspace, made)
    with database.reading() as tx:
        mine = select(flow.c.id).where(flow.c.workspace_id == workspace.id).order_by(flow.c.id)
        flows = list(tx.execute(mine).scalars())
    for number, (flow_id, person) in enumerate(zip(flows, people, strict=True)):
        details: dict[str, Any] = {"path": [STEP], "visits": [VISIT], "results": {"has_phone": VALUE}}
        add_run(database, workspace, flow_id, person, responded=number % 2 == 0, **details)
        start_id = add_start(database, workspace, flow_id, [person])
        with database.writing() as tx:
            tx.execute(flow_start.update().where(flow_start.c.id == start_id).values(status="completed"))


def settle(tenant: Tenant) -> None:
    """Waits until the worker has made all messages, and moved the time of every flow whose runs were counted: a list
    in the order of change shows a record that moves between two pages on neither."""

    def is_settled() -> bool:
        with tenant.service.database.reading() as tx:
            moving = select(flow.c.id).where(flow.c.workspace_id == tenant.workspace.id, flow.c.counted_on.is_not(None))
            sending = select(broadcast.c.id).where(broadcast.c.workspace_id == tenant.workspace.id, IS_UNFINISHED)
            return all(tx.execute(left).first() is None for left in (sending, moving))

    wait_until(is_settled, "the worker to come to rest")


def message_ids(tenant: Tenant) -> list[int]:
    """The ids of the workspace's messages, oldest first."""
    with tenant.service.database.reading() as tx:
        mine = message.c.workspace_id == tenant.workspace.id
        return list(tx.execute(select(message.c.id).where(mine).order_by(message.c.id)).scalars())
