"""Calls that contacts make: those that meet a trigger start a flow."""

from collections.abc import Callable, Sequence

from flows.engine.events import write_moment
from persistence.call_handling import PendingCall, find_callers, finish_calls, load_first_calls, shelve_calls
from persistence.contact_turns import Turns, take_turns
from persistence.database import Transaction
from persistence.triggers import MISSED_CALL, Trigger, load_triggers
from persistence.workspaces import find_workspace
from worker.conversations.sprints import Task
from worker.conversations.trigger_choice import choose_trigger
from worker.conversations.workshop import Scene, Workshop
from worker.services import Services

BATCH = 100
PLAIN_BATCH = 500


def begin_calls(services: Services) -> Callable[[], bool]:
    """The step that compares calls with triggers: those nobody waits for, then one of each of a batch of contacts."""
    workshop = Workshop(services)

    def step() -> bool:
        shelved = services.database.write(lambda tx: shelve_calls(tx, PLAIN_BATCH))
        workspace_id, turns = services.database.write(_take)
        if turns.contact_ids:
            _handle(workshop, workspace_id, turns)
        return shelved == PLAIN_BATCH or bool(turns.contact_ids)

    return step


def _take(tx: Transaction) -> tuple[int, Turns]:
    callers = find_callers(tx, BATCH)
    workspace_id = callers[0][0] if callers else 0
    return workspace_id, take_turns(tx, {contact_id for owner_id, contact_id in callers if owner_id == workspace_id})


def _handle(workshop: Workshop, workspace_id: int, turns: Turns) -> None:
    ids = sorted(turns.contact_ids)
    with workshop.database.reading() as tx:
        workspace = find_workspace(tx, workspace_id)
        assert workspace is not None
        scene = workshop.open_scene(tx, workspace, ids)
        calls = load_first_calls(tx, workspace_id, ids)
        triggers = load_triggers(tx, workspace_id)
    tasks = [_plan(scene, contact_id, calls.get(contact_id), triggers) for contact_id in ids]

    def finish(tx: Transaction, recorded: Sequence[int]) -> None:
        finish_calls(tx, workspace_id, [calls[each].id for each in recorded if each in calls])

    workshop.perform(scene, turns, tasks, finish)


def _plan(scene: Scene, contact_id: int, call: PendingCall | None, triggers: Sequence[Trigger]) -> Task:
    contact = scene.contacts.get(contact_id)
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
