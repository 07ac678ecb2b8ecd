"""Topics: the subjects of tickets, with how many of each are open and closed."""

from collections.abc import Mapping

from sqlalchemy import insert, select, update

from persistence.database import Transaction
from persistence.errors import RecordMissing, SystemRecord
from persistence.lists import ListSpec
from persistence.sql.columns import (
    is_uuid,
    new_uuid,
)
from persistence.sql.json_sql import declare_record, json_record
from persistence.sql.names import check_name, check_name_is_free, check_room, name_key
from persistence.sql.pages import Order
from persistence.tables.tickets import topic
from persistence.workspaces import hold_workspace

GENERAL = "General"
TOPICS_PER_WORKSPACE = 50
"""Not counting the topic every workspace has from its beginning."""

TOPIC_RECORD = declare_record(
    {
        "uuid": topic.c.uuid,
        "name": topic.c.name,
        "counts": json_record({"open": topic.c.open_count, "closed": topic.c.closed_count}),
        "system": topic.c.is_system,
        "created_on": topic.c.created_on,
    }
)

TOPICS = ListSpec(topic, TOPIC_RECORD, Order(topic.c.created_on, topic.c.id))


def create_default_topic(tx: Transaction, workspace_id: int) -> None:
    """The topic of tickets that are given no other; every workspace has it from its beginning."""
    values = {"uuid": new_uuid(), "name": GENERAL, "name_key": name_key(GENERAL), "created_on": tx.now}
    tx.execute(insert(topic).values(workspace_id=workspace_id, is_system=True, **values))


def find_topic(tx: Transaction, workspace_id: int, uuid: str) -> int | None:
    """The id of the topic with this uuid."""
    if not is_uuid(uuid):
        return None
    statement = select(topic.c.id).where(topic.c.workspace_id == workspace_id, topic.c.uuid == uuid)
    return tx.execute(statement).scalar_one_or_none()


def find_default_topic(tx: Transaction, workspace_id: int) -> int:
    """The id of the topic General."""
    statement = select(topic.c.id).where(topic.c.workspace_id == workspace_id, topic.c.is_system)
    return tx.execute(statement).scalar_one()


def create_topic(tx: Transaction, workspace_id: int, name: str) -> int:
    """A new topic; returns its id. Raises InvalidInput for a bad or taken name, LimitReached when full."""
    hold_workspace(tx, workspace_id)
    name = check_name(name)
    check_name_is_free(tx, workspace_id, topic, name)
    check_room(tx, workspace_id, topic, ~topic.c.is_system, limit=TOPICS_PER_WORKSPACE)
    values = {"uuid": new_uuid(), "name": name, "name_key": name_key(name), "created_on": tx.now}
    statement = insert(topic).values(workspace_id=workspace_id, is_system=False, **values).returning(topic.c.id)
    return tx.execute(statement).scalar_one()


def rename_topic(tx: Transaction, workspace_id: int, uuid: str, name: str) -> int:
    """Rename a topic; returns its id. Raises RecordMissing, SystemRecord or InvalidInput."""
    hold_workspace(tx, workspace_id)
    statement = select(topic.c.id, topic.c.is_system).where(topic.c.workspace_id == workspace_id, topic.c.uuid == uuid)
    row = tx.execute(statement).first()
    if row is None:
        raise RecordMissing
    if row.is_system:
        raise SystemRecord
    name = check_name(name)
    check_name_is_free(tx, workspace_id, topic, name, besides_id=row.id)
    change = update(topic).where(topic.c.workspace_id == workspace_id, topic.c.id == row.id)
    tx.execute(change.values(name=name, name_key=name_key(name)))
    topic_id: int = row.id
    return topic_id


def count_tickets(tx: Transaction, workspace_id: int, changes: Mapping[int, tuple[int, int]]) -> None:
    """Adds to the open and the closed counts of topics, in the order of ids lest two transactions lock crosswise."""
    for topic_id, (opened, closed) in sorted(changes.items()):
        if opened or closed:
            change = update(topic).where(topic.c.workspace_id == workspace_id, topic.c.id == topic_id)
            tx.execute(
                change.values(open_count=topic.c.open_count + opened, closed_count=topic.c.closed_count + closed)
            )
