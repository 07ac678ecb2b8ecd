"""Messages and calls of contacts, and visitors who begin a chat: they resume a waiting flow, match triggers, or go to
the inbox."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flows.engine import Contact
from flows.environment import write_moment
from persistence.channels.events import (
    PendingCall,
    find_callers,
    finish_calls,
    finish_plain_calls,
    list_called_workspaces,
    load_first_calls,
)
from persistence.database import Transaction
from persistence.messages.incoming import (
    UnhandledMessage,
    find_newcomers,
    find_senders,
    finish_plain_messages,
    list_receiving_workspaces,
    load_first_unhandled,
    may_need_flows,
)
from persistence.sessions.sessions import WaitingSession, load_waiting
from persistence.triggers.matching import Sender, Trigger, choose_for_message, choose_trigger, load_triggers
from persistence.triggers.records import KEYWORD_MATCHES, MISSED_CALL, NEW_CONVERSATION
from worker.fairness import HandOver, begin_turns
from worker.flows.runner import BatchContext, FlowRunner, OnRecorded, run_batch
from worker.flows.sprints import Task
from worker.runtime import Runtime

INCOMING = "incoming"
PLAIN_BATCH = 200

CALLS = "calls"


def begin_incoming(runtime: Runtime) -> Callable[[], bool]:
    """The step that handles incoming messages: first those that no flow needs in bulk, then one message of each contact
    of a batch."""
    runner, hand_over = FlowRunner(runtime), HandOver(runtime, INCOMING)

    def list_due(tx: Transaction) -> list[int]:
        due = list_receiving_workspaces(tx, runtime.share)
        hand_over.see(due)
        return due

    def finish(tx: Transaction, workspace_id: int) -> tuple[int, bool]:
        finished = finish_plain_messages(tx, workspace_id, PLAIN_BATCH)
        return finished, finished == 0 or may_need_flows(tx, workspace_id)

    def work(workspace_id: int) -> bool:
        finished, needs_flows = runtime.database.write(lambda tx: finish(tx, workspace_id))
        if not needs_flows:
            return True  # messages that came meanwhile cost much less in bulk than in a batch
        return run_batch(runner, workspace_id, INCOMING, find_senders, plan_messages) or finished == PLAIN_BATCH

    serve = begin_turns(runtime, list_due, work)

    def step() -> bool:
        is_more_due = serve()
        hand_over.finish()
        return is_more_due

    return step


def plan_messages(tx: Transaction, context: BatchContext, contact_ids: Sequence[int]) -> tuple[list[Task], None]:
    workspace_id = context.workspace.id
    messages = load_first_unhandled(tx, workspace_id, contact_ids)
    waiting = load_waiting(tx, workspace_id, contact_ids)
    triggers = load_triggers(tx, workspace_id)
    begins = any(each.type == NEW_CONVERSATION for each in triggers)
    newcomers = find_newcomers(tx, workspace_id, list(messages.values())) if begins else set()
    return [
        _plan(context, contact_id, each, waiting.get(contact_id), triggers, is_new=contact_id in newcomers)
        for contact_id, each in messages.items()
    ], None


def begin_calls(runtime: Runtime) -> Callable[[], bool]:
    """The step that compares calls with triggers: first calls without any trigger in bulk, then one call of each
    contact of a batch."""
    runner = FlowRunner(runtime)

    def work(workspace_id: int) -> bool:
        finished = runtime.database.write(lambda tx: finish_plain_calls(tx, workspace_id, PLAIN_BATCH))
        return run_batch(runner, workspace_id, CALLS, find_callers, plan_calls) or finished == PLAIN_BATCH

    return begin_turns(runtime, list_called_workspaces, work)


def plan_calls(tx: Transaction, context: BatchContext, contact_ids: Sequence[int]) -> tuple[list[Task], OnRecorded]:
    workspace_id = context.workspace.id
    calls = load_first_calls(tx, workspace_id, contact_ids)
    triggers = load_triggers(tx, workspace_id)

    def finish(tx: Transaction, recorded: Sequence[int]) -> None:
        finish_calls(tx, workspace_id, [calls[each].id for each in recorded if each in calls])

    return [_plan_call(context, contact_id, calls.get(contact_id), triggers) for contact_id in contact_ids], finish


def _plan(
    context: BatchContext,
    contact_id: int,
    received: UnhandledMessage,
    session: WaitingSession | None,
    triggers: Sequence[Trigger],
    *,
    is_new: bool,
) -> Task:
    """The task for a message; without a trigger and a waiting session it goes to the inbox."""
    contact = context.contacts.get(contact_id)
    if contact is None or not contact.is_active:
        return Task(contact_id, message_id=received.id)
    trigger = _find_trigger(context, contact, received, session, triggers, is_new=is_new)
    event = _describe(received)
    if trigger is not None:
        return Task(contact_id, trigger=trigger | {"event": event}, message_id=received.id, cause=received.uuid)
    if session is not None:
        resume = {"type": "msg", "event": event, "resumed_on": write_moment(received.created_on)}
        return Task(contact_id, resume=resume, session_id=session.id, state=session.state, message_id=received.id)
    return Task(contact_id, message_id=received.id)


def _find_trigger(
    context: BatchContext,
    contact: Contact,
    received: UnhandledMessage,
    session: WaitingSession | None,
    triggers: Sequence[Trigger],
    *,
    is_new: bool,
) -> dict[str, Any] | None:
    """The engine's trigger for a message."""
    sender = Sender(contact.groups, is_new=is_new, waiting=None if session is None else session.ignores_triggers)
    found = choose_for_message(triggers, context.environment, sender, received.channel_uuid, received.text)
    if found is None:
        return None
    pulled = _engine_trigger(found.trigger, received)
    if found.keyword is None:
        return pulled
    return pulled | {"keyword_match": {"type": KEYWORD_MATCHES[found.trigger.match], "keyword": found.keyword}}


def _engine_trigger(trigger: Trigger, received: UnhandledMessage) -> dict[str, Any]:
    flow = {"uuid": trigger.flow_uuid, "name": trigger.flow_name}
    return {"type": "msg", "flow": flow, "triggered_on": write_moment(received.created_on)}


def _describe(received: UnhandledMessage) -> Mapping[str, Any]:
    """The message as the engine's event."""
    content: dict[str, Any] = {"uuid": received.uuid, "text": received.text}
    if received.urn:
        content["urn"] = received.urn
    if received.channel_uuid:
        content["channel"] = {"uuid": received.channel_uuid, "name": received.channel_name or ""}
    if received.attachments:
        content["attachments"] = [f"{each['content_type']}:{each['url']}" for each in received.attachments]
    moment = write_moment(received.created_on)
    return {"type": "msg_received", "uuid": received.uuid, "created_on": moment, "msg": content}


def _plan_call(context: BatchContext, contact_id: int, call: PendingCall | None, triggers: Sequence[Trigger]) -> Task:
    contact = context.contacts.get(contact_id)
    if call is None or contact is None or not contact.is_active:
        return Task(contact_id)
    chosen = choose_trigger(triggers, (call.trigger_type,), contact.groups, call.channel_uuid)
    if chosen is None:
        return Task(contact_id)
    moment = write_moment(call.occurred_on)
    event: dict[str, Any] = {
        "uuid": call.uuid,
        "created_on": moment,
        "channel": {"uuid": call.channel_uuid, "name": call.channel_name},
    }
    if call.trigger_type == NEW_CONVERSATION:
        kind, event = "chat", event | {"type": "chat_started"}
    else:
        happened = "call_missed" if call.trigger_type == MISSED_CALL else "call_received"
        kind, event = "call", event | {"type": happened, "call": {"uuid": call.uuid, "urn": call.urn}}
    flow = {"uuid": chosen.flow_uuid, "name": chosen.flow_name}
    trigger = {"type": kind, "flow": flow, "triggered_on": moment, "event": event}
    return Task(contact_id, trigger=trigger, cause=call.uuid)
