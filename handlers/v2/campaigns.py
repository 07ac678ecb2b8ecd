"""`/api/v2/campaigns.json`."""

from handlers.answers import Answer, ListAnswer, changed_record, created_record
from handlers.request import Request
from persistence.campaigns import records as campaign_writes
from persistence.campaigns import records as campaigns

list_campaigns = ListAnswer(campaigns.CAMPAIGNS)


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
