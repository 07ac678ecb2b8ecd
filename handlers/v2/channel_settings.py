"""`/api/v2/channel_settings.json`, an addition to the interface specification."""

from handlers.answers import Answer, ListAnswer, ok
from handlers.request import Request
from persistence.channels import settings as channel_settings


def _describe(request: Request, stored: str) -> str:
    return channel_settings.describe_settings(request.tx, stored, request.root)


list_channel_settings = ListAnswer(channel_settings.CHANNEL_SETTINGS, show=_describe)


def change_channel_settings(request: Request, *, uuid: str) -> Answer:
    record = channel_settings.change_channel_settings(
        request.tx,
        request.workspace.id,
        uuid,
        changes=request.body,
        rotates=bool(request.body.get("rotate_secret")),
        ends_former=bool(request.body.get("end_former_secret")),
    )
    return ok(record)
