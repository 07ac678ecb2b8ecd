"""Administrative boundaries: countries with their states, districts and wards, shared by all workspaces.

Other names of a boundary belong to the workspace that uses them.
"""

from typing import Any

from sqlalchemy import Column, ForeignKey, Index, Integer, String, Table, Text, delete, insert, null, select

from persistence.columns import Json, id_column, metadata, workspace_column
from persistence.database import Transaction
from persistence.errors import RecordMissing
from persistence.names import check_name, name_key
from persistence.pages import Order, Page, Position, fetch_page
from persistence.shapes import json_record, json_record_or_null, json_text_list
from persistence.workspaces import Workspace

NAME_LENGTH = 128

# Sorted by bytes on every database, whatever the locale of its texts.
_OsmId = String(32).with_variant(String(32, collation="C"), "postgresql")
_Name = String(NAME_LENGTH).with_variant(String(NAME_LENGTH, collation="C"), "postgresql")

boundary = Table(
    "boundary",
    metadata,
    id_column(),
    Column("osm_id", _OsmId, nullable=False, unique=True),
    Column("name", String(NAME_LENGTH), nullable=False),
    Column("level", Integer, nullable=False),
    Column("parent_id", Integer, ForeignKey("boundary.id")),
    Column("country", String(2), nullable=False),
    Column("geometry", Json),
    Index("ix_boundary_page", "country", "osm_id", "id"),
    Index("ix_boundary_parent", "parent_id"),
    sqlite_autoincrement=True,
)
"""`level` is 0 for a country down to 3 for a ward; `country` the two-letter code of the country they are all in;
`geometry` a GeoJSON MultiPolygon. Nothing here belongs to a workspace."""

boundary_alias = Table(
    "boundary_alias",
    metadata,
    id_column(),
    workspace_column(),
    Column("boundary_id", Integer, ForeignKey("boundary.id"), nullable=False),
    Column("name", _Name, nullable=False),
    Column("name_key", Text, nullable=False),
    Index("uq_boundary_alias_name", "workspace_id", "boundary_id", "name_key", unique=True),
    Index("ix_boundary_alias_boundary", "boundary_id", "workspace_id"),
    sqlite_autoincrement=True,
)

parent = boundary.alias("parent")

BOUNDARIES_ORDER = Order(boundary.c.osm_id, boundary.c.id, descending=False)


def list_boundaries(
    tx: Transaction, workspace: Workspace, position: Position | None, size: int, *, with_geometry: bool = True
) -> Page:
    """The boundaries of the workspace's country by osm_id, smallest first; none without a country."""
    return fetch_page(
        tx,
        record=_boundary_record(workspace.id, with_geometry=with_geometry),
        source=boundary.outerjoin(parent, parent.c.id == boundary.c.parent_id),
        source_id=boundary.c.id,
        order=BOUNDARIES_ORDER,
        conditions=[boundary.c.country == workspace.country.upper(), boundary.c.country != ""],
        position=position,
        size=size,
    )


def _boundary_record(workspace_id: int, *, with_geometry: bool) -> Any:
    aliases = (
        select(boundary_alias.c.name.label("item"))
        .where(boundary_alias.c.boundary_id == boundary.c.id, boundary_alias.c.workspace_id == workspace_id)
        .order_by(boundary_alias.c.name)
        .correlate(boundary)
    )
    return json_record(
        {
            "osm_id": boundary.c.osm_id,
            "name": boundary.c.name,
            "parent": json_record_or_null(parent.c.id, {"osm_id": parent.c.osm_id, "name": parent.c.name}),
            "level": boundary.c.level,
            "aliases": json_text_list(aliases),
            "geometry": boundary.c.geometry if with_geometry else null(),
        }
    )


def add_alias(tx: Transaction, workspace: Workspace, osm_id: str, name: str) -> None:
    """Another name of a boundary for a workspace; one it has already stays. Raises RecordMissing, InvalidInput."""
    name = check_name(name, length=NAME_LENGTH)
    boundary_id = _find(tx, workspace, osm_id)
    same = (boundary_alias.c.boundary_id == boundary_id) & (boundary_alias.c.name_key == name_key(name))
    tx.execute(delete(boundary_alias).where(boundary_alias.c.workspace_id == workspace.id, same))
    values = {"boundary_id": boundary_id, "name": name, "name_key": name_key(name)}
    tx.execute(insert(boundary_alias).values(workspace_id=workspace.id, **values))


def remove_alias(tx: Transaction, workspace: Workspace, osm_id: str, name: str) -> None:
    """Take away another name (any case). Raises RecordMissing."""
    boundary_id = _find(tx, workspace, osm_id)
    same = (boundary_alias.c.boundary_id == boundary_id) & (boundary_alias.c.name_key == name_key(name.strip()))
    if not tx.execute(delete(boundary_alias).where(boundary_alias.c.workspace_id == workspace.id, same)).rowcount:
        raise RecordMissing(f"No alias {name}.")


def read_aliases(tx: Transaction, workspace: Workspace, osm_id: str) -> list[str]:
    """The other names of a boundary for a workspace, sorted. Raises RecordMissing."""
    theirs = (boundary_alias.c.workspace_id == workspace.id) & (
        boundary_alias.c.boundary_id == _find(tx, workspace, osm_id)
    )
    return list(tx.execute(select(boundary_alias.c.name).where(theirs).order_by(boundary_alias.c.name)).scalars())


def read_place_tree(tx: Transaction, workspace: Workspace) -> dict[str, Any] | None:
    """The workspace's country as a tree of `{name, aliases, children}` for `flows.places.read_places`; None without."""
    columns = (boundary.c.id, boundary.c.parent_id, boundary.c.name)
    mine = (boundary.c.country == workspace.country.upper()) & (boundary.c.country != "")
    rows = tx.execute(select(*columns).where(mine).order_by(boundary.c.level, boundary.c.osm_id)).all()
    names = select(boundary_alias.c.boundary_id, boundary_alias.c.name).where(
        boundary_alias.c.workspace_id == workspace.id
    )
    aliases: dict[int, list[str]] = {}
    for boundary_id, name in tx.execute(names.order_by(boundary_alias.c.name)):
        aliases.setdefault(boundary_id, []).append(name)
    trees: dict[int, dict[str, Any]] = {}
    root = None
    for row in rows:
        trees[row.id] = {"name": row.name, "aliases": aliases.get(row.id, []), "children": []}
        if row.parent_id is None:
            root = trees[row.id]
        else:
            trees[row.parent_id]["children"].append(trees[row.id])
    return root


def _find(tx: Transaction, workspace: Workspace, osm_id: str) -> int:
    mine = (boundary.c.country == workspace.country.upper()) & (boundary.c.osm_id == osm_id)
    boundary_id: int | None = tx.execute(select(boundary.c.id).where(mine)).scalar_one_or_none()
    if boundary_id is None:
        raise RecordMissing(f"No boundary {osm_id} in the country of the workspace.")
    return boundary_id
