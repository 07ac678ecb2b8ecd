"""`/api/v2/exports.json`."""

from handlers.answers import Answer, ListAnswer, created_record, with_link
from handlers.contract.schemas import read_time
from handlers.request import Request
from persistence.exports import exports
from persistence.exports.exports import EXPORTS
from persistence.exports.kinds import FILTERS, KINDS, TIMES
from persistence.tokens import check_area

list_exports = ListAnswer(EXPORTS, show=with_link("download_url"))


def create_export(request: Request) -> Answer:
    body = request.body
    kind, form = body["type"], body["format"]
    check_area(request.areas, KINDS[kind].area)
    given = {name: body[name] for name in FILTERS if name in body}
    filters = {name: read_time(name, text).isoformat() if name in TIMES else text for name, text in given.items()}
    made = exports.create_export(request.tx, request.workspace, kind, form, filters, request.credentials.user_id)
    return created_record(request, EXPORTS, made)
