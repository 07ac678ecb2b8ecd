"""Campaign events as v1 shows, writes and deletes them: letters for units, one text, plain values."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, String, case, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from persistence.campaign_events.v2 import CAMPAIGN_EVENT_SOURCE, CAMPAIGN_EVENTS_ORDER, RELATIVE_NAME, living_events_of
from persistence.campaign_events.writes import (
    ONE_OF_TWO,
    EventForm,
    change_campaign_event,
    create_campaign_event,
    delete_campaign_events,
    find_active_flow,
    find_event,
    find_or_create_date,
    read_message,
)
from persistence.campaigns.v2 import find_campaign
from persistence.database import Transaction
from persistence.errors import InvalidInput, RecordMissing, Refused
from persistence.sql.columns import is_uuid
from persistence.sql.json_sql import as_text, declare_record
from persistence.sql.numbered_pages import NumberedPage, fetch_numbered_page
from persistence.tables.campaigns import campaign, campaign_event
from persistence.tables.flows import flow
from persistence.workspaces import Workspace

UNIT_LETTERS = {"minutes": "M", "hours": "H", "days": "D", "weeks": "W"}
UNITS = {letter: word for word, letter in UNIT_LETTERS.items()}


class _Translation(FunctionElement[str]):
    """The text of a document at the key that a column holds; null when there is none."""

    type = String()
    name = "translation"
    inherit_cache = True


@compiles(_Translation, "sqlite")
def _translation_sqlite(element: _Translation, compiler: SQLCompiler, **options: Any) -> str:
    document, key = (compiler.process(clause, **options) for clause in element.clauses)
    return f"""json_extract({document}, '$."' || {key} || '"')"""


@compiles(_Translation, "postgresql")
def _translation_postgresql(element: _Translation, compiler: SQLCompiler, **options: Any) -> str:
    document, key = (compiler.process(clause, **options) for clause in element.clauses)
    return f"({document} ->> {key})"


EVENT_SUMMARY = declare_record(
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


def list_event_summaries(
    tx: Transaction,
    workspace_id: int,
    number: int,
    size: int,
    *,
    uuids: Sequence[str] | None = None,
    campaign_uuids: Sequence[str] | None = None,
    before: datetime | None = None,
    after: datetime | None = None,
) -> NumberedPage:
    """The events of campaigns that are not archived, newest first."""
    conditions = _choose(workspace_id, uuids, campaign_uuids)
    if before is not None:
        conditions.append(campaign_event.c.created_on <= before)
    if after is not None:
        conditions.append(campaign_event.c.created_on >= after)
    return fetch_numbered_page(
        tx,
        record=EVENT_SUMMARY,
        source=CAMPAIGN_EVENT_SOURCE,
        order=CAMPAIGN_EVENTS_ORDER,
        conditions=conditions,
        number=number,
        size=size,
    )


def read_event_summary(tx: Transaction, workspace_id: int, event_id: int) -> str:
    """One event's record as JSON text."""
    statement = select(as_text(EVENT_SUMMARY)).select_from(CAMPAIGN_EVENT_SOURCE)
    mine = (campaign_event.c.workspace_id == workspace_id) & (campaign_event.c.id == event_id)
    return tx.execute(statement.where(mine)).scalar_one()


def write_event(tx: Transaction, workspace: Workspace, body: Mapping[str, Any]) -> int:
    """Change the event that `uuid` names, or create one of `campaign_uuid`; its id. Raises InvalidInput."""
    uuid, campaign_uuid = body.get("uuid"), body.get("campaign_uuid") or None
    if uuid is not None:
        if campaign_uuid is not None:
            raise InvalidInput.across("Give either uuid or campaign_uuid.")
        if find_event(tx, workspace.id, uuid) is None:
            raise InvalidInput.on("uuid", f'Nothing found for "{uuid}".')
        return change_campaign_event(tx, workspace.id, uuid, _read(tx, workspace, body))
    if campaign_uuid is None:
        raise InvalidInput.on("campaign_uuid", "A value is required.")
    campaign_id = find_campaign(tx, workspace.id, campaign_uuid)
    if campaign_id is None:
        raise InvalidInput.on("campaign_uuid", f'Nothing found for "{campaign_uuid[:64]}".')
    return create_campaign_event(tx, workspace.id, campaign_id, _read(tx, workspace, body))


def _read(tx: Transaction, workspace: Workspace, body: Mapping[str, Any]) -> EventForm:
    message, flow_uuid = body.get("message") or None, body.get("flow_uuid") or None
    if (message is None) == (flow_uuid is None):
        raise InvalidInput.across(ONE_OF_TWO)
    flow_id = None
    if flow_uuid is not None:
        flow_id = find_active_flow(tx, workspace.id, flow_uuid, field_name="flow_uuid")
    relative_to = find_or_create_date(tx, workspace.id, body["relative_to"])
    timing = (relative_to, body["offset"], UNITS[body["unit"]], body["delivery_hour"])
    if message is None:
        return EventForm(*timing, flow_id=flow_id)
    return EventForm(*timing, *read_message(workspace, message))


def delete_events(
    tx: Transaction, workspace_id: int, *, uuids: Sequence[str] | None, campaign_uuids: Sequence[str] | None
) -> None:
    """Delete the events that fit both lists. Raises Refused without any list, RecordMissing when nothing fits."""
    if not uuids and not campaign_uuids:
        raise Refused("One of these parameters is needed: uuid, campaign_uuid.")
    chosen = select(campaign_event.c.id).where(*_choose(workspace_id, uuids, campaign_uuids))
    event_ids = list(tx.execute(chosen).scalars())
    if not event_ids:
        raise RecordMissing
    delete_campaign_events(tx, workspace_id, event_ids)


def _choose(
    workspace_id: int, uuids: Sequence[str] | None, campaign_uuids: Sequence[str] | None
) -> list[ColumnElement[bool]]:
    conditions = living_events_of(workspace_id)
    if uuids:
        conditions.append(campaign_event.c.uuid.in_(uuids))
    if campaign_uuids:
        known = [uuid for uuid in campaign_uuids if is_uuid(uuid)]
        named = select(campaign.c.id).where(campaign.c.workspace_id == workspace_id, campaign.c.uuid.in_(known))
        conditions.append(campaign_event.c.campaign_id.in_(named))
    return conditions
