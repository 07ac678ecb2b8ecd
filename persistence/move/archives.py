"""Brings in messages and runs from archives of other servers, and keeps the archives themselves. Contacts, labels and
channels that they name are found here, or made; contacts that are here stay as they are. A record that is here
already is left out.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from sqlalchemy import func, select

from flows.urns import URN_LENGTH_MAX, Urn, UrnError, read_urn
from persistence.contacts.owners import find_owners
from persistence.database import Transaction
from persistence.move.contacts import write_contacts
from persistence.move.history import write_messages
from persistence.move.moves import (
    ARCHIVE,
    ARCHIVES,
    CONTACT,
    FLOW,
    MESSAGE,
    RUN,
    Move,
    Moved,
    Record,
    find_carried,
    keep_moved,
    open_move,
)
from persistence.move.runs import write_runs
from persistence.move.setup import write_labels
from persistence.sql.columns import is_uuid
from persistence.sql.names import find_ids
from persistence.tables.contacts import contact
from persistence.tables.flows import flow
from persistence.tables.messages import message
from persistence.tables.runs import flow_run
from persistence.tables.service import archive
from persistence.workspaces import Workspace

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
