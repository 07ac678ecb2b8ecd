"""`/api/v1/relayers.json`."""

from datetime import datetime

from handlers.answers import Answer, answer_numbered_page, created, no_content
from handlers.request import Request
from persistence.relayers import v1 as relayer_records
from persistence.relayers.relayers import claim_phone
from persistence.relayers.v1 import RelayerFilter


def list_relayers(
    request: Request,
    *,
    relayer: list[int] | None = None,
    phone: list[str] | None = None,
    country: list[str] | None = None,
    before: datetime | None = None,
    after: datetime | None = None,
    page: str | None = None,
) -> Answer:
    workspace = request.workspace
    wanted = RelayerFilter(relayer, phone, country, before, after)
    return answer_numbered_page(
        request,
        page,
        lambda number, size: relayer_records.list_relayers(request.tx, workspace.id, wanted, number, size),
    )


def claim_relayer(request: Request) -> Answer:
    workspace = request.workspace
    body = request.body
    channel_id = claim_phone(request.tx, workspace, body["claim_code"], body["phone"], body.get("name") or None)
    return created(relayer_records.read_relayer(request.tx, workspace.id, channel_id))


def release_relayers(
    request: Request,
    *,
    relayer: list[int] | None = None,
    phone: list[str] | None = None,
    country: list[str] | None = None,
    before: datetime | None = None,
    after: datetime | None = None,
) -> Answer:
    workspace = request.workspace
    relayer_records.release_relayers(request.tx, workspace.id, RelayerFilter(relayer, phone, country, before, after))
    return no_content()
