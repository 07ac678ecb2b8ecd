"""Administrative boundaries as v1 shows them: by level and name, the parent as a plain identifier."""

from sqlalchemy import String, cast

from persistence.boundaries import boundary, parent
from persistence.database import Transaction
from persistence.numbered_pages import NumberedPage, fetch_numbered_page
from persistence.pages import Order
from persistence.shapes import declare_record
from persistence.workspaces import Workspace

BOUNDARY_SUMMARY = declare_record(
    {
        "boundary": boundary.c.osm_id,
        "name": boundary.c.name,
        "level": boundary.c.level,
        "parent": parent.c.osm_id,
        "geometry": boundary.c.geometry,
    }
)
BY_LEVEL_AND_NAME = Order(cast(boundary.c.level, String) + boundary.c.name, boundary.c.id, descending=False)
"""Levels have one digit."""


def list_boundary_summaries(tx: Transaction, workspace: Workspace, number: int, size: int) -> NumberedPage:
    """The boundaries of the workspace's country, by level and then by name; none without a country."""
    return fetch_numbered_page(
        tx,
        record=BOUNDARY_SUMMARY,
        source=boundary.outerjoin(parent, parent.c.id == boundary.c.parent_id),
        order=BY_LEVEL_AND_NAME,
        conditions=[boundary.c.country == workspace.country.upper(), boundary.c.country != ""],
        number=number,
        size=size,
    )
