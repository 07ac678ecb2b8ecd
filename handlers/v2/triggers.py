"""`/api/v2/triggers.json` and `trigger_matches.json`."""

from typing import Any

from flows.environment import parse_moment
from handlers.answers import Answer, ListAnswer, as_json, changed_record, created_record, no_content
from handlers.request import Request
from persistence.contacts.owners import find_contact, find_owners, read_lookup
from persistence.errors import RecordMissing
from persistence.tokens import check_area
from persistence.triggers.forms import write_trigger as store_trigger
from persistence.triggers.matching import Trigger, try_message
from persistence.triggers.records import TRIGGERS
from persistence.triggers.records import delete_trigger as remove_trigger

list_triggers = ListAnswer(TRIGGERS)


def write_trigger(request: Request, *, uuid: str | None = None) -> Answer:
    given = dict(request.body)
    if given.get("scheduled_on"):
        given["scheduled_on"] = parse_moment(given["scheduled_on"])
    trigger_id = store_trigger(request.tx, request.workspace, uuid, given)
    answer = created_record if uuid is None else changed_record
    return answer(request, TRIGGERS, trigger_id)


def delete_trigger(request: Request, *, uuid: str) -> Answer:
    remove_trigger(request.tx, request.workspace.id, uuid)
    return no_content()


def find_triggers(
    request: Request, *, text: str = "", contact: str | None = None, urn: str | None = None, channel: str | None = None
) -> Answer:
    tx, workspace = request.tx, request.workspace
    contact_id = None
    if contact is not None or urn is not None:
        check_area(request.areas, "contacts")
    if contact is not None:
        contact_id = find_contact(tx, workspace.id, contact)
        if contact_id is None:
            raise RecordMissing
    elif urn is not None:
        address = read_lookup(tx, workspace, urn)
        owner = find_owners(tx, workspace.id, [address]).get(address.identity)
        contact_id = None if owner is None else owner.contact_id
    trial = try_message(tx, workspace, text, contact_id, None if channel is None else channel.lower())
    found = trial.match
    shown = {
        "outcome": trial.outcome,
        "trigger": None if found is None else _show(found.trigger),
        "keyword": None if found is None else found.keyword,
        "contact": trial.contact_uuid,
        "others": [_show(each) | {"reason": reason} for each, reason in trial.others],
    }
    return as_json(200, shown)


def _show(trigger: Trigger) -> dict[str, Any]:
    flow = {"uuid": trigger.flow_uuid, "name": trigger.flow_name}
    return {"uuid": trigger.uuid, "type": trigger.type, "flow": flow, "keywords": list(trigger.keywords)}
