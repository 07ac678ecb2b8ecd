"""Creating, changing and deleting campaign events."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from sqlalchemy import Row, select, update

from persistence.campaign_events.v2 import SYSTEM_DATES, living_events_of
from persistence.campaigns.rescheduling import request_passes
from persistence.database import Transaction
from persistence.deletions import CAMPAIGN_EVENT, note_deleted
from persistence.errors import InvalidInput, RecordMissing
from persistence.field_writes import create_field, find_key
from persistence.sql.columns import is_uuid
from persistence.sql.names import must_exist
from persistence.tables.campaigns import INTERRUPT, campaign_event
from persistence.tables.contacts import field
from persistence.translations import read_translations
from persistence.workspaces import Workspace

DATE_TYPE = "datetime"
NO_DATE = "This field is not a date field."
ONE_OF_TWO = "Give either a message or a flow."


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
    """Create an event, whose contacts a worker schedules soon; returns its id."""
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
