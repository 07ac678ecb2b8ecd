"""`/api/v2/channel_settings.json`, an addition to the interface."""

from handlers.answers import Answer, answer_page, ok
from handlers.request import Call
from persistence.channels import settings as channel_settings
from persistence.sql.pages import Page, Position


def list_channel_settings(call: Call, *, uuid: str | None = None) -> Answer:
    workspace = call.workspace

    def fetch(position: Position | None, size: int) -> Page:
        return channel_settings.list_channel_settings(call.tx, workspace.id, position, size, root=call.root, uuid=uuid)

    return answer_page(call, channel_settings.SETTINGS_ORDER, fetch)


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
