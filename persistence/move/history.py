"""Writes history of another server in bulk: messages, broadcasts, runs, flow starts and events of channels.
History is not news: nothing is sent, no flow starts, no webhook is called, and nothing counts as unread."""

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from typing import Any

from sqlalchemy import delete, func, insert, select

from channels.sms import count_segments
from persistence.changes import change_count, change_each_message, change_messages, note_changed
from persistence.conversations import mark_read
from persistence.database import Transaction
from persistence.messages.incoming import note_stored
from persistence.move.moves import (
    BROADCAST,
    CHANNEL,
    CONTACT,
    EVENT,
    FLOW,
    GROUP,
    LABEL,
    MESSAGE,
    START,
    Move,
    Moved,
    Record,
    are_moved,
    find_carried,
    keep_moved,
)
from persistence.move.setup import write_channels
from persistence.sql.columns import is_uuid, new_uuid, split
from persistence.stamps import changes_of, later, touch
from persistence.statements import update
from persistence.tables.changes import conversation
from persistence.tables.channels import channel_event
from persistence.tables.flows import flow_start, flow_start_contact, flow_start_group
from persistence.tables.messages import (
    DELETED,
    OUTGOING,
    VISIBLE,
    broadcast,
    broadcast_contact,
    broadcast_group,
    message,
    message_label,
)

NO_CONTACT = "its contact was deleted there"
NO_FLOW = "its flow is not here"
NO_CHANNEL = "its channel is not known"
CHANGING = ("status", "visibility", "sent_on", "text", "attachments")
NO_LABEL = "one of its labels is not here"
NO_GROUP = "one of its groups is not here"
NO_CONTACTS = "one of its contacts was deleted there"
LEFT_THERE = "elsewhere"
"""Why a message failed that the other server had still to send."""


def ensure_channels(tx: Transaction, move: Move, records: Sequence[Record]) -> dict[str, int]:
    """The channels of these records; those that the other side lists no longer are kept by name."""
    given = {
        each["channel"]["uuid"]: each["channel"] for each in records if each["channel"] and each["channel"].get("uuid")
    }
    known = find_carried(tx, move, CHANNEL, given)
    missing = [
        {"reference": uuid, "name": each.get("name") or "", "created_on": None}
        for uuid, each in given.items()
        if uuid not in known
    ]
    if missing:
        write_channels(tx, move, missing)
        known = find_carried(tx, move, CHANNEL, given)
    return known


def free_uuids(tx: Transaction, move: Move, table: Any, records: Iterable[Record]) -> dict[str, str]:
    """The UUID that each new record gets here: its own, unless something here has it already."""
    own = {each["reference"]: each["uuid"].lower() for each in records if each.get("uuid") and is_uuid(each["uuid"])}
    taken: set[str] = set()
    for some in split(sorted(own.values())):
        mine = (table.c.workspace_id == move.workspace.id) & table.c.uuid.in_(some)
        taken.update(tx.execute(select(table.c.uuid).where(mine)).scalars())
    return {reference: uuid if uuid not in taken else new_uuid() for reference, uuid in own.items()}


def insert_rows(tx: Transaction, table: Any, rows: Sequence[dict[str, Any]]) -> dict[str, int]:
    """Inserts rows; returns their ids by UUID."""
    if not rows:
        return {}
    return {uuid: number for uuid, number in tx.execute(insert(table).returning(table.c.uuid, table.c.id), rows)}


def lacking(*bindings: tuple[str, Iterable[str | None], Container[str | None]]) -> str | None:
    """What of a record is not here, for the report: of each binding its sentence, what the record names, and what of it
    is here."""
    return "; ".join(why for why, named, here in bindings if any(each and each not in here for each in named)) or None


def write_messages(tx: Transaction, move: Move, records: Sequence[Record]) -> None:
    """Messages with their labels. Those that the other side has still to send are failed here until it has."""
    records = list({each["reference"]: each for each in records}.values())
    known = find_carried(tx, move, MESSAGE, [each["reference"] for each in records])
    people = find_carried(tx, move, CONTACT, [each["contact"] for each in records])
    labels = find_carried(tx, move, LABEL, {uuid for each in records for uuid in each["labels"]})
    new = [each for each in records if each["reference"] not in known and each["contact"] in people]
    rows = _message_rows(tx, move, new, people)
    ids = insert_rows(tx, message, list(rows.values()))
    here = {reference: ids[row["uuid"]] for reference, row in rows.items()}
    _note_new(tx, move, rows.values(), ids)
    _change_messages(tx, move, [each for each in records if each["reference"] in known], known)
    _set_labels(tx, move, records, {**known, **here}, labels, set(here.values()))
    flows = find_carried(tx, move, FLOW, [each["flow"] for each in new])
    lacks = {
        each["reference"]: lacking((NO_FLOW, [each["flow"]], flows), (NO_LABEL, each["labels"], labels)) for each in new
    }
    moved = [Moved(reference, number, f"message {reference}", lacks[reference]) for reference, number in here.items()]
    lost = [each for each in records if each["reference"] not in known and each["contact"] not in people]
    moved += [Moved(each["reference"], None, each["label"], NO_CONTACT) for each in lost]
    keep_moved(tx, move, MESSAGE, moved)


def _message_rows(
    tx: Transaction, move: Move, records: Sequence[Record], people: dict[str, int]
) -> dict[str, dict[str, Any]]:
    channels = ensure_channels(tx, move, records)
    flows = find_carried(tx, move, FLOW, [each["flow"] for each in records])
    broadcasts = find_carried(tx, move, BROADCAST, [each["broadcast"] for each in records])
    uuids = free_uuids(tx, move, message, records)
    return {
        each["reference"]: {
            "workspace_id": move.workspace.id,
            "uuid": uuids.get(each["reference"]) or new_uuid(),
            "contact_id": people[each["contact"]],
            "urn": each["urn"],
            "channel_id": channels.get(each["channel"].get("uuid")) if each["channel"] else None,
            "broadcast_id": broadcasts.get(each["broadcast"] or ""),
            "flow_id": flows.get(each["flow"] or ""),
            **{name: each[name] for name in ("direction", "type", "status", "visibility", "text")},
            "attachments": each["attachments"],
            "quick_replies": each["quick_replies"],
            "failed_reason": LEFT_THERE if each["is_left_there"] else None,
            "error_count": 0,
            "segments": count_segments(each["urn"], each["text"], [file["url"] for file in each["attachments"]]),
            "created_on": each["created_on"] or tx.now,
            # Archiving counts from here, not from the time of the message.
            "stored_on": tx.now,
            "sent_on": each["sent_on"],
            "modified_on": each["modified_on"] or each["created_on"] or tx.now,
        }
        for each in sorted(records, key=lambda each: each["created_on"] or tx.now)
    }


def _note_new(tx: Transaction, move: Move, rows: Iterable[dict[str, Any]], ids: dict[str, int]) -> None:
    """Conversations and figures follow. A conversation whose last message came with the move counts as read."""
    contact_ids = sorted({row["contact_id"] for row in rows})
    if not ids:
        return
    note_stored(tx, move.workspace.id, sorted(ids.values()))
    tx.flush()
    last = conversation.c
    for some in split(contact_ids):
        theirs = (last.workspace_id == move.workspace.id) & last.contact_id.in_(some) & last.is_unread
        newest = tx.execute(select(last.contact_id, last.message_id).where(theirs)).all()
        moved = set(ids.values()) | are_moved(tx, move, MESSAGE, {row.message_id for row in newest})
        mark_read(tx, move.workspace.id, [row.contact_id for row in newest if row.message_id in moved])


def _change_messages(tx: Transaction, move: Move, records: Sequence[Record], known: dict[str, int]) -> None:
    rows, changed = message.c, dict[int, dict[str, Any]]()
    wanted = {known[each["reference"]]: each for each in records}
    for some in split(sorted(wanted)):
        mine = (rows.workspace_id == move.workspace.id) & rows.id.in_(some)
        columns = [rows[name] for name in (*CHANGING, "direction", "channel_id", "created_on")]
        for row in tx.execute(select(rows.id, rows.failed_reason, *columns).where(mine).order_by(rows.id)):
            new = wanted[row.id]
            if row.direction == OUTGOING:
                changes_of(tx, move.workspace.id).fare(row.status, new["status"], row.created_on, row.channel_id)
            if any(getattr(row, name) != new[name] for name in CHANGING):
                reason = LEFT_THERE if new["is_left_there"] else None
                changed[row.id] = {"failed_reason": reason, **{name: new[name] for name in CHANGING}}
    if not changed:
        return
    _recount(tx, move, sorted(changed), -1)
    change_each_message(tx, move.workspace.id, changed)
    _recount(tx, move, sorted(changed), 1)


def _recount(tx: Transaction, move: Move, ids: Sequence[int], direction: int) -> None:
    """Takes the visible ones of these messages out of their labels' counts, or adds them."""
    links, counts = message_label.c, Counter[int]()
    for some in split(ids):
        theirs = (links.workspace_id == move.workspace.id) & links.message_id.in_(some)
        on = (message.c.workspace_id == links.workspace_id) & (message.c.id == links.message_id)
        counted = select(links.label_id, func.count()).join(message, on).where(theirs, message.c.visibility == VISIBLE)
        counts.update(dict(tx.execute(counted.group_by(links.label_id)).all()))
    for label_id, number in sorted(counts.items()):
        change_count(tx, move.workspace.id, label_id, direction * number)


def _set_labels(
    tx: Transaction,
    move: Move,
    records: Sequence[Record],
    ids: dict[str, int],
    labels: dict[str, int],
    new: set[int],
) -> None:
    """Gives messages exactly the labels that they have there; deleted ones have none."""
    links, counts = message_label.c, Counter[int]()
    by_id = {ids[each["reference"]]: each for each in records if each["reference"] in ids}
    kept = {number: each["labels"] for number, each in by_id.items() if each["visibility"] != DELETED}
    wanted = {(number, labels[uuid]) for number, theirs in kept.items() for uuid in theirs if uuid in labels}
    present: set[tuple[int, int]] = set()
    for some in split(sorted(set(by_id) - new)):
        theirs = (links.workspace_id == move.workspace.id) & links.message_id.in_(some)
        present |= set(tx.execute(select(links.message_id, links.label_id).where(theirs)).all())
    ours = set(labels.values())
    gone = {
        (number, label_id) for number, label_id in present - wanted if label_id in ours or not by_id[number]["labels"]
    }
    rows = []
    for number, label_id in sorted(wanted - present):
        link = {"workspace_id": move.workspace.id, "message_id": number, "label_id": label_id}
        rows.append({**link, "created_on": by_id[number]["created_on"] or tx.now})
        counts[label_id] += by_id[number]["visibility"] == VISIBLE
    if rows:
        tx.execute(insert(message_label), rows)
    for number, label_id in sorted(gone):
        mine = (links.workspace_id == move.workspace.id) & (links.message_id == number) & (links.label_id == label_id)
        tx.execute(delete(message_label).where(mine))
        counts[label_id] -= by_id[number]["visibility"] == VISIBLE
    for label_id, change in sorted(counts.items()):
        change_count(tx, move.workspace.id, label_id, change)
    change_messages(tx, move.workspace.id, {number for number, _ in (wanted - present) | gone} - new)


def _touch(tx: Transaction, move: Move, table: Any, ids: Iterable[int]) -> None:
    """Moves the times of changed broadcasts, by which mirrors see them."""
    changed = sorted(ids)
    for some in split(changed):
        mine = (table.c.workspace_id == move.workspace.id) & table.c.id.in_(some)
        tx.execute(update(table).where(mine).values(modified_on=later(table, tx.now, is_sqlite=tx.sqlite)))
    note_changed(tx, table, move.workspace.id, changed)


def write_broadcasts(tx: Transaction, move: Move, records: Sequence[Record]) -> None:
    known = find_carried(tx, move, BROADCAST, [each["reference"] for each in records])
    uuids = free_uuids(tx, move, broadcast, records)
    rows = {
        each["reference"]: {
            "workspace_id": move.workspace.id,
            "uuid": uuids.get(each["reference"]) or new_uuid(),
            "status": each["status"],
            "urns": each["urns"],
            "text": each["text"],
            "attachments": each["attachments"],
            "files": {},
            "quick_replies": dict.fromkeys(each["text"], ()),
            "base_language": each["base_language"][:3],
            "is_evaluated": False,
            "total": -1,
            "started": 0,
            "last_contact_id": 0,
            "created_on": each["created_on"] or tx.now,
            "modified_on": each["created_on"] or tx.now,
        }
        for each in sorted(records, key=lambda each: each["created_on"] or tx.now)
        if each["reference"] not in known
    }
    ids = insert_rows(tx, broadcast, list(rows.values()))
    here = {reference: ids[row["uuid"]] for reference, row in rows.items()}
    note_changed(tx, broadcast, move.workspace.id, ids.values())
    new = [each for each in records if each["reference"] in here]
    lacks = _link(tx, move, new, here, "broadcast_id", OF_BROADCAST)
    set_statuses(tx, move, broadcast, records, known)
    keep_moved(
        tx,
        move,
        BROADCAST,
        [Moved(each["reference"], here[each["reference"]], each["label"], lacks[each["reference"]]) for each in new],
    )


def set_statuses(tx: Transaction, move: Move, table: Any, records: Sequence[Record], known: dict[str, int]) -> None:
    """What was unfinished there may have ended since."""
    changed = []
    for each in records:
        if each["reference"] in known:
            mine = (table.c.workspace_id == move.workspace.id) & (table.c.id == known[each["reference"]])
            ended = update(table).where(mine, table.c.status != each["status"]).values(status=each["status"])
            changed += [known[each["reference"]]] if tx.execute(ended).rowcount else []
    if table is flow_start and changed:
        touch(tx, table, move.workspace.id, table.c.id.in_(changed))
    elif changed:
        _touch(tx, move, table, changed)


OF_BROADCAST = (broadcast_contact, broadcast_group)
OF_START = (flow_start_contact, flow_start_group)


def _link(
    tx: Transaction, move: Move, records: Sequence[Record], ids: dict[str, int], name: str, tables: tuple[Any, Any]
) -> dict[str, str | None]:
    """The contacts and groups that a broadcast or start names; returns what of each record is not here."""
    people = find_carried(tx, move, CONTACT, {uuid for each in records for uuid in each["contacts"]})
    groups = find_carried(tx, move, GROUP, {uuid for each in records for uuid in each["groups"]})
    shared = {"workspace_id": move.workspace.id}
    theirs, members = [], []
    for each in records:
        owner = {**shared, name: ids[each["reference"]]}
        chosen = dict.fromkeys(people[uuid] for uuid in each["contacts"] if uuid in people)
        theirs += [{**owner, "contact_id": number, "is_named": True} for number in chosen]
        named = dict.fromkeys(groups[uuid] for uuid in each["groups"] if uuid in groups)
        members += [{**owner, "group_id": number, "is_excluded": False} for number in named]
    for table, rows in zip(tables, (theirs, members), strict=True):
        if rows:
            tx.execute(insert(table), rows)
    return {
        each["reference"]: lacking((NO_CONTACTS, each["contacts"], people), (NO_GROUP, each["groups"], groups))
        for each in records
    }


def write_starts(tx: Transaction, move: Move, records: Sequence[Record]) -> None:
    known = find_carried(tx, move, START, [each["reference"] for each in records])
    flows = find_carried(tx, move, FLOW, [each["flow"] for each in records])
    new = [each for each in records if each["reference"] not in known]
    uuids = free_uuids(tx, move, flow_start, new)
    rows = {
        each["reference"]: {
            "workspace_id": move.workspace.id,
            "uuid": uuids.get(each["reference"]) or new_uuid(),
            "flow_id": flows[each["flow"]],
            "status": each["status"],
            "start_type": "api",
            "restart_participants": each["restart_participants"],
            "exclude_active": each["exclude_active"],
            "makes_runs": False,
            "params": each["params"],
            "parent": None,
            "total": -1,
            "is_expanded": True,
            "created_on": each["created_on"] or tx.now,
            "modified_on": each["modified_on"] or each["created_on"] or tx.now,
        }
        for each in sorted(new, key=lambda each: each["created_on"] or tx.now)
        if each["flow"] in flows
    }
    ids = insert_rows(tx, flow_start, list(rows.values()))
    here = {reference: ids[row["uuid"]] for reference, row in rows.items()}
    carried = [each for each in new if each["reference"] in here]
    lacks = _link(tx, move, carried, here, "start_id", OF_START)
    set_statuses(tx, move, flow_start, records, known)
    moved = [
        Moved(each["reference"], here[each["reference"]], each["label"], lacks[each["reference"]]) for each in carried
    ]
    moved += [Moved(each["reference"], None, each["label"], NO_FLOW) for each in new if each["flow"] not in flows]
    keep_moved(tx, move, START, moved)


def write_events(tx: Transaction, move: Move, records: Sequence[Record]) -> None:
    """Calls and other events of channels."""
    known = find_carried(tx, move, EVENT, [each["reference"] for each in records])
    new = [each for each in records if each["reference"] not in known]
    people = find_carried(tx, move, CONTACT, [each["contact"] for each in new])
    channels = ensure_channels(tx, move, new)
    uuids = free_uuids(tx, move, channel_event, new)
    moved, rows = [], {}
    for each in sorted(new, key=lambda each: each["created_on"] or tx.now):
        channel_id = channels.get(each["channel"].get("uuid") or "") if each["channel"] else None
        if each["contact"] not in people or channel_id is None:
            note = NO_CONTACT if each["contact"] not in people else NO_CHANNEL
            moved.append(Moved(each["reference"], None, each["label"], note))
            continue
        created = each["created_on"] or each["occurred_on"] or tx.now
        rows[each["reference"]] = {
            "workspace_id": move.workspace.id,
            "uuid": uuids.get(each["reference"]) or new_uuid(),
            "channel_id": channel_id,
            "contact_id": people[each["contact"]],
            "type": each["type"],
            "extra": each["extra"],
            "occurred_on": each["occurred_on"] or created,
            "created_on": created,
            "is_pending": False,
        }
    ids = insert_rows(tx, channel_event, list(rows.values()))
    moved += [Moved(reference, ids[row["uuid"]]) for reference, row in rows.items()]
    keep_moved(tx, move, EVENT, moved)
