"""Topics: the subjects of tickets, with counts of open and closed tickets."""

from collections.abc import Mapping

from sqlalchemy import delete, select

from persistence.database import Transaction
from persistence.errors import InUse
from persistence.lists import ListSpec, NewRecord, insert_new
from persistence.pages import Order
from persistence.records import Record
from persistence.sql.names import check_new, find_id, name_key, rename_record, require_editable
from persistence.statements import update
from persistence.tables.contacts import ticket, ticket_event, topic
from persistence.usages import FLOW, TEAM, list_usages, tell_living
from persistence.workspaces.records import hold_workspace

GENERAL = "General"
TOPICS_PER_WORKSPACE = 50
"""Without the default topic of every workspace."""

TOPIC_RECORD = Record(
    {
        "uuid": topic.c.uuid,
        "name": topic.c.name,
        "counts": Record({"open": topic.c.open_count, "closed": topic.c.closed_count}),
        "system": topic.c.is_system,
        "created_on": topic.c.created_on,
    }
)

TOPICS = ListSpec(topic, TOPIC_RECORD, Order(topic.c.created_on, topic.c.id))


def create_default_topic(tx: Transaction, workspace_id: int) -> None:
    """Create the default topic of tickets, which every workspace has."""
    naming = {"name": GENERAL, "name_key": name_key(GENERAL)}
    tx.insert(topic, workspace_id=workspace_id, is_system=True, created_on=tx.now, **naming)


def find_topic(tx: Transaction, workspace_id: int, uuid: str) -> int | None:
    """The id of the topic with this uuid."""
    return find_id(tx, workspace_id, topic, uuid)


def find_default_topic(tx: Transaction, workspace_id: int) -> int:
    """The id of the topic General."""
    statement = select(topic.c.id).where(topic.c.workspace_id == workspace_id, topic.c.is_system)
    return tx.execute(statement).scalar_one()


def new_topic(tx: Transaction, workspace_id: int, name: str) -> NewRecord:
    """A topic to be inserted. Raises InvalidInput for a bad or taken name, LimitReached at the workspace's limit."""
    hold_workspace(tx, workspace_id)
    naming = check_new(tx, workspace_id, topic, name, counted=~topic.c.is_system, limit=TOPICS_PER_WORKSPACE)
    return NewRecord(topic, {"workspace_id": workspace_id, "created_on": tx.now, **naming})


def create_topic(tx: Transaction, workspace_id: int, name: str) -> int:
    """Create a topic; returns its id. Raises what `new_topic` raises."""
    return insert_new(tx, new_topic(tx, workspace_id, name))


def rename_topic(tx: Transaction, workspace_id: int, uuid: str, name: str) -> int:
    """Rename a topic; returns its id. Raises RecordMissing, SystemRecord or InvalidInput."""
    hold_workspace(tx, workspace_id)
    topic_id = require_editable(tx, workspace_id, topic, uuid)
    return rename_record(tx, workspace_id, topic, topic_id, name)


def delete_topic(tx: Transaction, workspace_id: int, uuid: str) -> None:
    """Delete a topic without tickets. Raises RecordMissing or SystemRecord, and InUse while tickets or a team have it,
    or a flow that is not archived uses it.
    """
    hold_workspace(tx, workspace_id)
    topic_id = require_editable(tx, workspace_id, topic, uuid)
    if users := tell_living(list_usages(tx, workspace_id, "topic", uuid), FLOW, TEAM):
        raise InUse(f"This topic is used by {users}: change or archive them first.")
    mine = (topic.c.workspace_id == workspace_id) & (topic.c.id == topic_id)
    # Waits for transactions that bring tickets into the topic.
    tx.execute(select(topic.c.id).where(mine).with_for_update())
    theirs = (ticket.c.workspace_id == workspace_id) & (ticket.c.topic_id == topic_id)
    if tx.execute(select(ticket.c.id).where(theirs).limit(1)).first() is not None:
        raise InUse("Tickets have this topic: give them another one first.")
    history = (ticket_event.c.workspace_id == workspace_id) & (ticket_event.c.topic_id == topic_id)
    tx.execute(update(ticket_event).where(history).values(topic_id=None))
    tx.execute(delete(topic).where(mine))


def count_tickets(tx: Transaction, workspace_id: int, changes: Mapping[int, tuple[int, int]]) -> None:
    """Adds to the open and the closed counts of topics, in the order of ids to avoid deadlocks."""
    for topic_id, (opened, closed) in sorted(changes.items()):
        if opened or closed:
            change = update(topic).where(topic.c.workspace_id == workspace_id, topic.c.id == topic_id)
            tx.execute(
                change.values(open_count=topic.c.open_count + opened, closed_count=topic.c.closed_count + closed)
            )
