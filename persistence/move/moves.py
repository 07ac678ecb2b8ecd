"""Moves of workspaces from other servers, and what each record there became here."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select

from persistence.database import Transaction
from persistence.errors import Refused
from persistence.sql.columns import split
from persistence.statements import update
from persistence.tables.data_jobs import moved_record, workspace_move
from persistence.workspaces.records import Workspace, hold_workspace

CHANNEL, FIELD, GLOBAL, GROUP, LABEL, TOPIC = "channel", "field", "global", "group", "label", "topic"
CONTACT, FLOW, CAMPAIGN, TRIGGER, RESTHOOK, SUBSCRIBER = (
    "contact", "flow", "campaign", "trigger", "resthook", "subscriber",
)  # fmt: skip
TEMPLATE, OPTIN, CLASSIFIER, TICKETER = "template", "optin", "classifier", "ticketer"
TICKET, BROADCAST, MESSAGE, START, RUN = "ticket", "broadcast", "message", "flow_start", "run"
EVENT, ARCHIVE, USER, CAMPAIGN_EVENT = "channel_event", "archive", "user", "campaign_event"
ARCHIVES = "archives"
"""The source of what came from files of archives, which is no server."""
NAME_LENGTH = 128

Record = dict[str, Any]
"""A record of the other server as `relayboard.move.reading` reads it; `reference` and `label` tell which it is."""


@dataclass(slots=True)
class Move:
    """A workspace that is copied from another server (`source`, its URL). `state` is a JSON document, which
    `save_state` writes."""

    id: int
    workspace: Workspace
    source: str
    state: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Moved:
    """What became of a record: the id here, None if it was not carried; `note` says what was lost and why."""

    reference: str
    record: int | None
    name: str | None = None
    note: str | None = None


def open_move(tx: Transaction, workspace: Workspace, source: str) -> Move:
    """The move of a workspace from this server, which begins if there is none. Raises Refused if the workspace was
    moved from another server: what both have could not be told apart any more."""
    hold_workspace(tx, workspace.id)
    found = find_move(tx, workspace, source)
    if found is not None:
        return found
    other = find_move(tx, workspace)
    if other is not None and other.state and source != ARCHIVES:
        raise Refused(f"This workspace is moved from {other.source}; for {source} create another workspace.")
    times = {"created_on": tx.now, "modified_on": tx.now}
    move_id = tx.insert(workspace_move, workspace_id=workspace.id, source=source, state={}, **times)
    return Move(move_id, workspace, source, {})


def find_move(tx: Transaction, workspace: Workspace, source: str | None = None) -> Move | None:
    """The move from this server, or the one that changed last."""
    rows = workspace_move.c
    chosen = select(rows.id, rows.source, rows.state).where(rows.workspace_id == workspace.id)
    chosen = chosen.where(rows.source == source if source is not None else rows.source != ARCHIVES)
    row = tx.execute(chosen.order_by(rows.modified_on.desc(), rows.id.desc()).limit(1)).first()
    return None if row is None else Move(row.id, workspace, row.source, row.state)


def save_state(tx: Transaction, move: Move) -> None:
    """Writes how far the move is, together with what this unit of work has written."""
    rows = workspace_move.c
    mine = (rows.workspace_id == move.workspace.id) & (rows.id == move.id)
    tx.execute(update(workspace_move).where(mine).values(state=move.state, modified_on=tx.now))


def find_moved(tx: Transaction, move: Move, kind: str, references: Iterable[str | None]) -> dict[str, int | None]:
    """The ids of those of these records that were looked at before; None for those that could not be carried."""
    rows = moved_record.c
    mine = (rows.workspace_id == move.workspace.id) & (rows.move_id == move.id) & (rows.kind == kind)
    found: dict[str, int | None] = {}
    for some in split(sorted({each for each in references if each})):
        chosen = select(rows.reference, rows.record).where(mine, rows.reference.in_(some))
        found.update((reference, record) for reference, record in tx.execute(chosen))
    return found


def find_carried(tx: Transaction, move: Move, kind: str, references: Iterable[str | None]) -> dict[str, int]:
    """Like `find_moved`, only those that are here."""
    found = find_moved(tx, move, kind, references)
    return {reference: record for reference, record in found.items() if record is not None}


def find_noted(tx: Transaction, move: Move, kind: str, references: Iterable[str]) -> set[str]:
    """Those of these records of which something was lost, which the report says."""
    rows = moved_record.c
    mine = (rows.workspace_id == move.workspace.id) & (rows.move_id == move.id) & (rows.kind == kind)
    found: set[str] = set()
    for some in split(sorted(references)):
        noted = select(rows.reference).where(mine, rows.reference.in_(some), rows.note.is_not(None))
        found.update(tx.execute(noted).scalars())
    return found


def are_moved(tx: Transaction, move: Move, kind: str, ids: Collection[int]) -> set[int]:
    """Those of these records here that came with this move."""
    rows = moved_record.c
    mine = (rows.workspace_id == move.workspace.id) & (rows.move_id == move.id) & (rows.kind == kind)
    found: set[int] = set()
    for some in split(sorted(ids)):
        found.update(each or 0 for each in tx.execute(select(rows.record).where(mine, rows.record.in_(some))).scalars())
    return found


def keep_moved(tx: Transaction, move: Move, kind: str, moved: Sequence[Moved]) -> None:
    """Remembers what became of records; a later answer replaces an earlier one."""
    if not moved:
        return
    statement = tx.upsert(moved_record)
    keys = ["move_id", "kind", "reference"] if tx.sqlite else ["move_id", "kind", "reference", "workspace_id"]
    changed = {name: statement.excluded[name] for name in ("record", "name", "note")}
    shared = {"workspace_id": move.workspace.id, "move_id": move.id, "kind": kind}
    last = {each.reference: each for each in moved}
    rows = [
        {
            **shared,
            "reference": each.reference,
            "record": each.record,
            "name": each.name[:NAME_LENGTH] if each.name and each.note else None,
            "note": each.note,
        }
        for each in last.values()
    ]
    tx.execute(statement.on_conflict_do_update(index_elements=keys, set_=changed), rows)


def count_moved(tx: Transaction, move: Move) -> dict[str, tuple[int, int]]:
    """For each kind how many records were carried, and how many were not."""
    rows = moved_record.c
    mine = (rows.workspace_id == move.workspace.id) & (rows.move_id == move.id)
    counted = select(rows.kind, func.count(rows.record), func.count()).where(mine).group_by(rows.kind)
    return {kind: (carried, everything - carried) for kind, carried, everything in tx.execute(counted)}


def list_notes(tx: Transaction, move: Move, kind: str, most: int) -> Iterator[Moved]:
    """What was lost of a kind, and why; at most so many."""
    rows = moved_record.c
    mine = (rows.workspace_id == move.workspace.id) & (rows.move_id == move.id) & (rows.kind == kind)
    noted = select(rows.reference, rows.record, rows.name, rows.note).where(mine, rows.note.is_not(None))
    for row in tx.execute(noted.order_by(rows.reference).limit(most)):
        yield Moved(row.reference, row.record, row.name, row.note)


def count_notes(tx: Transaction, move: Move) -> dict[tuple[str, str], int]:
    """How often each reason was noted, by kind."""
    rows = moved_record.c
    mine = (rows.workspace_id == move.workspace.id) & (rows.move_id == move.id) & rows.note.is_not(None)
    counted = select(rows.kind, rows.note, func.count()).where(mine).group_by(rows.kind, rows.note)
    return {(kind, note or ""): number for kind, note, number in tx.execute(counted)}
