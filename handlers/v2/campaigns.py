"""`/api/v2/campaigns.json`."""

from datetime import datetime

from handlers.answers import Answer, answer_page, created, ok
from handlers.request import Request
from persistence.campaigns import v2 as campaigns
from persistence.campaigns import writes as campaign_writes
from persistence.sql.pages import Page, Position


def list_campaigns(
    request: Request, *, uuid: str | None = None, before: datetime | None = None, after: datetime | None = None
) -> Answer:
    workspace = request.workspace

    def fetch(position: Position | None, size: int) -> Page:
        return campaigns.list_campaigns(request.tx, workspace.id, position, size, uuid=uuid, before=before, after=after)

    return answer_page(request, campaigns.CAMPAIGNS_ORDER, fetch)


def write_campaign(request: Request, *, uuid: str | None = None) -> Answer:
    workspace = request.workspace
    name, reference = request.body["name"], request.body["group"]
    if uuid is None:
        group_id = campaign_writes.find_any_group(request.tx, workspace.id, reference, field="group")
        campaign_id = campaign_writes.create_campaign(request.tx, workspace.id, name, group_id)
        return created(campaigns.read_campaign(request.tx, workspace.id, campaign_id))
    campaigns.require_campaign(request.tx, workspace.id, uuid)
    group_id = campaign_writes.find_any_group(request.tx, workspace.id, reference, field="group")
    campaign_id = campaign_writes.change_campaign(request.tx, workspace.id, uuid, name, group_id)
    return ok(campaigns.read_campaign(request.tx, workspace.id, campaign_id))
