"""What starts or continues flows by time: flow starts, whose contacts are found page by page and started batch by
batch, timeouts and expirations.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import Any

from flows.environment import write_moment
from persistence.database import Transaction
from persistence.flow_starts.batches import (
    StartBatch,
    begin_expansion,
    end_next_runs,
    end_start,
    expand_start,
    find_left_out,
    find_made_runs,
    find_started,
    finish_batch,
    give_up_batch,
    lease_batch,
    lease_start,
    leave_parked,
    list_ending_workspaces,
    list_expanding_workspaces,
    list_starting_workspaces,
    postpone_batch,
)
from persistence.flow_starts.flow_starts import CAMPAIGN, FAILED, FLOW_ACTION, TICKET
from persistence.flows.assets import DatabaseAssets
from persistence.leases import MOST_ATTEMPTS
from persistence.sessions.parking import CALLBACK, STARTS, ReceivedCallback, load_callbacks, park, see_free
from persistence.sessions.sessions import (
    WaitingSession,
    count_anew,
    find_due_waits,
    list_waiting_workspaces,
    load_waiting,
    put_off,
)
from persistence.tables.flows import IS_PASSIVE
from persistence.users import find_user_reference
from worker.fairness import begin_turns
from worker.flows.runner import BatchContext, FlowRunner, OnRecorded, run_batch
from worker.flows.sprints import Task
from worker.runtime import Runtime

TIMERS = "timers"


def begin_starts(runtime: Runtime) -> Callable[[], bool]:
    """The step that finds one page of contacts of a start, starts the contacts of one batch, and interrupts a page of
    the runs of starts that were interrupted with them."""
    runner = FlowRunner(runtime)

    def work(workspace_id: int) -> bool:
        start_id = runtime.database.write(lambda tx: begin_expansion(tx, workspace_id))
        if start_id is not None:
            runtime.database.write(lambda tx: _expand(tx, workspace_id, start_id))
        batch = runtime.database.write(lambda tx: lease_batch(tx, workspace_id))
        if batch is not None:
            _start_batch(runner, batch)
        are_more_left = runtime.database.write(lambda tx: end_next_runs(tx, workspace_id))
        return are_more_left or start_id is not None or batch is not None

    return begin_turns(runtime, _list_due, work)


def plan_batch(
    tx: Transaction, context: BatchContext, batch: StartBatch, contact_ids: Collection[int]
) -> tuple[set[int], list[Task]]:
    """The contacts of a batch that are started already, and the tasks for these of its contacts."""
    begun = find_started(tx, batch)
    left_out = find_left_out(tx, batch) - begun
    made = find_made_runs(tx, batch)
    trigger = _describe_trigger(tx, context, batch)
    is_passive = bool((batch.parent or {}).get(IS_PASSIVE))
    return begun, [
        Task(
            contact_id,
            trigger=trigger,
            start_id=batch.start_id,
            run_uuid=made.get(contact_id),
            cause=batch.start_uuid,
            is_passive=is_passive,
            is_by_flow=batch.start_type == FLOW_ACTION,
        )
        if contact_id not in begun | left_out and _may_start(context, contact_id) and trigger is not None
        else Task(contact_id)
        for contact_id in sorted(contact_ids)
    ]


def begin_timers(runtime: Runtime) -> Callable[[], bool]:
    """The step that ends the waits of a batch of contacts of one workspace."""
    runner = FlowRunner(runtime)
    return begin_turns(
        runtime,
        list_waiting_workspaces,
        lambda workspace_id: run_batch(runner, workspace_id, TIMERS, find_due_waits, plan_waits),
    )


def plan_waits(
    tx: Transaction, context: BatchContext, contact_ids: Sequence[int]
) -> tuple[list[Task], OnRecorded | None]:
    """Ends the waits whose time or callback has come, and puts those off whose questions have not left for as long."""
    workspace_id, waiting = context.workspace.id, load_waiting(tx, context.workspace.id, contact_ids)
    called = load_callbacks(tx, workspace_id, [session.state for session in waiting.values()])
    come = [each for each in waiting.values() if each.ends_by(tx.now) and each.state.get("uuid") not in called]
    counted = {each.contact_id: each for each in count_anew(tx, workspace_id, come)} if come else {}
    waiting |= counted
    later = {contact_id: each for contact_id, each in counted.items() if not each.ends_by(tx.now)}

    def record(tx: Transaction, recorded: Sequence[int]) -> None:
        put_off(tx, workspace_id, [later[contact_id] for contact_id in recorded if contact_id in later])

    tasks = [_plan(contact_id, waiting.get(contact_id), called, tx.now) for contact_id in contact_ids]
    return tasks, record if later else None


def _list_due(tx: Transaction) -> list[int]:
    return sorted({*list_expanding_workspaces(tx), *list_starting_workspaces(tx), *list_ending_workspaces(tx)})


def _expand(tx: Transaction, workspace_id: int, start_id: int) -> None:
    start = lease_start(tx, workspace_id, start_id)
    if start is not None:
        expand_start(tx, start)


def _start_batch(runner: FlowRunner, batch: StartBatch) -> None:
    """Starts the contacts of a batch that are not started yet; if some of them are leased by others, or change before
    they are recorded, the batch is repeated soon.

    Contacts of a flow that may call other systems are parked, and the batch is repeated when all were handled.
    """
    if batch.attempts > MOST_ATTEMPTS:
        runner.database.write(lambda tx: give_up_batch(tx, batch))
        return
    with runner.database.reading() as tx:
        context = runner.open_context(tx, batch.workspace_id, ())
        flow_uuid = _find_flow_uuid(context.assets, batch)
    if flow_uuid is not None and context.assets.calls_out(flow_uuid):
        _park_batch(runner, batch, flow_uuid)
        return
    with runner.database.reading() as tx:
        seen = see_free(tx, batch.workspace_id, batch.contact_ids)
        context = runner.add_contacts(tx, context, sorted(seen.changed_on))
        begun, tasks = plan_batch(tx, context, batch, seen.changed_on)
    done = set(begun)
    for some in _portions(batch, tasks):
        done.update(runner.perform_unleased(context, seen, some, lambda tx: _find_done(tx, batch)))
    # In a transaction after that of the runs: a transaction that interrupts the start locks its row and then the runs.
    runner.database.write(lambda tx: _finish(tx, batch, done, is_flow_gone=flow_uuid is None))


def _portions(batch: StartBatch, tasks: list[Task]) -> list[list[Task]]:
    """What is recorded together. A batch that ended its worker is done contact by contact, from the other end the next
    time: only who ends workers is left out."""
    if batch.attempts == 1:
        return [tasks]
    alone = [[task] for task in tasks]
    return alone if batch.attempts % 2 == 0 else alone[::-1]


def _find_done(tx: Transaction, batch: StartBatch) -> set[int]:
    """The contacts, which are locked, whom others have started since they were planned, or in another flow."""
    return find_started(tx, batch) | find_left_out(tx, batch)


def _park_batch(runner: FlowRunner, batch: StartBatch, flow_uuid: str) -> None:
    with runner.database.reading() as tx:
        context = runner.open_context(tx, batch.workspace_id, batch.contact_ids)
        _, tasks = plan_batch(tx, context, batch, batch.contact_ids)
        free = see_free(tx, batch.workspace_id, batch.contact_ids).changed_on.keys()
    waiting = {each.contact_id for each in tasks if each.is_sprint}
    parked = dict.fromkeys(waiting & free, flow_uuid)

    def note(tx: Transaction) -> None:
        park(tx, batch.workspace_id, STARTS, parked, batch.id)
        if not waiting:
            finish_batch(tx, batch)
        elif parked:
            leave_parked(tx, batch)
        else:
            postpone_batch(tx, batch)

    runner.database.write(note)


def _finish(tx: Transaction, batch: StartBatch, done: AbstractSet[int], *, is_flow_gone: bool) -> None:
    """Ends a batch, or repeats it later; if the worker dies before, the batch is repeated when its lease expires."""
    if is_flow_gone:
        end_start(tx, batch.workspace_id, batch.start_id, FAILED, "Its flow was archived.")
    elif done >= set(batch.contact_ids):
        finish_batch(tx, batch)
    else:
        postpone_batch(tx, batch)


def _may_start(context: BatchContext, contact_id: int) -> bool:
    contact = context.contacts.get(contact_id)
    return contact is not None and contact.is_active


def _find_flow_uuid(assets: DatabaseAssets, batch: StartBatch) -> str | None:
    flow = next((each for each in assets.stored_flows.values() if each.id == batch.flow_id), None)
    return None if flow is None or flow.is_archived else flow.uuid


def _describe_trigger(tx: Transaction, context: BatchContext, batch: StartBatch) -> dict[str, Any] | None:
    """The engine's trigger for the contacts of a batch; None if the flow has been deleted or archived."""
    flow_uuid = _find_flow_uuid(context.assets, batch)
    if flow_uuid is None:
        return None
    trigger: dict[str, Any] = {
        "type": "manual",
        "flow": {"uuid": flow_uuid, "name": context.assets.stored_flows[flow_uuid].name},
        "triggered_on": write_moment(tx.now),
    }
    parent = {name: value for name, value in (batch.parent or {}).items() if name != IS_PASSIVE}
    if batch.start_type in (FLOW_ACTION, CAMPAIGN, TICKET) and parent:
        trigger |= {"type": batch.start_type} | parent
    elif batch.start_type != FLOW_ACTION:
        trigger["origin"] = batch.start_type
        user = None if batch.created_by_id is None else find_user_reference(tx, batch.created_by_id)
        trigger |= {} if user is None else {"user": user}
    if batch.params is not None:
        trigger["params"] = dict(batch.params)
    if not batch.is_alone:
        trigger["batch"] = True
    return trigger


def _plan(
    contact_id: int, session: WaitingSession | None, called: Mapping[str, ReceivedCallback], now: datetime
) -> Task:
    """What ends a wait: a callback that has arrived, the timeout if both times have come; nothing if the contact has
    continued meanwhile."""
    kind = None
    if session is not None and (callback := called.get(session.state.get("uuid", ""))) is not None:
        moment = write_moment(callback.received_on)
        event = {"type": "callback_received", "created_on": moment, CALLBACK: {"body": callback.body}}
        resume: dict[str, Any] = {"type": CALLBACK, "event": event, "resumed_on": moment}
        return Task(contact_id, resume=resume, session_id=session.id, state=session.state)
    if session is not None and session.timeout_on is not None and session.timeout_on <= now:
        kind = "wait_timeout"
    elif session is not None and session.expires_on is not None and session.expires_on <= now:
        kind = "wait_expiration"
    if session is None or kind is None:
        return Task(contact_id)
    resume = {"type": kind, "event": {"type": kind, "created_on": write_moment(now)}, "resumed_on": write_moment(now)}
    return Task(contact_id, resume=resume, session_id=session.id, state=session.state)
