"""`/api/v2/classifiers.json`."""

from datetime import datetime

from handlers.answers import Answer, answer_page
from handlers.request import Call
from persistence import classifiers
from persistence.sql.pages import Page, Position


def list_classifiers(
    call: Call, *, uuid: str | None = None, before: datetime | None = None, after: datetime | None = None
) -> Answer:
    workspace = call.workspace

    def fetch(position: Position | None, size: int) -> Page:
        return classifiers.list_classifiers(
            call.tx, workspace.id, position, size, uuid=uuid, before=before, after=after
        )

    return answer_page(call, classifiers.CLASSIFIERS_ORDER, fetch)
