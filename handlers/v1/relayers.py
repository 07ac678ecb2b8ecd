"""`/api/v1/relayers.json`."""

from datetime import datetime

from handlers.answers import Answer, answer_numbered_page, created, no_content
from handlers.request import Call
from persistence.relayers import v1 as relayer_records
from persistence.relayers.relayers import claim_phone
from persistence.relayers.v1 import RelayerFilter


def list_relayers(
    call: Call,
    *,
    relayer: list[int] | None = None,
    phone: list[str] | None = None,
    country: list[str] | None = None,
    before: datetime | None = None,
    after: datetime | None = None,
    page: str | None = None,
) -> Answer:
    workspace = call.workspace
    wanted = RelayerFilter(relayer, phone, country, before, after)
    return answer_numbered_page(
        call,
        page,
        lambda number, size: relayer_records.list_relayers(call.tx, workspace.id, wanted, number, size),
    )


def claim_relayer(call: Call) -> Answer:
    workspace = call.workspace
    body = call.body
    channel_id = claim_phone(call.tx, workspace, body["claim_code"], body["phone"], body.get("name") or None)
    return created(relayer_records.read_relayer(call.tx, workspace.id, channel_id))


def release_relayers(
    call: Call,
    *,
    relayer: list[int] | None = None,
    phone: list[str] | None = None,
    country: list[str] | None = None,
    before: datetime | None = None,
    after: datetime | None = None,
) -> Answer:
    workspace = call.workspace
    relayer_records.release_relayers(call.tx, workspace.id, RelayerFilter(relayer, phone, country, before, after))
    return no_content()
