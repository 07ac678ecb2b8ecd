"""Brings in messages, runs and tickets of another server in bulk, from its API or its archives, and keeps the archives
themselves. Runs that go on there are interrupted here. Contacts, labels and channels that an archive names are found
here, or made; contacts and records that are here already stay as they are.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from sqlalchemy import bindparam, func, insert, select

from flows.urns import URN_LENGTH_MAX, Urn, UrnError, read_urn
from persistence.changes import change_contacts
from persistence.contacts.owners import find_owners
from persistence.database import Transaction
from persistence.groups.smart_groups import refresh_contacts
from persistence.move.contacts import write_contacts
from persistence.move.history import NO_CONTACT, NO_FLOW, free_uuids, insert_rows, lacking, write_messages
from persistence.move.moves import (
    ARCHIVE,
    ARCHIVES,
    CONTACT,
    FLOW,
    MESSAGE,
    RUN,
    START,
    TICKET,
    TOPIC,
    Move,
    Moved,
    Record,
    find_carried,
    keep_moved,
    open_move,
)
from persistence.move.setup import write_labels
from persistence.sql.columns import is_uuid, new_uuid, split
from persistence.sql.names import find_ids
from persistence.stamps import stamped
from persistence.statements import update
from persistence.tables.contacts import CLOSED, OPEN, contact, ticket, ticket_event
from persistence.tables.flows import flow, flow_run
from persistence.tables.messages import message
from persistence.tables.service import archive
from persistence.tickets.records import OPENED, choose_assignees
from persistence.tickets.topics import count_tickets, find_default_topic
from persistence.users import find_member
from persistence.workspaces.records import Workspace

NO_START = "its flow start is not here"
COUNTED = {"completed": "completed_run_count", "expired": "expired_run_count"}

NO_TOPIC = "its topic is not here: it has the topic of those without one"
SECOND = "was open there, and is closed here: the contact has another open ticket"


def write_runs(tx: Transaction, move: Move, records: Sequence[Record]) -> None:
    """Runs with their paths and results. Flows count them."""
    records = list({each["reference"]: each for each in records}.values())
    known = find_carried(tx, move, RUN, [each["reference"] for each in records])
    people = find_carried(tx, move, CONTACT, [each["contact"] for each in records])
    flows = find_carried(tx, move, FLOW, [each["flow"] for each in records])
    starts = find_carried(tx, move, START, [each["start"] for each in records])
    counts: Counter[tuple[int, str]] = Counter()
    moved, rows = [], {}
    new = [each for each in records if each["reference"] not in known]
    uuids = free_uuids(tx, move, flow_run, new)
    used = _used_starts(tx, move, set(starts.values()), set(people.values()))
    for each in sorted(new, key=lambda each: each["modified_on"] or tx.now):
        if each["contact"] not in people or each["flow"] not in flows:
            note = NO_CONTACT if each["contact"] not in people else NO_FLOW
            moved.append(Moved(each["reference"], None, each["label"], note))
            continue
        pair = (starts.get(each["start"] or ""), people[each["contact"]])
        row = _run_row(tx, each, flows[each["flow"]])
        identity = {"uuid": uuids.get(each["reference"]) or new_uuid(), "workspace_id": move.workspace.id}
        rows[each["reference"]] = {
            **identity,
            **row,
            "contact_id": pair[1],
            "start_id": None if pair in used else pair[0],
        }
        used.add(pair)
        counts[flows[each["flow"]], COUNTED.get(each["status"], "interrupted_run_count")] += 1
    ids = insert_rows(tx, flow_run, list(rows.values()))
    lacks = {each["reference"]: lacking((NO_START, [each["start"]], starts)) for each in new}
    moved += [
        Moved(reference, ids[row["uuid"]], f"run {reference}", lacks[reference]) for reference, row in rows.items()
    ]
    _change_runs(tx, move, [each for each in records if each["reference"] in known], known, counts)
    _count_runs(tx, move, counts)
    keep_moved(tx, move, RUN, moved)


def write_tickets(tx: Transaction, move: Move, records: Sequence[Record]) -> None:
    """Tickets with their topic, status and the people who are here; later passes bring what became of them."""
    known = find_carried(tx, move, TICKET, [each["reference"] for each in records])
    people = find_carried(tx, move, CONTACT, [each["contact"] for each in records])
    topics = find_carried(tx, move, TOPIC, [each["topic"] for each in records])
    default = find_default_topic(tx, move.workspace.id)
    users = {
        email: find_member(tx, move.workspace.id, email)
        for email in {each[name] for each in records for name in ("assignee", "opened_by")} - {None}
    }
    able = choose_assignees(tx, move.workspace.id, set(users.values()))
    counts: Counter[tuple[int, str]] = Counter()
    opened: Counter[int] = Counter()
    moved = []
    for each in sorted(records, key=lambda each: each["opened_on"] or tx.now):
        if each["contact"] not in people:
            moved.append(Moved(each["reference"], None, each["label"], NO_CONTACT))
            continue
        topic_id = topics.get(each["topic"] or "") or default
        user_id = users.get(each["assignee"])
        assignee_id = user_id if user_id in able else None
        lack = "cannot act on tickets here" if user_id else "is not here"
        notes = [f"was assigned to {each['assignee']}, who {lack}"] if each["assignee"] and not assignee_id else []
        opener_id = users.get(each["opened_by"])
        if each["opened_by"] and not opener_id:
            notes.append(f"was opened by {each['opened_by']}, who is not here")
        if each["topic"] and each["topic"] not in topics:
            notes.append(NO_TOPIC)
        ticket_id, lost = _store(
            tx,
            move,
            each,
            known.get(each["reference"]),
            people[each["contact"]],
            topic_id,
            assignee_id,
            opener_id,
            counts,
            opened,
        )
        if each["reference"] not in known:
            _note_opening(tx, move, each, ticket_id, users.get(each["opened_by"]), assignee_id, topic_id)
        notes += [lost] if lost else []
        moved.append(Moved(each["reference"], ticket_id, each["label"], "; ".join(notes) or None))
    count_tickets(
        tx,
        move.workspace.id,
        {topic_id: (counts[topic_id, OPEN], counts[topic_id, CLOSED]) for topic_id in sorted({t for t, _ in counts})},
    )
    _count_open(tx, move, opened)
    keep_moved(tx, move, TICKET, moved)


WRITERS: dict[str, tuple[Any, Callable[[Transaction, Move, Sequence[Record]], None]]] = {
    MESSAGE: (message, write_messages),
    RUN: (flow_run, write_runs),
}


@dataclass(frozen=True, slots=True)
class Archived:
    """A chunk of an archive: its records, and the contacts and labels that they name, as `relayboard.move.reading`
    reads them."""

    kind: str
    records: Sequence[Record]
    people: Sequence[Record]
    labels: Sequence[Record]


@dataclass(frozen=True, slots=True)
class Stored:
    """How many records of a chunk are new here, were here already, or name a contact or flow that is not known."""

    new: int
    present: int
    lost: int


def write_archived(tx: Transaction, workspace: Workspace, chunk: Archived) -> Stored:
    """Stores the records of a chunk that are not here."""
    table, write = WRITERS[chunk.kind]
    move = open_move(tx, workspace, ARCHIVES)
    records = list({each["reference"]: each for each in chunk.records}.values())
    known = find_carried(tx, move, chunk.kind, [each["reference"] for each in records])
    here = find_ids(tx, workspace.id, table, [each["uuid"] for each in records if is_uuid(each["uuid"] or "")])
    new = [each for each in records if each["reference"] not in known and (each["uuid"] or "").lower() not in here]
    _bring_people(tx, move, chunk.people)
    _find_flows(tx, move, new)
    if chunk.labels:
        write_labels(tx, move, chunk.labels)
    write(tx, move, new)
    stored = len(find_carried(tx, move, chunk.kind, [each["reference"] for each in new]))
    return Stored(stored, len(records) - len(new), len(new) - stored)


def find_new_archives(tx: Transaction, move: Move, records: Sequence[Record]) -> list[Record]:
    known = find_carried(tx, move, ARCHIVE, [each["reference"] for each in records])
    return [each for each in records if each["reference"] not in known]


def write_archive(tx: Transaction, move: Move, record: Record, location: str | None) -> None:
    """Lists an archive whose file (`location`) is in the media store."""
    day = date.fromisoformat(record["start_date"])
    same = (
        (archive.c.workspace_id == move.workspace.id)
        & (archive.c.archive_type == record["type"])
        & (archive.c.period == record["period"])
        & (archive.c.start_date == day)
    )
    part = tx.execute(select(func.coalesce(func.max(archive.c.part), -1) + 1).where(same)).scalar_one()
    archive_id = tx.insert(
        archive,
        workspace_id=move.workspace.id,
        archive_type=record["type"],
        period=record["period"],
        start_date=day,
        part=part,
        record_count=record["record_count"],
        size=record["size"],
        hash=record["hash"],
        location=location,
        is_trimmed=True,
        created_on=tx.now,
    )
    keep_moved(tx, move, ARCHIVE, [Moved(record["reference"], archive_id)])


def lose_archive(tx: Transaction, move: Move, record: Record, why: str) -> None:
    keep_moved(tx, move, ARCHIVE, [Moved(record["reference"], None, record["label"], why)])


def _used_starts(
    tx: Transaction, move: Move, start_ids: set[int], contact_ids: set[int]
) -> set[tuple[int | None, int]]:
    """Those of these contacts that have a run of these starts."""
    if not start_ids:
        return set()
    rows = flow_run.c
    mine = (rows.workspace_id == move.workspace.id) & rows.start_id.in_(sorted(start_ids))
    mine &= rows.contact_id.in_(sorted(contact_ids))
    return set(tx.execute(select(rows.start_id, rows.contact_id).where(mine, rows.start_id.is_not(None))).all())


def _run_row(tx: Transaction, record: Record, flow_id: int) -> dict[str, Any]:
    ended = record["exited_on"] or record["modified_on"] or tx.now
    departures = [*(step["time"] for step in record["path"][1:]), None][: len(record["path"])]
    said = list(record["values"].values())
    nodes = {result["node"] for result in said}
    return {
        "session_id": None,
        "flow_id": flow_id,
        "parent_uuid": None,
        "status": record["status"],
        "responded": record["responded"],
        "results": record["values"],
        "path": record["path"],
        "visits": [
            {
                "type": "R" if step["node"] in nodes else "A",
                "left_on": left_on,
                "results": [result for result in said if result["node"] == step["node"]],
            }
            for step, left_on in zip(record["path"], departures, strict=True)
        ],
        "created_on": record["created_on"] or tx.now,
        "modified_on": record["modified_on"] or tx.now,
        "exited_on": ended,
    }


def _change_runs(
    tx: Transaction,
    move: Move,
    records: Sequence[Record],
    known: dict[str, int],
    counts: Counter[tuple[int, str]],
) -> None:
    """Runs that went on there since the last pass."""
    rows, changed = flow_run.c, []
    wanted = {known[each["reference"]]: each for each in records}
    names = ("status", "responded", "results", "path", "visits", "modified_on", "exited_on")
    for some in split(sorted(wanted)):
        mine = (rows.workspace_id == move.workspace.id) & rows.id.in_(some)
        for row in tx.execute(select(rows.id, rows.flow_id, rows.status, rows.modified_on).where(mine)):
            each = wanted[row.id]
            if row.modified_on == each["modified_on"] and row.status == each["status"]:
                continue
            new = _run_row(tx, each, row.flow_id)
            keys = {"owner": move.workspace.id, "wanted_id": row.id}
            changed.append({**keys, **{f"new_{name}": new[name] for name in names}})
            counts[row.flow_id, COUNTED.get(row.status, "interrupted_run_count")] -= 1
            counts[row.flow_id, COUNTED.get(each["status"], "interrupted_run_count")] += 1
    if changed:
        mine = (rows.workspace_id == bindparam("owner")) & (rows.id == bindparam("wanted_id"))
        values = {name: bindparam(f"new_{name}", type_=rows[name].type) for name in names}
        tx.execute(update(flow_run).where(mine).values(**values), changed)


def _count_runs(tx: Transaction, move: Move, counts: Counter[tuple[int, str]]) -> None:
    for (flow_id, name), change in sorted(counts.items()):
        if change:
            mine = (flow.c.workspace_id == move.workspace.id) & (flow.c.id == flow_id)
            tx.execute(update(flow).where(mine).values({name: flow.c[name] + change}))


def _store(
    tx: Transaction,
    move: Move,
    record: Record,
    ticket_id: int | None,
    contact_id: int,
    topic_id: int,
    assignee_id: int | None,
    opener_id: int | None,
    counts: Counter[tuple[int, str]],
    opened: Counter[int],
) -> tuple[int, str | None]:
    """Inserts or changes a ticket; returns its id, and what was lost. `counts` are of topics, `opened` of contacts."""
    rows, status, lost = ticket.c, record["status"], None
    theirs = (rows.workspace_id == move.workspace.id) & (rows.contact_id == contact_id) & (rows.status == OPEN)
    other = tx.execute(select(rows.id).where(theirs, rows.id != (ticket_id or 0))).first()
    if status == OPEN and other is not None:
        status, lost = CLOSED, SECOND
    closed_on = None if status == OPEN else record["closed_on"] or record["modified_on"] or tx.now
    values = {"status": status, "topic_id": topic_id, "assignee_id": assignee_id, "closed_on": closed_on}
    mine = (rows.workspace_id == move.workspace.id) & (rows.id == (ticket_id or 0))
    held = None if ticket_id is None else tx.execute(select(rows.status, rows.topic_id).where(mine)).first()
    if held is not None and ticket_id is not None:
        counts[held.topic_id, held.status] -= 1
        opened[contact_id] -= held.status == OPEN
        tx.execute(update(ticket).where(mine).values(modified_on=stamped(tx, ticket, move.workspace.id), **values))
    else:
        opened_on = record["opened_on"] or tx.now
        is_free = tx.execute(select(rows.id).where(rows.uuid == record["reference"])).first() is None
        ticket_id = tx.insert(
            ticket,
            workspace_id=move.workspace.id,
            uuid=record["reference"] if is_free and is_uuid(record["reference"]) else new_uuid(),
            contact_id=contact_id,
            flow_uuid=record["flow_uuid"] if is_uuid(record["flow_uuid"] or "") else None,
            flow_name=record["flow_name"],
            opened_by_id=opener_id,
            opened_on=opened_on,
            modified_on=record["modified_on"] or closed_on or opened_on,
            **values,
        )
    counts[topic_id, status] += 1
    opened[contact_id] += status == OPEN
    return ticket_id, lost


def _note_opening(
    tx: Transaction,
    move: Move,
    record: Record,
    ticket_id: int,
    user_id: int | None,
    assignee_id: int | None,
    topic_id: int,
) -> None:
    """The first entry of a ticket's history, which is all that the API shows of it."""
    values = {"workspace_id": move.workspace.id, "ticket_id": ticket_id, "type": OPENED, "user_id": user_id}
    given = {"assignee_id": assignee_id, "topic_id": topic_id, "note": record["note"]}
    tx.execute(insert(ticket_event).values(**values, **given, created_on=record["opened_on"] or tx.now))


def _count_open(tx: Transaction, move: Move, opened: Counter[int]) -> None:
    changed = {contact_id: change for contact_id, change in opened.items() if change}
    for contact_id, change in sorted(changed.items()):
        news = {"open_ticket_count": contact.c.open_ticket_count + change}
        change_contacts(tx, move.workspace.id, contact.c.id == contact_id, news)
    if changed:
        refresh_contacts(tx, move.workspace, sorted(changed))


def _bring_people(tx: Transaction, move: Move, people: Sequence[Record]) -> None:
    """Contacts by UUID, otherwise by URN; the others are made, with the name and URN in the archive."""
    workspace_id = move.workspace.id
    unique = {each["reference"]: each for each in people if is_uuid(each["reference"] or "")}
    known = find_carried(tx, move, CONTACT, unique)
    present = find_ids(tx, workspace_id, contact, set(unique) - set(known))
    living = select(contact.c.id).where(
        contact.c.workspace_id == workspace_id, contact.c.id.in_(present.values()), ~contact.c.is_deleted
    )
    alive = set(tx.execute(living).scalars())
    found = {uuid: number for uuid, number in present.items() if number in alive}
    rest = [each for uuid, each in unique.items() if uuid not in known and uuid not in present]
    urns = {each["reference"]: _read_urns(each["urns"]) for each in rest}
    owners = find_owners(tx, workspace_id, [urn for each in urns.values() for urn in each])
    for reference, theirs in urns.items():
        owner = next((owners[urn.identity].contact_id for urn in theirs if urn.identity in owners), None)
        if owner is not None:
            found[reference] = owner
    keep_moved(tx, move, CONTACT, [Moved(uuid, number) for uuid, number in found.items()])
    made = [each for each in rest if each["reference"] not in found]
    if made:
        write_contacts(tx, move, made, is_first=False)


def _read_urns(texts: Sequence[str]) -> list[Urn]:
    found = []
    for text in texts:
        try:
            found.append(read_urn(text, lenient=True, path_length=URN_LENGTH_MAX))
        except UrnError:
            continue
    return found


def _find_flows(tx: Transaction, move: Move, records: Sequence[Record]) -> None:
    named = {each["flow"] for each in records if is_uuid(each["flow"] or "")}
    known = find_carried(tx, move, FLOW, named)
    here = find_ids(tx, move.workspace.id, flow, named - set(known))
    keep_moved(tx, move, FLOW, [Moved(uuid, number) for uuid, number in here.items()])
