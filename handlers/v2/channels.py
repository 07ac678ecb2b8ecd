"""`/api/v2/channels.json`."""

from handlers.answers import Answer, answer_page
from handlers.request import Call
from persistence.channels import channels
from persistence.sql.pages import Page, Position


def list_channels(call: Call, *, uuid: str | None = None, address: str | None = None) -> Answer:
    workspace = call.workspace

    def fetch(position: Position | None, size: int) -> Page:
        return channels.list_channels(call.tx, workspace.id, position, size, uuid=uuid, address=address)

    return answer_page(call, channels.CHANNELS_ORDER, fetch)
