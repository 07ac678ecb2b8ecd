"""`/api/v2/channel_settings.json` and `channel_types.json`, additions to the interface specification."""

from handlers.answers import Answer, ListAnswer, as_json, created, no_content, ok
from handlers.request import Request
from persistence.channels import settings as channel_settings
from persistence.channels.settings import add_gateway, describe_types
from persistence.relayers import relayers


def _describe(request: Request, stored: str) -> str:
    return channel_settings.describe_settings(request.tx, request.workspace.id, stored, request.root)


list_channel_settings = ListAnswer(channel_settings.CHANNEL_SETTINGS, show=_describe)


def read_channel_types(_request: Request) -> Answer:
    return as_json(200, {"types": describe_types()})


def change_channel_settings(request: Request, *, uuid: str | None = None) -> Answer:
    tx, workspace_id = request.tx, request.workspace.id
    networks = request.settings.webhook_allowed_networks
    if uuid is None:
        made, _ = add_gateway(tx, workspace_id, request.body, networks)
        return created(channel_settings.read_channel_settings(tx, workspace_id, made))
    return ok(channel_settings.change_channel_settings(tx, workspace_id, uuid, request.body, networks))


def release_channel(request: Request, *, uuid: str) -> Answer:
    relayers.release_channel(request.tx, request.workspace.id, uuid)
    return no_content()
