"""`/api/v2/figures.json`."""

from datetime import date, datetime, timedelta

from handlers.answers import Answer, as_json
from handlers.request import Request
from persistence.errors import InvalidInput
from persistence.figures import grouped
from persistence.tokens import check_area

USUAL_DAYS = 30
AREAS = {"agent": "administration", "team": "tickets", "topic": "tickets", "label": "messages", "channel": "channels"}
"""The areas of the records that figures are grouped by."""


def read_figures(
    request: Request,
    *,
    by: str = grouped.DAY,
    after: datetime | None = None,
    before: datetime | None = None,
    format: str = "json",
) -> Answer:
    """A token needs the area of what it groups by, too."""
    if by in AREAS:
        check_area(request.areas, AREAS[by])
    first, last = _span(after, before, request.tx.now.date())
    found = grouped.read_grouped_figures(request.tx, request.workspace.id, by, first, last)
    if format == "json":
        return as_json(200, found)
    name = f"{by}-{first}-{last}.csv"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Answer(200, grouped.write_csv(found), headers, media_type="text/csv; charset=utf-8")


def _span(after: datetime | None, before: datetime | None, today: date) -> tuple[date, date]:
    """The first and the last day. Raises InvalidInput for too many, or none."""
    last = today if before is None else before.date()
    first = last - timedelta(days=min(USUAL_DAYS - 1, (last - date.min).days)) if after is None else after.date()
    if not 0 <= (last - first).days < grouped.MOST_DAYS or last >= date.max:
        raise InvalidInput.on("after", f"Choose 1 to {grouped.MOST_DAYS} days.")
    return first, last
