"""`/api/v2/campaigns.json`, `campaign_actions.json`, `campaign_events.json` and `campaign_figures.json`."""

from handlers.answers import (
    Answer,
    ListAnswer,
    as_json,
    changed_record,
    check_record_unchanged,
    created_record,
    no_content,
)
from handlers.request import Request
from persistence.campaigns import records as campaign_events
from persistence.campaigns import records as campaign_writes
from persistence.campaigns import records as campaigns
from persistence.campaigns.events import change_from_form, create_from_form, delete_campaign_events, require_event
from persistence.campaigns.schedules import read_campaign_figures as read_figures
from persistence.errors import InvalidInput, RecordMissing

list_campaigns = ListAnswer(campaigns.CAMPAIGNS)

list_campaign_events = ListAnswer(campaign_events.CAMPAIGN_EVENTS, has_etag=True)
USUAL_DAYS = 7


def write_campaign(request: Request, *, uuid: str | None = None) -> Answer:
    workspace = request.workspace
    name, reference = request.body["name"], request.body["group"]
    if uuid is None:
        group_id = campaign_writes.find_any_group(request.tx, workspace.id, reference, field="group")
        campaign_id = campaign_writes.create_campaign(request.tx, workspace.id, name, group_id)
        return created_record(request, campaigns.CAMPAIGNS, campaign_id)
    campaigns.require_campaign(request.tx, workspace.id, uuid)
    group_id = campaign_writes.find_any_group(request.tx, workspace.id, reference, field="group")
    campaign_id = campaign_writes.change_campaign(request.tx, workspace.id, uuid, name, group_id)
    return changed_record(request, campaigns.CAMPAIGNS, campaign_id)


def act_on_campaigns(request: Request) -> Answer:
    tx, workspace_id, body = request.tx, request.workspace.id, request.body
    action, reference = body["action"], body.get("group")
    if reference and action != "restore":
        raise InvalidInput.across(f'The action "{action}" takes no group.')
    group_id = campaigns.find_any_group(tx, workspace_id, reference, field="group") if reference else None
    for campaign_id in campaigns.find_campaigns(tx, workspace_id, body["campaigns"]):
        if action == "archive":
            campaigns.put_away_campaign(tx, workspace_id, campaign_id)
        else:
            campaigns.restore_campaign(tx, workspace_id, campaign_id, group_id)
    return no_content()


def write_campaign_event(request: Request, *, uuid: str | None = None) -> Answer:
    workspace = request.workspace
    if request.if_match is not None:
        known = None if uuid is None else require_event(request.tx, workspace.id, uuid).id
        check_record_unchanged(request, campaign_events.CAMPAIGN_EVENTS, known)
    if uuid is None:
        event_id = create_from_form(request.tx, workspace, request.body)
        return created_record(request, campaign_events.CAMPAIGN_EVENTS, event_id)
    event_id = change_from_form(request.tx, workspace, uuid, request.body)
    return changed_record(request, campaign_events.CAMPAIGN_EVENTS, event_id)


def delete_campaign_event(request: Request, *, uuid: str) -> Answer:
    workspace = request.workspace
    event = require_event(request.tx, workspace.id, uuid)
    if not delete_campaign_events(request.tx, workspace.id, [event.id]):
        raise RecordMissing
    return no_content()


def read_campaign_figures(request: Request, *, uuid: str, days: int = USUAL_DAYS) -> Answer:
    return as_json(200, read_figures(request.tx, request.workspace, uuid, int(days)))
