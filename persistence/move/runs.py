"""Writes runs of another server in bulk, as history.py writes the rest. Runs that go on there are interrupted here."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from sqlalchemy import bindparam, select, update

from persistence.database import Transaction
from persistence.move.history import NO_CONTACT, NO_FLOW, free_uuids, insert_rows, lacking
from persistence.move.moves import (
    CONTACT,
    FLOW,
    RUN,
    START,
    Move,
    Moved,
    Record,
    find_carried,
    keep_moved,
)
from persistence.sql.columns import new_uuid, split
from persistence.tables.flows import flow
from persistence.tables.runs import flow_run

NO_START = "its flow start is not here"
COUNTED = {"completed": "completed_run_count", "expired": "expired_run_count"}


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
