"""Events of campaigns: how v1 shows them (letters for units, one text, plain values), and how v1 and v2 write them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from sqlalchemy import Row, String, case, func, select

from persistence.campaigns.fires import request_passes
from persistence.campaigns.records import CAMPAIGN_EVENTS, RELATIVE_NAME, SYSTEM_DATES, find_campaign, living_events_of
from persistence.database import Transaction
from persistence.deletions import CAMPAIGN_EVENT, note_deleted
from persistence.errors import InvalidInput, LimitReached, RecordMissing, Refused
from persistence.fields import create_field, find_key
from persistence.flows.records import require_active_flow
from persistence.lists import Condition, ListQuery, one_of, within
from persistence.records import Record, Template
from persistence.sql.columns import is_uuid
from persistence.sql.names import must_exist, read_translations
from persistence.statements import update
from persistence.tables.campaigns import INTERRUPT, campaign, campaign_event
from persistence.tables.contacts import field
from persistence.tables.flows import flow
from persistence.workspaces.records import Workspace

UNIT_LETTERS = {"minutes": "M", "hours": "H", "days": "D", "weeks": "W"}
UNITS = {letter: word for word, letter in UNIT_LETTERS.items()}

EVENTS_PER_CAMPAIGN = 250
DATE_TYPE = "datetime"
NO_DATE = "This field is not a date field."
ONE_OF_TWO = "Give either a message or a flow."


class _Translation(
    Template, sqlite="""json_extract({0}, '$."' || {1} || '"')""", postgresql="({0} ->> {1})", kind=String()
):
    """The text of a document at the key in a column; null if there is none."""


EVENT_RECORD = Record(
    {
        "uuid": campaign_event.c.uuid,
        "campaign_uuid": campaign.c.uuid,
        "flow_uuid": flow.c.uuid,
        "relative_to": RELATIVE_NAME,
        "offset": campaign_event.c.offset,
        "unit": case(UNIT_LETTERS, value=campaign_event.c.unit),
        "delivery_hour": campaign_event.c.delivery_hour,
        "message": _Translation(campaign_event.c.message, campaign_event.c.base_language),
        "created_on": campaign_event.c.created_on,
        "event": campaign_event.c.id,
        "campaign": campaign.c.id,
        "flow": flow.c.id,
    }
)


def _of_campaigns(query: ListQuery, uuids: Sequence[str]) -> Condition:
    known = [uuid for uuid in uuids if is_uuid(uuid)]
    named = select(campaign.c.id).where(campaign.c.workspace_id == query.workspace.id, campaign.c.uuid.in_(known))
    return campaign_event.c.campaign_id.in_(named)


EVENTS_V1 = replace(
    CAMPAIGN_EVENTS,
    record=EVENT_RECORD,
    filters={
        "uuid": one_of(campaign_event.c.uuid),
        "campaign_uuid": _of_campaigns,
        **within(campaign_event.c.created_on),
    },
)


def write_event(tx: Transaction, workspace: Workspace, body: Mapping[str, Any]) -> int:
    """Change the event with `uuid`, or create an event of `campaign_uuid`; returns its id. Raises InvalidInput."""
    uuid, campaign_uuid = body.get("uuid"), body.get("campaign_uuid") or None
    if uuid is not None:
        if campaign_uuid is not None:
            raise InvalidInput.across("Give either uuid or campaign_uuid.")
        must_exist(find_event(tx, workspace.id, uuid), "uuid", uuid)
        return change_campaign_event(tx, workspace.id, uuid, _read(tx, workspace, body))
    if campaign_uuid is None:
        raise InvalidInput.on("campaign_uuid", "A value is required.", "required")
    campaign_id = must_exist(find_campaign(tx, workspace.id, campaign_uuid), "campaign_uuid", campaign_uuid)
    return create_campaign_event(tx, workspace.id, campaign_id, _read(tx, workspace, body))


def delete_events(query: ListQuery) -> None:
    """Delete the events that match. Raises Refused without a filter, RecordMissing if nothing matches."""
    if not query.values:
        raise Refused("One of these parameters is required: uuid, campaign_uuid.")
    event_ids = list(query.tx.execute(EVENTS_V1.select_ids(query)).scalars())
    if not event_ids:
        raise RecordMissing
    delete_campaign_events(query.tx, query.workspace.id, event_ids)


def create_from_form(tx: Transaction, workspace: Workspace, body: Mapping[str, Any]) -> int:
    """Create an event of the campaign in the body; returns its id. Raises InvalidInput."""
    uuid = body.get("campaign")
    if uuid is None:
        raise InvalidInput.on("campaign", "A value is required.", "required")
    campaign_id = must_exist(find_campaign(tx, workspace.id, uuid), "campaign", uuid)
    return create_campaign_event(tx, workspace.id, campaign_id, _read_form(tx, workspace, body))


def change_from_form(tx: Transaction, workspace: Workspace, uuid: str, body: Mapping[str, Any]) -> int:
    """Change an event; returns its id. Raises RecordMissing, or InvalidInput, also for another campaign than its
    own."""
    _, campaign_id, *_ = require_event(tx, workspace.id, uuid)
    campaign_uuid = body.get("campaign")
    if campaign_uuid is not None and find_campaign(tx, workspace.id, campaign_uuid) != campaign_id:
        raise InvalidInput.on("campaign", "The campaign of an event cannot be changed.")
    return change_campaign_event(tx, workspace.id, uuid, _read_form(tx, workspace, body))


@dataclass(frozen=True, slots=True)
class EventForm:
    """What an event does, and when; either `message` with its `base_language` or `flow_id` is set."""

    relative_to: str
    offset: int
    unit: str
    delivery_hour: int
    message: dict[str, str] | None = None
    base_language: str | None = None
    flow_id: int | None = None
    start_mode: str = INTERRUPT


def find_date(tx: Transaction, workspace_id: int, key: str) -> str:
    """The key of a date from which events can count. Raises InvalidInput for an unknown field or a field that is not
    a date."""
    if key in SYSTEM_DATES:
        return key
    # Locked, so that its type cannot change before the event that forbids this is stored.
    mine = (field.c.workspace_id == workspace_id) & (field.c.key == key)
    kind = tx.execute(select(field.c.type).where(mine).with_for_update(read=True)).scalar_one_or_none()
    if must_exist(kind, "relative_to", key[:36]) != DATE_TYPE:
        raise InvalidInput.on("relative_to", NO_DATE)
    return key


def find_or_create_date(tx: Transaction, workspace_id: int, name: str) -> str:
    """The key of the date with this name (in any case) or key; a date field is created if it does not exist. Raises
    InvalidInput for a field that is not a date or a name that no field may have, LimitReached at the limit of fields.
    """
    for key, known in SYSTEM_DATES.items():
        if name.casefold() in (key, known.casefold()):
            return key
    mine = field.c.workspace_id == workspace_id
    known_key = find_key(tx, workspace_id, name)
    if known_key is not None:
        return find_date(tx, workspace_id, known_key)
    try:
        field_id = create_field(tx, workspace_id, name, DATE_TYPE)
    except InvalidInput as error:
        raise InvalidInput({"relative_to": error.errors["name"]}) from error
    return tx.execute(select(field.c.key).where(mine, field.c.id == field_id)).scalar_one()


def read_message(workspace: Workspace, given: str | Mapping[str, str]) -> tuple[dict[str, str], str]:
    """A message by language, and its base language. Raises InvalidInput.

    A plain string is in the workspace's first language, which translations must include.
    """
    base = workspace.default_language
    if isinstance(given, str):
        return {base: given}, base
    texts = read_translations(given, "message")
    if base not in texts:
        raise InvalidInput.on("message", f'A text in the language "{base}" is required.')
    return texts, base


def create_campaign_event(tx: Transaction, workspace_id: int, campaign_id: int, form: EventForm) -> int:
    """Create an event, whose contacts a worker schedules soon; returns its id. Raises LimitReached at the limit of the
    campaign.
    """
    rows = campaign_event.c
    theirs = (rows.workspace_id == workspace_id) & (rows.campaign_id == campaign_id) & ~rows.is_deleted
    if tx.execute(select(func.count()).select_from(campaign_event).where(theirs)).scalar_one() >= EVENTS_PER_CAMPAIGN:
        raise LimitReached(f"A campaign has at most {EVENTS_PER_CAMPAIGN} events: delete those that are not needed.")
    times = {"created_on": tx.now, "timed_on": tx.now}
    event_id = tx.insert(campaign_event, workspace_id=workspace_id, campaign_id=campaign_id, **asdict(form), **times)
    request_passes(tx, workspace_id, campaign_event.c.id == event_id, is_retimed=True)
    return event_id


def change_campaign_event(tx: Transaction, workspace_id: int, uuid: str, form: EventForm) -> int:
    """Change what an event does and when; a changed time reschedules it for all contacts. Returns its id. Raises
    RecordMissing.
    """
    event_id, _, *timing = require_event(tx, workspace_id, uuid)
    mine = (campaign_event.c.workspace_id == workspace_id) & (campaign_event.c.id == event_id)
    tx.execute(update(campaign_event).where(mine).values(**asdict(form)))
    if timing != [form.relative_to, form.offset, form.unit, form.delivery_hour]:
        request_passes(tx, workspace_id, campaign_event.c.id == event_id, is_retimed=True)
    return event_id


def delete_campaign_events(tx: Transaction, workspace_id: int, event_ids: list[int]) -> int:
    """Delete events: what they scheduled no longer fires, what has fired stays. Returns how many were deleted."""
    mine = (campaign_event.c.workspace_id == workspace_id) & campaign_event.c.id.in_(event_ids)
    request_passes(tx, workspace_id, campaign_event.c.id.in_(event_ids))
    gone = update(campaign_event).where(mine, ~campaign_event.c.is_deleted).values(is_deleted=True)
    uuids = tx.execute(gone.returning(campaign_event.c.uuid)).scalars().all()
    note_deleted(tx, workspace_id, CAMPAIGN_EVENT, uuids)
    return len(uuids)


def find_event(tx: Transaction, workspace_id: int, uuid: str) -> Row[int, int, str, int, str, int] | None:
    """The id, campaign, and time (`relative_to`, offset, unit, hour) of an event of a campaign that is not archived."""
    rows = campaign_event.c
    columns = (rows.id, rows.campaign_id, rows.relative_to, rows.offset, rows.unit, rows.delivery_hour)
    found = select(*columns).where(*living_events_of(workspace_id), rows.uuid == uuid)
    return tx.execute(found).first() if is_uuid(uuid) else None


def require_event(tx: Transaction, workspace_id: int, uuid: str) -> Row[int, int, str, int, str, int]:
    """`find_event`. Raises RecordMissing."""
    row = find_event(tx, workspace_id, uuid)
    if row is None:
        raise RecordMissing
    return row


def _read(tx: Transaction, workspace: Workspace, body: Mapping[str, Any]) -> EventForm:
    message, flow_uuid = body.get("message") or None, body.get("flow_uuid") or None
    if (message is None) == (flow_uuid is None):
        raise InvalidInput.across(ONE_OF_TWO)
    flow_id = None
    if flow_uuid is not None:
        flow_id = require_active_flow(tx, workspace.id, flow_uuid, field="flow_uuid")
    relative_to = find_or_create_date(tx, workspace.id, body["relative_to"])
    timing = (relative_to, body["offset"], UNITS[body["unit"]], body["delivery_hour"])
    if message is None:
        return EventForm(*timing, flow_id=flow_id)
    return EventForm(*timing, *read_message(workspace, message))


def _read_form(tx: Transaction, workspace: Workspace, body: Mapping[str, Any]) -> EventForm:
    message, flow = body.get("message"), body.get("flow")
    if (message is None) == (flow is None):
        raise InvalidInput.across(ONE_OF_TWO)
    relative_to = find_date(tx, workspace.id, body["relative_to"])
    timing = (relative_to, body["offset"], body["unit"], body["delivery_hour"])
    if message is None:
        return EventForm(*timing, flow_id=require_active_flow(tx, workspace.id, str(flow), field="flow"))
    return EventForm(*timing, *read_message(workspace, message))
