"""`/api/v1/messages.json`."""

from collections.abc import Sequence
from datetime import datetime

from handlers.answers import Answer, answer_numbered_page
from handlers.request import Call
from handlers.v1.addresses import read_addresses
from persistence.messages import v1 as message_summaries
from persistence.messages.v1 import SummaryFilter


def list_messages(
    call: Call,
    *,
    id: list[int] | None = None,
    contact: list[str] | None = None,
    group_uuids: list[str] | None = None,
    status: list[str] | None = None,
    direction: list[str] | None = None,
    archived: bool | None = None,
    type: list[str] | None = None,
    urn: list[str] | None = None,
    urns: list[str] | None = None,
    text: str | None = None,
    label: list[str] | None = None,
    flow: list[int] | None = None,
    broadcast: list[int] | None = None,
    relayer: list[int] | None = None,
    channel: list[int] | None = None,
    before: datetime | None = None,
    after: datetime | None = None,
    page: str | None = None,
) -> Answer:
    workspace = call.workspace
    wanted = SummaryFilter(
        ids=id,
        contact_uuids=contact,
        group_uuids=group_uuids,
        statuses=_capitals(status),
        directions=_capitals(direction),
        is_archived=archived,
        types=_capitals(type),
        urns=read_addresses(call, None if urn is None and urns is None else [*(urn or ()), *(urns or ())], "urn"),
        text=text,
        labels=label,
        flow_ids=flow,
        broadcast_ids=broadcast,
        channel_ids=[*(relayer or ()), *(channel or ())],
        before=before,
        after=after,
    )
    return answer_numbered_page(
        call,
        page,
        lambda number, size: message_summaries.list_summaries(
            call.tx, workspace.id, wanted, number, size, masked=workspace.is_anonymous
        ),
    )


def _capitals(letters: Sequence[str] | None) -> list[str] | None:
    return None if letters is None else [letter.upper() for letter in letters]
