"""`/api/v2/archives.json`."""

from datetime import datetime

from handlers.answers import Answer, answer_page
from handlers.asgi.archive_files import link_to_archive
from handlers.request import Call
from persistence.archives import archives
from persistence.sql.pages import Page, Position


def list_archives(
    call: Call,
    *,
    archive_type: str | None = None,
    type: str | None = None,
    period: str | None = None,
    before: datetime | None = None,
    after: datetime | None = None,
) -> Answer:
    workspace = call.workspace
    kinds = [kind for kind in (archive_type, type) if kind is not None]

    def link(location: str) -> str:
        return link_to_archive(call.root, call.settings.secret_key, location, call.now)

    def fetch(position: Position | None, size: int) -> Page:
        return archives.list_archives(
            call.tx, workspace.id, position, size, link=link, kinds=kinds, period=period, before=before, after=after
        )

    return answer_page(call, archives.ARCHIVES_ORDER, fetch)
