"""`/api/v2/channel_settings.json`, an addition to the interface."""

from handlers.answers import Answer, ListAnswer, ok
from handlers.request import Call
from persistence.channels import settings as channel_settings


def _describe(call: Call, stored: str) -> str:
    return channel_settings.describe_settings(call.tx, stored, call.root)


list_channel_settings = ListAnswer(channel_settings.CHANNEL_SETTINGS, show=_describe)


def change_channel_settings(call: Call, *, uuid: str) -> Answer:
    record = channel_settings.change_channel_settings(
        call.tx,
        call.workspace.id,
        uuid,
        changes=call.body,
        rotates=bool(call.body.get("rotate_secret")),
        ends_former=bool(call.body.get("end_former_secret")),
    )
    return ok(record)
