"""`/api/v2/archives.json`."""

from datetime import datetime

from handlers.answers import Answer, answer_page
from handlers.asgi.archive_files import link_to_archive
from handlers.request import Request
from persistence.archives import archives
from persistence.sql.pages import Page, Position


def list_archives(
    request: Request,
    *,
    archive_type: str | None = None,
    type: str | None = None,
    period: str | None = None,
    before: datetime | None = None,
    after: datetime | None = None,
) -> Answer:
    workspace = request.workspace
    kinds = [kind for kind in (archive_type, type) if kind is not None]

    def link(location: str) -> str:
        return link_to_archive(request.root, request.settings.secret_key, location, request.now)

    def fetch(position: Position | None, size: int) -> Page:
        return archives.list_archives(
            request.tx, workspace.id, position, size, link=link, kinds=kinds, period=period, before=before, after=after
        )

    return answer_page(request, archives.ARCHIVES_ORDER, fetch)
