"""Administrative boundaries: countries with their states, districts and wards, shared by all workspaces.

Other names of a boundary belong to the workspace that uses them.
"""

from dataclasses import replace
from typing import Any

from sqlalchemy import ColumnElement, String, cast, delete, func, insert, null, select

from persistence.database import Transaction
from persistence.errors import RecordMissing
from persistence.lists import Condition, ListQuery, ListSpec
from persistence.sql.json_sql import declare_record, json_record, json_record_or_null, json_text_list
from persistence.sql.names import check_name, name_key
from persistence.sql.pages import Order
from persistence.tables.service import BOUNDARY_NAME_LENGTH, boundary, boundary_alias
from persistence.workspaces import Workspace

parent = boundary.alias("parent")


def count_places(tx: Transaction) -> int:
    return tx.execute(select(func.count()).select_from(boundary)).scalar_one()


def _boundary_record(query: ListQuery) -> ColumnElement[Any]:
    aliases = (
        select(boundary_alias.c.name.label("item"))
        .where(boundary_alias.c.boundary_id == boundary.c.id, boundary_alias.c.workspace_id == query.workspace.id)
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
            "geometry": boundary.c.geometry if query.values.get("geometry", True) else null(),
        }
    )


def _of_country(query: ListQuery) -> list[Condition]:
    """A workspace without a country has none."""
    return [boundary.c.country == query.workspace.country.upper(), boundary.c.country != ""]


BOUNDARIES = ListSpec(
    boundary,
    _boundary_record,
    Order(boundary.c.osm_id, boundary.c.id, descending=False),
    source=boundary.outerjoin(parent, parent.c.id == boundary.c.parent_id),
    standing=_of_country,
    options=frozenset({"geometry"}),
)

BOUNDARY_RECORD_V1 = declare_record(
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
BOUNDARIES_V1 = replace(BOUNDARIES, record=BOUNDARY_RECORD_V1, order=BY_LEVEL_AND_NAME, options=frozenset())


def add_alias(tx: Transaction, workspace: Workspace, osm_id: str, name: str) -> None:
    """Add another name of a boundary for a workspace; an existing name stays. Raises RecordMissing, InvalidInput."""
    name = check_name(name, length=BOUNDARY_NAME_LENGTH)
    boundary_id = _find(tx, workspace, osm_id)
    same = (boundary_alias.c.boundary_id == boundary_id) & (boundary_alias.c.name_key == name_key(name))
    tx.execute(delete(boundary_alias).where(boundary_alias.c.workspace_id == workspace.id, same))
    values = {"boundary_id": boundary_id, "name": name, "name_key": name_key(name)}
    tx.execute(insert(boundary_alias).values(workspace_id=workspace.id, **values))


def remove_alias(tx: Transaction, workspace: Workspace, osm_id: str, name: str) -> None:
    """Remove another name (in any case). Raises RecordMissing."""
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
    """The workspace's country as a tree of `{name, aliases, children}` for `flows.places.read_places`; None without
    a country."""
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
    boundary_id = tx.execute(select(boundary.c.id).where(mine)).scalar_one_or_none()
    if boundary_id is None:
        raise RecordMissing(f"No boundary {osm_id} in the country of the workspace.")
    return boundary_id
