"""Phone calls by contacts: a call that matches a trigger starts a flow."""

from collections.abc import Callable, Sequence

from flows.moments import write_moment
from persistence.channels.call_handling import (
    PendingCall,
    find_callers,
    finish_calls,
    finish_plain_calls,
    list_called_workspaces,
    load_first_calls,
)
from persistence.database import Transaction
from persistence.triggers.triggers import MISSED_CALL, Trigger, load_triggers
from worker.flows.batch import run_batch
from worker.flows.runner import BatchContext, FlowRunner, OnRecorded
from worker.flows.sprints import Task
from worker.flows.trigger_choice import choose_trigger
from worker.runtime import Runtime
from worker.turns import begin_turns

CALLS = "calls"
PLAIN_BATCH = 200


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

    return [_plan(context, contact_id, calls.get(contact_id), triggers) for contact_id in contact_ids], finish


def _plan(context: BatchContext, contact_id: int, call: PendingCall | None, triggers: Sequence[Trigger]) -> Task:
    contact = context.contacts.get(contact_id)
    if call is None or contact is None or not contact.is_active:
        return Task(contact_id)
    chosen = choose_trigger(triggers, (call.trigger_type,), contact, call.channel_uuid)
    if chosen is None:
        return Task(contact_id)
    moment = write_moment(call.occurred_on)
    event = {
        "type": "call_missed" if call.trigger_type == MISSED_CALL else "call_received",
        "uuid": call.uuid,
        "created_on": moment,
        "channel": {"uuid": call.channel_uuid, "name": call.channel_name},
        "call": {"uuid": call.uuid, "urn": call.urn},
    }
    flow = {"uuid": chosen.flow_uuid, "name": chosen.flow_name}
    trigger = {"type": "call", "flow": flow, "triggered_on": moment, "event": event}
    return Task(contact_id, trigger=trigger, cause=call.uuid)
