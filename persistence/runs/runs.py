"""Runs of contacts through flows, saved by workers after each sprint of the engine. New ones are inserted with the
clock of their workspace where it is held, so that no row is written a second time to give it its final time.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any, NamedTuple

from sqlalchemy import BindParameter, ColumnElement, Executable, bindparam, delete, select

from persistence.database import Transaction
from persistence.deletions import RUN, note_deleted
from persistence.sql.columns import split
from persistence.stamps import RUN_COMPLETED, Changes, changes_of, stamped, tell
from persistence.statements import among, insert_rows, json_text, statement, update
from persistence.tables.flows import flow_run, flow_start

ACTIVE, WAITING, COMPLETED = "active", "waiting", "completed"
INTERRUPTED, EXPIRED, FAILED = "interrupted", "expired", "failed"
OPEN = (ACTIVE, WAITING)

DOCUMENTS = ("results", "path", "visits")
"""Given as JSON texts."""
insert_runs = insert_rows(
    flow_run,
    (
        *("uuid", "workspace_id", "session_id", "flow_id", "contact_id", "start_id", "parent_uuid", "status"),
        *("responded", "results", "path", "visits", "created_on", "modified_on", "expires_on", "exited_on"),
    ),
    (flow_run.c.id, flow_run.c.uuid),
    as_text=DOCUMENTS,
)
WITH_CLOCK = """INSERT INTO flow_run (uuid, workspace_id, session_id, flow_id, contact_id, start_id, parent_uuid,
status, responded, results, path, visits, created_on, modified_on, expires_on, exited_on)
SELECT noted.uuid, CAST(:workspace_id AS integer), noted.session_id, noted.flow_id, noted.contact_id, noted.start_id,
noted.parent_uuid, noted.status, noted.responded, CAST(noted.results AS json), CAST(noted.path AS json),
CAST(noted.visits AS json), noted.created_on, moment.stamped_on, noted.expires_on, noted.exited_on
FROM moment, json_to_recordset(CAST(:runs AS json)) AS noted (uuid uuid, session_id bigint, flow_id bigint,
contact_id bigint, start_id bigint, parent_uuid uuid, status text, responded boolean, results text, path text,
visits text, created_on timestamptz, expires_on timestamptz, exited_on timestamptz)"""
"""On PostgreSQL; `moment` has the time, `:runs` are the rows as `rows_text` writes them."""


def _listed(*statuses: str) -> ColumnElement[bool]:
    listed: BindParameter[Any] = bindparam(None, statuses, expanding=True, literal_execute=True)
    return flow_run.c.status.in_(listed)


IS_OPEN = _listed(*OPEN)
"""The condition of a partial index, repeated in statements: SQLite uses such an index only if the statement contains
it."""


class RunState(NamedTuple):
    """A run to save. `flow_id` and `contact_id` never change; `exited_on` is given once it is over. By `exits` steps
    of the path were left; an empty one means that a step was not left.
    """

    uuid: str
    flow_id: int
    contact_id: int
    status: str
    created_on: datetime
    session_id: int | None = None
    start_id: int | None = None
    parent_uuid: str | None = None
    responded: bool = False
    results: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
    path: Sequence[Mapping[str, Any]] = ()
    visits: Sequence[Mapping[str, Any]] = ()
    expires_on: datetime | None = None
    exited_on: datetime | None = None
    exits: Sequence[str] = ()

    def values(self, modified_on: datetime) -> dict[str, Any]:
        """The stored columns, for new and known records."""
        return {
            "session_id": self.session_id,
            "status": self.status,
            "responded": self.responded,
            "results": dict(self.results),
            "path": list(self.path),
            "visits": list(self.visits),
            "modified_on": modified_on,
            "expires_on": self.expires_on,
            "exited_on": self.exited_on,
        }


def save_runs(
    tx: Transaction, workspace_id: int, runs: Collection[RunState], *, at_end: bool = False
) -> dict[str, int]:
    """Stores new runs and the current state of known ones, by UUID; returns the ids of those stored, by UUID. A known
    run that has ended is not changed and not returned: another transaction has ended it. With `at_end` new runs are
    stored at the end of the unit of work, which reads none of them, and not returned; their flows are locked.
    """
    if at_end:
        _hold_starts(tx, workspace_id, runs)
    known = _lock_known(tx, workspace_id, [run.uuid for run in runs])
    new = [run for run in runs if run.uuid not in known]
    changed = [run for run in runs if run.uuid in known and known[run.uuid].status in OPEN]
    made: dict[str, int] = {}
    if at_end and new:
        changes_of(tx, workspace_id).runs += [_new_row(workspace_id, run, tx.now) for run in new]
    elif not at_end:
        made = _store_now(tx, workspace_id, new)
    if changed:
        mine = (flow_run.c.workspace_id == workspace_id) & (flow_run.c.id == bindparam("known_id"))
        moment = stamped(tx, flow_run, workspace_id)
        columns: dict[str, Any] = {name: bindparam(f"new_{name}") for name in changed[0].values(moment)}
        rows = [
            {"known_id": known[run.uuid].id}
            | {f"new_{name}": value for name, value in run.values(moment).items()}
            | {"new_visits": _merge_visits(known[run.uuid].visits, run.visits)}
            for run in changed
        ]
        tx.execute(update(flow_run).where(mine).values(columns), rows)
    ended = [run.uuid for run in (*new, *changed) if run.status == COMPLETED]
    if ended:
        tell(tx, workspace_id, RUN_COMPLETED, ended)
    passes = _count_passes(new, changed, {run.uuid: known[run.uuid].visits for run in changed})
    if passes:
        changes_of(tx, workspace_id).flows.update(passes)
    for run in new:
        _count(tx, workspace_id, run.flow_id, None, run.status)
    for run in changed:
        _count(tx, workspace_id, run.flow_id, known[run.uuid].status, run.status)
    return made | {run.uuid: known[run.uuid].id for run in changed}


class _Known(NamedTuple):
    """A run that is stored."""

    id: int
    status: str
    visits: Sequence[Mapping[str, Any]]


def close_runs(tx: Transaction, workspace_id: int, condition: ColumnElement[bool], status: str = INTERRUPTED) -> None:
    """Ends the open runs that meet a condition, as `interrupted` or `expired`."""
    mine = (flow_run.c.workspace_id == workspace_id) & condition
    for before in OPEN:
        ending = update(flow_run).where(mine, _listed(before))
        moment = stamped(tx, flow_run, workspace_id)
        ended = ending.values(status=status, modified_on=moment, exited_on=tx.now).returning(flow_run.c.flow_id)
        for flow_id, number in Counter(tx.execute(ended).scalars()).items():
            _count(tx, workspace_id, flow_id, before, status, number)


def delete_runs_of(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> None:
    """Deletes all runs of contacts, with their answers; flows no longer count these runs."""
    theirs = (flow_run.c.workspace_id == workspace_id) & flow_run.c.contact_id.in_(contact_ids)
    columns = (flow_run.c.uuid, flow_run.c.flow_id, flow_run.c.status)
    gone = tx.execute(delete(flow_run).where(theirs).returning(*columns)).all()
    note_deleted(tx, workspace_id, RUN, [row.uuid for row in gone])
    for row in gone:
        _count(tx, workspace_id, row.flow_id, row.status, None)


def _count(
    tx: Transaction, workspace_id: int, flow_id: int, before: str | None, after: str | None, number: int = 1
) -> None:
    """Runs changed from one status to another, and their flow counts them; None means that a run does not exist before
    or after. `active` counts all runs without an end.
    """
    counts = tx.before_commit(Changes).run_counts
    if before is not None:
        counts[workspace_id, flow_id, _column_of(before)] -= number
    if after is not None:
        counts[workspace_id, flow_id, _column_of(after)] += number


def _column_of(status: str) -> str:
    """The column of a flow that counts runs with a status; failed runs count as interrupted."""
    word = {ACTIVE: "active", WAITING: "active", FAILED: "interrupted"}.get(status, status)
    return f"{word}_run_count"


def _store_now(tx: Transaction, workspace_id: int, new: Sequence[RunState]) -> dict[str, int]:
    made: dict[str, int] = {}
    for some in split(new):
        moment = stamped(tx, flow_run, workspace_id)
        stored = insert_runs.rows(tx, [_new_row(workspace_id, run, moment) for run in some])
        made |= {uuid: run_id for run_id, uuid in stored}
    return made


def _count_passes(
    new: Sequence[RunState], changed: Sequence[RunState], before: Mapping[str, Sequence[Mapping[str, Any]]]
) -> Counter[tuple[int, str, str, str]]:
    """The exits that runs passed since they were saved, and the results that they saved since."""
    passes: Counter[tuple[int, str, str, str]] = Counter()
    for run in [*new, *changed]:
        left = sum(1 for visit in before.get(run.uuid, ()) if visit.get("left_on"))
        for exit_uuid in run.exits[left:]:
            if exit_uuid:
                passes[run.flow_id, "exit", exit_uuid, ""] += 1
        keys = {result["name"]: key for key, result in run.results.items()}
        for result in (result for visit in run.visits for result in visit["results"]):
            if result["category"]:
                passes[run.flow_id, "result", keys.get(result["name"], result["name"]), result["category"]] += 1
    return passes


def _merge_visits(before: Sequence[Mapping[str, Any]], now: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The current visits with the results stored before, followed by the new ones."""
    known = [*before, *({} for _ in range(len(now) - len(before)))]
    return [
        {**visit, "results": [*(old.get("results") or ()), *visit["results"]]}
        for old, visit in zip(known, now, strict=False)
    ]


def _lock_known(tx: Transaction, workspace_id: int, uuids: Sequence[str]) -> dict[str, _Known]:
    """The runs with these UUIDs, locked in the order of their ids."""
    found = (row for some in split(uuids) for row in _lock_runs.rows(tx, workspace_id, some))
    return {uuid: _Known(run_id, status, visits) for run_id, uuid, status, visits in found}


def _hold_starts(tx: Transaction, workspace_id: int, runs: Collection[RunState]) -> None:
    """Locks the starts of runs, which would otherwise be locked only while the workspace's clock is held."""
    ids = sorted({run.start_id for run in runs if run.start_id is not None})
    if ids:
        _lock_starts.run(tx, workspace_id, ids)


@statement
def _lock_starts(workspace_id: int, ids: Sequence[int]) -> Executable:
    mine = (flow_start.c.workspace_id == workspace_id) & among(flow_start.c.id, ids)
    return select(flow_start.c.id).where(mine).order_by(flow_start.c.id).with_for_update(read=True, key_share=True)


@statement
def _lock_runs(workspace_id: int, uuids: Sequence[str]) -> Executable:
    rows = flow_run.c
    mine = (rows.workspace_id == workspace_id) & among(rows.uuid, uuids, "UUID")
    return select(rows.id, rows.uuid, rows.status, rows.visits).where(mine).order_by(rows.id).with_for_update()


def _new_row(workspace_id: int, run: RunState, modified_on: datetime) -> dict[str, Any]:
    values = run.values(modified_on)
    return values | {
        "uuid": run.uuid,
        "workspace_id": workspace_id,
        "flow_id": run.flow_id,
        "contact_id": run.contact_id,
        "start_id": run.start_id,
        "parent_uuid": run.parent_uuid,
        "created_on": run.created_on,
        **{name: json_text(values[name]) for name in DOCUMENTS},
    }
