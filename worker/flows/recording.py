"""Recording what sprints did: one transaction for many contacts, and nothing of it for those whose turn was lost."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from flows.engine import Event, Session
from flows.engine.moments import parse_moment
from flows.engine.state import FAILED, WAITING, Run
from persistence.contacts.leases import ContactLeases, lock_leased, release_leases
from persistence.database import Transaction
from persistence.flows.writes import find_archived
from persistence.groups.smart_groups import follow_contacts
from persistence.messages.handling import finish_messages
from persistence.messages.outgoing import fail_waiting
from persistence.runs.runs import RunState, save_runs
from persistence.runs.states import describe_run
from persistence.sessions.contact_changes import CHANGED_COLUMNS, change_many, change_memberships
from persistence.sessions.replies import Reply, send_replies
from persistence.sessions.sessions import SessionState, interrupt_contacts, save_sessions
from persistence.sessions.waiting import expire_sessions, fail_sessions, forget_timeouts, lock_waiting
from persistence.sql.columns import new_uuid
from persistence.tables.contacts import BLOCKED
from persistence.workspaces import Workspace
from worker.flows.asset_cache import DatabaseAssets
from worker.flows.effects.contacts import collect_contact_effects
from worker.flows.effects.effects import carry_out
from worker.flows.effects.event_flows import first_flow, flows_of_events
from worker.flows.effects.labels import add_labels
from worker.flows.passive import end_passive_waits
from worker.flows.sprints import Outcome

BACKGROUND = "messaging_background"
LONGEST_SESSION = timedelta(days=30)
MESSAGE_EVENTS = ("msg_created", "ivr_created")


def record_outcomes(
    tx: Transaction, workspace: Workspace, assets: DatabaseAssets, leases: ContactLeases, outcomes: Sequence[Outcome]
) -> list[int]:
    """Stores sessions and runs, carries out what the flows decided, and ends the turns; the contacts it counted for.

    Outcomes whose turn or waiting session is gone change nothing: whoever took it over does the work anew. Events of a
    session that failed are not carried out.
    """
    rows = lock_leased(tx, leases, *CHANGED_COLUMNS)
    held = {row.id for row in rows}
    mine = [outcome for outcome in outcomes if outcome.task.contact_id in held]
    valid = _keep_waiting(tx, workspace.id, mine)
    sprints = end_passive_waits(tx, workspace.id, [outcome for outcome in valid if outcome.session is not None])
    broken = [each.task.contact_id for each in valid if each.is_broken and each.task.session_id is not None]
    fail_sessions(tx, workspace.id, broken)
    _end_refused_waits(tx, workspace.id, valid)
    _store_failed_starts(tx, workspace.id, assets, valid)
    _store_sessions(tx, workspace, assets, sprints)
    _carry_out(tx, workspace, assets, rows, [each for each in sprints if _session(each).status != FAILED])
    finish_messages(tx, workspace.id, _handled_messages(assets, valid))
    release_leases(tx, leases)
    return sorted(held)


def _session(outcome: Outcome) -> Session:
    assert outcome.session is not None
    return outcome.session


def _keep_waiting(tx: Transaction, workspace_id: int, outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Without the outcomes of resumed sessions that somebody ended meanwhile."""
    resumed = [outcome.task.session_id for outcome in outcomes if outcome.task.session_id is not None]
    waiting = lock_waiting(tx, workspace_id, resumed)
    return [outcome for outcome in outcomes if outcome.task.session_id is None or outcome.task.session_id in waiting]


def _end_refused_waits(tx: Transaction, workspace_id: int, outcomes: Sequence[Outcome]) -> None:
    """A wait that is due and that the engine does not end so must not stay due, or it would be tried for ever."""
    refused = [each for each in outcomes if each.refusal and not each.is_broken and each.task.resume is not None]
    of_kind = {
        kind: [each.task for each in refused if (each.task.resume or {}).get("type") == kind]
        for kind in ("wait_timeout", "wait_expiration")
    }
    forget_timeouts(tx, workspace_id, [task.session_id for task in of_kind["wait_timeout"] if task.session_id])
    expire_sessions(tx, workspace_id, [task.contact_id for task in of_kind["wait_expiration"]])


def _store_failed_starts(
    tx: Transaction, workspace_id: int, assets: DatabaseAssets, outcomes: Sequence[Outcome]
) -> None:
    """The runs of flows that could not even be begun: people see that somebody should have been in them."""
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


def _store_sessions(tx: Transaction, workspace: Workspace, assets: DatabaseAssets, sprints: Sequence[Outcome]) -> None:
    replaced = [
        outcome.task.contact_id
        for outcome in sprints
        if outcome.task.trigger is not None and not (outcome.task.is_passive or _session(outcome).type == BACKGROUND)
    ]
    if replaced:
        interrupt_contacts(tx, workspace.id, replaced)
    states = [_state(tx, outcome, assets) for outcome in sprints]
    session_ids = save_sessions(tx, workspace.id, states)
    runs = [
        _describe(run, outcome, state, session_ids[state.uuid], assets)
        for outcome, state in zip(sprints, states, strict=True)
        for run in _session(outcome).runs
        if run.flow["uuid"] in assets.flow_ids and _is_touched(run, outcome)
    ]
    save_runs(tx, workspace.id, runs)
    _leave_archived_flows(tx, workspace.id, runs)


def _leave_archived_flows(tx: Transaction, workspace_id: int, runs: Sequence[RunState]) -> None:
    """Whoever archives a flow waits for the runs just saved, and sees them; those that come later see to themselves."""
    going_on = [run for run in runs if run.exited_on is None]
    archived = find_archived(tx, workspace_id, {run.flow_id for run in going_on})
    leaving = {run.contact_id for run in going_on if run.flow_id in archived}
    if leaving:
        interrupt_contacts(tx, workspace_id, sorted(leaving))


def _is_touched(run: Run, outcome: Outcome) -> bool:
    """Whether a run may have changed: one that was over before is stored as it is."""
    before = {each["uuid"]: each for each in (outcome.task.state or {}).get("runs") or ()}.get(run.uuid)
    return before is None or not before.get("exited_on")


def _state(tx: Transaction, outcome: Outcome, assets: DatabaseAssets) -> SessionState:
    session = _session(outcome)
    waiting = session.waiting_run
    wait = _find_wait(outcome.events) if session.status == WAITING else {}
    created_on = _moment(session.created_on) or tx.now
    expires_on = _moment(wait.get("expires_on")) or created_on + LONGEST_SESSION
    timeout = wait.get("timeout_seconds")
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
        timeout_on=tx.now + timedelta(seconds=int(timeout)) if timeout else None,
        expires_on=min(expires_on, created_on + LONGEST_SESSION) if session.status == WAITING else None,
    )


def _find_wait(events: Iterable[Event]) -> Event:
    waits = [event for event in events if event["type"] in ("msg_wait", "dial_wait")]
    return waits[-1] if waits else {}


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


def _carry_out(
    tx: Transaction, workspace: Workspace, assets: DatabaseAssets, rows: Sequence[Any], sprints: Sequence[Outcome]
) -> None:
    effects = collect_contact_effects(
        (outcome.task.contact_id, _session(outcome), outcome.events) for outcome in sprints
    )
    change_many(tx, workspace.id, rows, effects.deltas)
    change_memberships(tx, workspace.id, effects.joined, effects.left)
    if effects.contact_ids:
        follow_contacts(tx, workspace.id, effects.contact_ids)
    send_replies(tx, workspace.id, [reply for outcome in sprints for reply in _replies(outcome, assets)])
    blocked = [contact_id for contact_id, delta in effects.deltas.items() if delta.status == BLOCKED]
    if blocked:  # what their flows said before that is there only now
        fail_waiting(tx, workspace.id, blocked)
    add_labels(tx, workspace.id, [event for outcome in sprints for event in outcome.events])
    for outcome in sprints:
        events = list(flows_of_events(_session(outcome), outcome.task.state, outcome.events))
        carry_out(tx, workspace, outcome.task.contact_id, events, assets.flow_ids)


def _replies(outcome: Outcome, assets: DatabaseAssets) -> list[Reply]:
    session = _session(outcome)
    is_bulk = outcome.task.start_id is not None
    return [
        Reply(outcome.task.contact_id, assets.flow_ids.get(flow.get("uuid", "")), event["msg"], is_bulk)
        for event, flow in flows_of_events(session, outcome.task.state, outcome.events)
        if event["type"] in MESSAGE_EVENTS
    ]


def _flow_id(outcome: Outcome, assets: DatabaseAssets) -> int | None:
    """The flow that took the message behind a sprint."""
    return assets.flow_ids.get(first_flow(_session(outcome), outcome.task.state).get("uuid", ""))


def _handled_messages(assets: DatabaseAssets, outcomes: Sequence[Outcome]) -> dict[int, int | None]:
    """By message id the flow that took it, None for the inbox."""
    return {
        outcome.task.message_id: None if outcome.session is None else _flow_id(outcome, assets)
        for outcome in outcomes
        if outcome.task.message_id is not None
    }


def _moment(text: str | None) -> datetime | None:
    return parse_moment(text) if text else None
