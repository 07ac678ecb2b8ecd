"""Records the outcomes of sprints: one transaction for many contacts, and nothing for contacts whose lease was lost."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import Any

from flows.engine import Session, interrupt
from flows.engine.state import FAILED, WAITING, Result, Run
from flows.environment import parse_moment
from persistence.contacts.urns import FixedClock
from persistence.database import Transaction
from persistence.flows.assets import DatabaseAssets, find_archived
from persistence.messages.incoming import finish_messages, give_up_messages
from persistence.runs.runs import EXPIRED, RunState, save_runs
from persistence.sessions.parking import (
    CALLBACK,
    CALLBACK_WAKE,
    Claim,
    forget_callbacks,
    load_callbacks,
    lock_claimed,
    release_claimed,
)
from persistence.sessions.sessions import (
    SessionState,
    expire_sessions,
    fail_sessions,
    find_waiting,
    forget_timeouts,
    interrupt_contacts,
    lock_waiting,
    move_contacts,
    move_contacts_at_end,
    save_sessions,
)
from persistence.sql.columns import new_uuid, time_text
from persistence.workspaces.records import Workspace
from worker.flows.effects import TYPES, Ends, Recording, carry_out, has_messages_alone, read_ends
from worker.flows.sprints import Outcome, SprintEvent, first_flow, flows_of_events

BACKGROUND = "messaging_background"
BY_TIME = ("wait_timeout", "wait_expiration")


FindDone = Callable[[Transaction], AbstractSet[int]]


def record_outcomes(
    tx: Transaction,
    workspace: Workspace,
    assets: DatabaseAssets,
    claim: Claim,
    outcomes: Sequence[Outcome],
    find_done: FindDone | None = None,
) -> list[int]:
    """Stores sessions and runs, performs the events, and ends the leases; returns the contacts that were recorded.
    Outcomes whose claim or waiting session is gone change nothing: the worker that took over does the work again.
    `find_done` finds, once the contacts are locked, those for whom others have done the work; they count as recorded.
    Events of a failed session are not performed.
    """
    rows = lock_claimed(tx, workspace.id, claim)
    held = {row.id for row in rows}
    wanted = held if find_done is None else held - find_done(tx)
    mine = [outcome for outcome in outcomes if outcome.task.contact_id in wanted]
    valid = _keep_waiting(tx, workspace.id, mine)
    forget_callbacks(tx, workspace.id, [each.task.state or {} for each in valid if _has_left(each)])
    sprints = end_passive_waits(tx, workspace.id, [outcome for outcome in valid if outcome.session is not None])
    broken = [each.task.contact_id for each in valid if each.is_broken and each.task.session_id is not None]
    fail_sessions(tx, workspace.id, broken)
    _end_refused_waits(tx, workspace.id, valid)
    _store_failed_starts(tx, workspace.id, assets, valid)
    sound = (outcome for outcome in sprints if _session(outcome).status != FAILED)
    events = [event for outcome in sound for event in _list_events(outcome)]
    # Effects of other kinds may read who is in which flow.
    at_end = all(each.task.start_id is not None for each in sprints) and has_messages_alone(events)
    moved = _store_sessions(tx, workspace, assets, sprints, at_end=at_end)
    carry_out(Recording(tx, workspace, assets.flow_ids, rows), events)
    tasks = [each.task for each in valid if each.is_broken and each.task.is_given_up]
    give_up_messages(tx, workspace.id, [each.message_id for each in tasks if each.message_id is not None])
    finish_messages(tx, workspace.id, _handled_messages(assets, valid))
    release_claimed(tx, claim, but=moved)
    return sorted(held)


def _session(outcome: Outcome) -> Session:
    assert outcome.session is not None
    return outcome.session


def _keep_waiting(tx: Transaction, workspace_id: int, outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Returns the outcomes without those of resumed sessions that were ended meanwhile."""
    resumed = [outcome.task.session_id for outcome in outcomes if outcome.task.session_id is not None]
    waiting = lock_waiting(tx, workspace_id, resumed)
    ended = [outcome.task.state or {} for outcome in outcomes if _is_ended_by_time(outcome)]
    called = load_callbacks(tx, workspace_id, ended)
    return [
        outcome
        for outcome in outcomes
        if outcome.task.session_id is None or outcome.task.session_id in waiting
        if not (_is_ended_by_time(outcome) and (outcome.task.state or {}).get("uuid") in called)
    ]


def _has_left(outcome: Outcome) -> bool:
    """Whether a session has gone on, or refused what arrived for it."""
    return outcome.session is not None or (outcome.task.resume or {}).get("type") == CALLBACK


def _is_ended_by_time(outcome: Outcome) -> bool:
    """A callback that arrived meanwhile was accepted: it goes before."""
    return (outcome.task.resume or {}).get("type") in BY_TIME


def _end_refused_waits(tx: Transaction, workspace_id: int, outcomes: Sequence[Outcome]) -> None:
    """Ends the due state of waits that the engine refuses to end, or they would be tried forever."""
    refused = [each for each in outcomes if each.refusal and not each.is_broken and each.task.resume is not None]
    of_kind = {
        kind: [each.task for each in refused if (each.task.resume or {}).get("type") == kind]
        for kind in (*BY_TIME, CALLBACK)
    }
    timed = [*of_kind["wait_timeout"], *of_kind[CALLBACK]]
    forget_timeouts(tx, workspace_id, [task.session_id for task in timed if task.session_id])
    expire_sessions(tx, workspace_id, [task.contact_id for task in of_kind["wait_expiration"]])


def _store_failed_starts(
    tx: Transaction, workspace_id: int, assets: DatabaseAssets, outcomes: Sequence[Outcome]
) -> None:
    """Stores failed runs of flows that could not be started, so that people see them."""
    runs = [
        RunState(
            each.task.run_uuid or new_uuid(),
            flow_id,
            each.task.contact_id,
            FAILED,
            tx.now,
            start_id=each.task.start_id,
            exited_on=tx.now,
        )
        for each in outcomes
        if each.is_broken and each.task.trigger is not None
        if (flow_id := assets.flow_ids.get(each.task.trigger["flow"]["uuid"])) is not None
    ]
    if runs:
        save_runs(tx, workspace_id, runs)


def _store_sessions(
    tx: Transaction, workspace: Workspace, assets: DatabaseAssets, sprints: Sequence[Outcome], *, at_end: bool
) -> set[int]:
    """Stores sessions and runs, and where their contacts wait. With `at_end`, which is for new sessions, runs and
    contacts are written at the end of the unit of work if it can be: a row that was written before would be written
    again then, with its final time. Returns the contacts whose leases end by that.
    """
    replaced = [
        outcome.task.contact_id
        for outcome in sprints
        if outcome.task.trigger is not None and not (outcome.task.is_passive or _session(outcome).type == BACKGROUND)
    ]
    if replaced:
        interrupt_contacts(tx, workspace.id, replaced)
    states = _end_called(tx, workspace.id, [_state(tx, outcome, assets) for outcome in sprints])
    session_ids = save_sessions(tx, workspace.id, states, moves_contacts=not at_end)
    runs = [
        _describe(run, outcome, state, session_ids[state.uuid], assets)
        for outcome, state in zip(sprints, states, strict=True)
        for run in _session(outcome).runs
        if run.flow["uuid"] in assets.flow_ids and _is_touched(run, outcome)
    ]
    # A transaction that archives a flow waits from here on, and then interrupts these runs itself.
    archived = find_archived(tx, workspace.id, {run.flow_id for run in runs})
    leaving = {run.contact_id for run in runs if run.exited_on is None and run.flow_id in archived}
    save_runs(tx, workspace.id, runs, at_end=at_end and not leaving)
    if at_end and not leaving:
        return move_contacts_at_end(tx, workspace.id, states)
    if at_end:
        move_contacts(tx, workspace.id, [state for state in states if state.status == WAITING])
    if leaving:
        interrupt_contacts(tx, workspace.id, sorted(leaving))
    return set()


def _end_called(tx: Transaction, workspace_id: int, states: Sequence[SessionState]) -> list[SessionState]:
    """Ends waits for callbacks that arrived before the waits were recorded."""
    called = load_callbacks(tx, workspace_id, [each.state for each in states if each.state and each.status == WAITING])
    if called:
        tx.wake(CALLBACK_WAKE)
    return [each._replace(timeout_on=tx.now) if each.uuid in called else each for each in states]


def _is_touched(run: Run, outcome: Outcome) -> bool:
    """Whether a run may have changed: a run that ended before is stored already."""
    before = {each["uuid"]: each for each in (outcome.task.state or {}).get("runs") or ()}.get(run.uuid)
    return before is None or not before.get("exited_on")


def _state(tx: Transaction, outcome: Outcome, assets: DatabaseAssets) -> SessionState:
    session = _session(outcome)
    waiting = session.waiting_run
    created_on = parse_moment(session.created_on) or tx.now
    began_on = parse_moment(session.pause_ended_on) or created_on
    is_waiting = session.status == WAITING
    ends = read_ends(outcome.events, now=tx.now, began_on=began_on) if is_waiting else Ends()
    return SessionState(
        uuid=session.uuid,
        contact_id=outcome.task.contact_id,
        session_type=session.type,
        status=session.status,
        state=session.to_json(),
        current_flow_id=assets.flow_ids.get(waiting.flow["uuid"]) if waiting is not None else None,
        sprint_count=session.sprints,
        created_on=created_on,
        ended_on=None if session.status == WAITING else tx.now,
        timeout_on=ends.timeout_on,
        expires_on=ends.expires_on,
        counted_from=ends.counted_from,
    )


def _describe(run: Run, outcome: Outcome, state: SessionState, session_id: int, assets: DatabaseAssets) -> RunState:
    is_first = not run.parent_uuid and outcome.task.trigger is not None
    return describe_run(
        run,
        flow_id=assets.flow_ids[run.flow["uuid"]],
        contact_id=outcome.task.contact_id,
        session_id=session_id,
        routing_nodes=assets.find_routing_nodes(run.flow["uuid"]),
        start_id=outcome.task.start_id if is_first else None,
        expires_on=state.expires_on,
    )


def _list_events(outcome: Outcome) -> Iterator[SprintEvent]:
    """The events that have effects."""
    session, task = _session(outcome), outcome.task
    for event, flow in flows_of_events(session, task.state, outcome.events):
        if event["type"] in TYPES:
            yield SprintEvent(event, task.contact_id, session, flow, task.start_id is not None, task.automatic)


def _flow_id(outcome: Outcome, assets: DatabaseAssets) -> int | None:
    """The flow that handled the message of a sprint."""
    return assets.flow_ids.get(first_flow(_session(outcome), outcome.task.state).get("uuid", ""))


def _handled_messages(assets: DatabaseAssets, outcomes: Sequence[Outcome]) -> dict[int, int | None]:
    """The flow that handled each message, by message id; None for the inbox."""
    return {
        outcome.task.message_id: None if outcome.session is None else _flow_id(outcome, assets)
        for outcome in outcomes
        if outcome.task.message_id is not None
    }


def end_passive_waits(tx: Transaction, workspace_id: int, outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Returns these outcomes. A passive session ends at its first wait if its contact waits in another flow, because a
    contact waits in one flow only. The events of the passive flow until then are performed.
    """
    contact_ids = [each.task.contact_id for each in outcomes if each.task.is_passive and _waits(each)]
    busy = find_waiting(tx, workspace_id, contact_ids) if contact_ids else set()
    return [
        _end(tx, each) if each.task.is_passive and _waits(each) and each.task.contact_id in busy else each
        for each in outcomes
    ]


def _waits(outcome: Outcome) -> bool:
    return _session(outcome).status == WAITING


def _end(tx: Transaction, outcome: Outcome) -> Outcome:
    session, events = interrupt(_session(outcome), clock=FixedClock(tx.now))
    return outcome._replace(session=session, events=[*outcome.events, *events])


ACTIONS, RULES = "A", "R"
_AS_STORED = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)


def describe_run(
    run: Run,
    *,
    flow_id: int,
    contact_id: int,
    session_id: int | None,
    routing_nodes: Collection[str],
    start_id: int | None = None,
    expires_on: datetime | None = None,
) -> RunState:
    """A run of the engine in the form for `save_runs`. `routing_nodes` are the UUIDs of the flow's nodes that have a
    router. `start_id` is only for the run that a start created. `expires_on` is when it will expire; for an expired run
    it is the time of its end.
    """
    exited_on = read_moment(run.exited_on) if run.exited_on else None
    return RunState(
        uuid=run.uuid,
        flow_id=flow_id,
        contact_id=contact_id,
        status=run.status,
        created_on=read_moment(run.created_on),
        session_id=session_id,
        start_id=start_id,
        parent_uuid=run.parent_uuid or None,
        responded=run.had_input,
        results={key: _describe_result(result) for key, result in run.results.items()},
        path=[{"node": step.node_uuid, "time": _rewrite(step.arrived_on)} for step in run.path],
        visits=_describe_visits(run, routing_nodes),
        exits=[step.exit_uuid or "" for step in run.path],
        expires_on=exited_on if run.status == EXPIRED else expires_on,
        exited_on=exited_on,
    )


def read_moment(text: str) -> datetime:
    """A time of the engine, which has an offset."""
    return datetime.fromisoformat(text)


def _rewrite(text: str) -> str:
    return text if _AS_STORED.fullmatch(text) else time_text(read_moment(text))


def _describe_result(result: Result) -> dict[str, Any]:
    return {
        "name": result.name,
        "value": result.value,
        "category": result.category or None,
        "node": result.node_uuid,
        "time": _rewrite(result.created_on),
        "input": result.input or None,
    }


def _describe_visits(run: Run, routing_nodes: Collection[str]) -> list[Mapping[str, Any]]:
    """What only generation 1 shows of each step: the type of the node, when it was left, and the results there. From
    earlier sprints the run knows only the last result of each name; `save_runs` keeps the stored ones.
    """
    saved: dict[int, list[Result]] = {}
    for index, result in run.saved:
        saved.setdefault(index, []).append(result)
    departures = [step.arrived_on for step in run.path[1:]] + [run.exited_on]
    return [
        {
            "type": RULES if step.node_uuid in routing_nodes else ACTIONS,
            "left_on": _rewrite(left_on) if left_on else None,
            "results": [_describe_result(result) for result in saved.get(index, ())],
        }
        for index, (step, left_on) in enumerate(zip(run.path, departures, strict=False))
    ]
