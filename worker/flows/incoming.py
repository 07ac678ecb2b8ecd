"""Messages and calls of contacts, and visitors who begin a chat: they resume a waiting flow, match triggers, or go to
the inbox."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from flows.clock import write_moment
from flows.engine import Contact
from flows.environment import Environment
from flows.words import collate, collated_tokens
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
from persistence.tables.campaigns import FIRST_WORD
from persistence.triggers.records import (
    CATCH_ALL,
    KEYWORD,
    KEYWORD_MATCHES,
    MISSED_CALL,
    NEW_CONVERSATION,
    Trigger,
    load_triggers,
)
from worker.fairness import HandOver, begin_turns
from worker.flows.runner import BatchContext, FlowRunner, OnRecorded, run_batch
from worker.flows.sprints import Task
from worker.runtime import Runtime

INCOMING = "incoming"
PLAIN_BATCH = 200

CHANNEL_POINTS, GROUP_POINTS, EXCLUSION_POINTS = 4, 2, 1
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


def choose_keyword_trigger(
    triggers: Iterable[Trigger], environment: Environment, contact: Contact, channel_uuid: str | None, text: str
) -> tuple[Trigger, str] | None:
    """The most specific trigger whose keyword is the first word of the message, or the only one, and that keyword."""
    words = [form for _, form in collated_tokens(environment, text)]
    if not words:
        return None
    found = [
        (trigger, keyword)
        for trigger in triggers
        if trigger.type == KEYWORD and _is_for(trigger, contact, channel_uuid)
        for keyword in trigger.keywords
        if collate(environment, keyword) == words[0] and (trigger.match == FIRST_WORD or len(words) == 1)
    ]
    return max(found, key=lambda pair: _specificity(pair[0])) if found else None


def choose_trigger(
    triggers: Iterable[Trigger], kinds: Sequence[str], contact: Contact, channel_uuid: str | None
) -> Trigger | None:
    """The most specific trigger for this contact and channel, of the first of these types that has one."""
    candidates = [trigger for trigger in triggers if trigger.type in kinds and _is_for(trigger, contact, channel_uuid)]
    return max(candidates, key=lambda each: (-kinds.index(each.type), _specificity(each)), default=None)


def message_kinds(is_new: bool) -> tuple[str, ...]:
    """The types of triggers that match a message without a keyword, the most specific first."""
    return (NEW_CONVERSATION, CATCH_ALL) if is_new else (CATCH_ALL,)


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
    """The engine's trigger for a message; keywords come before a waiting session, other triggers after it."""
    if session is not None and session.ignores_triggers:
        return None
    by_word = choose_keyword_trigger(triggers, context.environment, contact, received.channel_uuid, received.text)
    if by_word is not None:
        trigger, keyword = by_word
        match = {"type": KEYWORD_MATCHES[trigger.match], "keyword": keyword}
        return _engine_trigger(trigger, received) | {"keyword_match": match}
    if session is not None:
        return None
    chosen = choose_trigger(triggers, message_kinds(is_new), contact, received.channel_uuid)
    return None if chosen is None else _engine_trigger(chosen, received)


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


def _is_for(trigger: Trigger, contact: Contact, channel_uuid: str | None) -> bool:
    groups = set(contact.groups)
    return (
        trigger.channel_uuid in (None, channel_uuid)
        and (not trigger.group_uuids or bool(groups & set(trigger.group_uuids)))
        and not groups & set(trigger.excluded_group_uuids)
    )


def _specificity(trigger: Trigger) -> tuple[int, int]:
    """Points of specificity; among equals the newest trigger wins."""
    points = CHANNEL_POINTS if trigger.channel_uuid else 0
    points += GROUP_POINTS if trigger.group_uuids else 0
    points += EXCLUSION_POINTS if trigger.excluded_group_uuids else 0
    return points, trigger.id


def _plan_call(context: BatchContext, contact_id: int, call: PendingCall | None, triggers: Sequence[Trigger]) -> Task:
    contact = context.contacts.get(contact_id)
    if call is None or contact is None or not contact.is_active:
        return Task(contact_id)
    chosen = choose_trigger(triggers, (call.trigger_type,), contact, call.channel_uuid)
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
