"""`/api/v1/campaigns.json`."""

from handlers.answers import Answer, NumberedListAnswer, created_record
from handlers.request import Request
from persistence.campaigns.records import CAMPAIGNS_V1, change_campaign, create_campaign, find_any_group
from persistence.errors import InvalidInput, RecordMissing

list_campaigns = NumberedListAnswer(CAMPAIGNS_V1)


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
    return created_record(request, CAMPAIGNS_V1, campaign_id)
