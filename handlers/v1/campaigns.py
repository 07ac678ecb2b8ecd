"""`/api/v1/campaigns.json`."""

from datetime import datetime

from handlers.answers import Answer, answer_numbered_page, created
from handlers.request import Request
from persistence.campaigns.v1 import list_campaign_summaries, read_campaign_summary
from persistence.campaigns.writes import change_campaign, create_campaign, find_any_group
from persistence.errors import InvalidInput, RecordMissing


def list_campaigns(
    request: Request,
    *,
    uuid: list[str] | None = None,
    before: datetime | None = None,
    after: datetime | None = None,
    page: str | None = None,
) -> Answer:
    workspace = request.workspace
    return answer_numbered_page(
        request,
        page,
        lambda number, size: list_campaign_summaries(
            request.tx, workspace.id, number, size, uuids=uuid, before=before, after=after
        ),
    )


def write_campaign(request: Request) -> Answer:
    workspace = request.workspace
    uuid, name = request.body.get("uuid"), request.body["name"]
    group_id = find_any_group(request.tx, workspace.id, request.body["group_uuid"], field="group_uuid")
    if uuid is None:
        campaign_id = create_campaign(request.tx, workspace.id, name, group_id)
    else:
        try:
            campaign_id = change_campaign(request.tx, workspace.id, uuid, name, group_id)
        except RecordMissing as error:
            raise InvalidInput.on("uuid", f'Nothing found for "{uuid}".') from error
    return created(read_campaign_summary(request.tx, workspace.id, campaign_id))
