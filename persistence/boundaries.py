"""Administrative boundaries: countries with their states, districts and wards, shared by all workspaces, and read from
GeoJSON. Other names of a boundary belong to the workspace that uses them.

A file is a FeatureCollection. The properties of a feature are `osm_id`, `name` (or `name_en`), and for everything
except a country the `osm_id` of its parent, as `parent_osm_id`, `parent_id`, `is_in_state` or `is_in_country`. A
country has its two-letter code as `country`, `iso_a2` or `ISO3166-1`. Parents are in the same file or were imported
before.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import String, cast, delete, func, insert, select

from persistence.database import Transaction
from persistence.errors import InvalidInput, RecordMissing
from persistence.lists import Condition, ListQuery, ListSpec
from persistence.pages import Order
from persistence.records import WORKSPACE, Record, Related, optional
from persistence.sql.columns import split
from persistence.sql.names import check_name, name_key
from persistence.statements import update
from persistence.tables.service import BOUNDARY_NAME_LENGTH, boundary, boundary_alias
from persistence.tables.service import BOUNDARY_NAME_LENGTH as NAME_LENGTH
from persistence.workspaces.records import Workspace
from relayboard.base.progress import report

parent = boundary.alias("parent")

BOUNDARY_RECORD_V1 = Record(
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

DEEPEST_LEVEL = 3
OSM_ID_LENGTH = 32
ROWS_PER_STATEMENT = 500
PARENTS = ("parent_osm_id", "parent_id", "is_in_state", "is_in_country")
CODES = ("country", "iso_a2", "ISO3166-1")
WANTED = (
    "osm_id, name (or name_en), the osm_id of the parent as parent_osm_id, parent_id, is_in_state or is_in_country, and"
    " for a country its two-letter code as country, iso_a2 or ISO3166-1 (or the option --country)"
)

_FIELDS: dict[str, Any] = {
    "osm_id": boundary.c.osm_id,
    "name": boundary.c.name,
    "parent": optional(parent.c.id, {"osm_id": parent.c.osm_id, "name": parent.c.name}),
    "level": boundary.c.level,
    "aliases": Related(
        boundary_alias.c.boundary_id,
        boundary_alias,
        boundary_alias.c.name,
        boundary_alias.c.name,
        where=boundary_alias.c.workspace_id == WORKSPACE,
    ),
}
RECORDS = {
    is_drawn: Record({**_FIELDS, "geometry": boundary.c.geometry if is_drawn else None}) for is_drawn in (True, False)
}


def count_places(tx: Transaction) -> int:
    return tx.execute(select(func.count()).select_from(boundary)).scalar_one()


def _of_country(query: ListQuery) -> list[Condition]:
    """A workspace without a country has none."""
    return [boundary.c.country == query.workspace.country.upper(), boundary.c.country != ""]


BOUNDARIES = ListSpec(
    boundary,
    lambda query: RECORDS[query.values.get("geometry", True)],
    Order(boundary.c.osm_id, boundary.c.id, descending=False),
    source=boundary.outerjoin(parent, parent.c.id == boundary.c.parent_id),
    standing=_of_country,
    options=frozenset({"geometry"}),
)
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


@dataclass(frozen=True, slots=True)
class NewBoundary:
    """A feature as read; `country` is the code of a country, None for its parts."""

    osm_id: str
    name: str
    parent_osm_id: str | None
    country: str | None
    geometry: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Placed:
    """What the children of a stored boundary need to know about it."""

    id: int
    level: int
    country: str


def read_features(document: object, country: str | None = None) -> list[NewBoundary]:
    """The boundaries of a GeoJSON document; `country` is the code of a country that has none.

    Raises InvalidInput, which names the first invalid feature.
    """
    features = document.get("features") if isinstance(document, Mapping) else None
    if not isinstance(features, list) or not features:
        raise InvalidInput.on("features", "A GeoJSON FeatureCollection is expected.")
    found = [_read_feature(feature, index, country) for index, feature in enumerate(features)]
    repeated = len(found) - len({each.osm_id for each in found})
    if repeated:
        raise InvalidInput.on("features", f"{repeated} features repeat the osm_id of another one.")
    return found


def store_boundaries(tx: Transaction, found: Iterable[NewBoundary]) -> int:
    """Stores boundaries, replacing existing ones; returns their number. Raises InvalidInput for an unknown parent, and
    for more than four levels; then nothing is stored.
    """
    waiting = list(found)
    total = len(waiting)
    placed = _read_placed(tx, {each.parent_osm_id for each in waiting if each.parent_osm_id is not None})
    own_ids = {each.osm_id for each in waiting}
    stored = 0
    while waiting:
        ready = [each for each in waiting if _is_ready(each, placed, own_ids)]
        if not ready:
            raise InvalidInput.on("features", f"The parent of {waiting[0].osm_id} is not known.")
        placed |= _store(tx, ready, placed)
        own_ids -= {each.osm_id for each in ready}
        waiting = [each for each in waiting if each.osm_id in own_ids]
        stored += len(ready)
        report("Storing boundaries", stored, total)
    return stored


def _find(tx: Transaction, workspace: Workspace, osm_id: str) -> int:
    mine = (boundary.c.country == workspace.country.upper()) & (boundary.c.osm_id == osm_id)
    boundary_id = tx.execute(select(boundary.c.id).where(mine)).scalar_one_or_none()
    if boundary_id is None:
        raise RecordMissing(f"No boundary {osm_id} in the country of the workspace.")
    return boundary_id


def _is_ready(each: NewBoundary, placed: Mapping[str, Placed], own_ids: set[str]) -> bool:
    # A parent in the same file is stored first, even if an older version of it exists.
    parent = each.parent_osm_id
    return parent is None or (parent in placed and parent not in own_ids)


def _store(tx: Transaction, ready: Sequence[NewBoundary], placed: Mapping[str, Placed]) -> dict[str, Placed]:
    rows = {each.osm_id: _make_row(each, placed) for each in ready}
    known = _read_placed(tx, set(rows))
    for osm_id in sorted(known):
        tx.execute(update(boundary).where(boundary.c.osm_id == osm_id).values(rows[osm_id]))
    new = [rows[osm_id] for osm_id in sorted(rows.keys() - known.keys())]
    for some in split(new, ROWS_PER_STATEMENT):
        tx.execute(insert(boundary), some)
    return _read_placed(tx, set(rows))


def _make_row(each: NewBoundary, placed: Mapping[str, Placed]) -> dict[str, Any]:
    parent = None if each.parent_osm_id is None else placed[each.parent_osm_id]
    level = 0 if parent is None else parent.level + 1
    if level > DEEPEST_LEVEL:
        raise InvalidInput.on("features", f"{each.osm_id} lies deeper than a ward.")
    return {
        "osm_id": each.osm_id,
        "name": each.name,
        "level": level,
        "parent_id": None if parent is None else parent.id,
        "country": each.country if parent is None else parent.country,
        "geometry": each.geometry,
    }


def _read_placed(tx: Transaction, osm_ids: set[str]) -> dict[str, Placed]:
    placed = {}
    columns = (boundary.c.osm_id, boundary.c.id, boundary.c.level, boundary.c.country)
    for some in split(sorted(osm_ids), ROWS_PER_STATEMENT):
        for osm_id, boundary_id, level, country in tx.execute(select(*columns).where(boundary.c.osm_id.in_(some))):
            placed[osm_id] = Placed(boundary_id, level, country)
    return placed


def _read_feature(feature: object, index: int, country: str | None) -> NewBoundary:
    given: Mapping[str, Any] = feature if isinstance(feature, Mapping) else {}
    properties = given.get("properties")
    if not isinstance(properties, Mapping):
        raise InvalidInput.at("features", index, f"A feature with properties is expected: {WANTED}.")
    osm_id = _read_text(properties, ("osm_id",))
    name = _read_text(properties, ("name", "name_en"))
    if osm_id is None or len(osm_id) > OSM_ID_LENGTH:
        raise InvalidInput.at(
            "features", index, _say(f"An osm_id of 1 to {OSM_ID_LENGTH} characters is expected.", properties)
        )
    if name is None or len(name) > NAME_LENGTH:
        raise InvalidInput.at(
            "features", index, _say(f"A name of 1 to {NAME_LENGTH} characters is expected.", properties)
        )
    parent = _read_text(properties, PARENTS)
    code = (_read_text(properties, CODES) or country or "").upper()
    if parent is None and (len(code) != 2 or not code.isalpha()):
        raise InvalidInput.at("features", index, _say("A country needs its two-letter code.", properties))
    geometry = _read_geometry(given.get("geometry"), index)
    return NewBoundary(osm_id, name, parent, None if parent else code, geometry)


def _say(problem: str, properties: Mapping[str, Any]) -> str:
    names = ", ".join(sorted(str(name)[:32] for name in properties)[:20]) or "none"
    return f"{problem} The properties here are {names}; wanted are {WANTED}."


def _read_text(properties: Mapping[str, Any], keys: Sequence[str]) -> str | None:
    values = (properties.get(key) for key in keys)
    texts = (str(value).strip() for value in values if isinstance(value, str | int))
    return next((text for text in texts if text), None)


def _read_geometry(geometry: object, index: int) -> dict[str, Any] | None:
    if geometry is None:
        return None
    given: Mapping[str, Any] = geometry if isinstance(geometry, Mapping) else {}
    kind = given.get("type")
    polygons = {"Polygon": [given.get("coordinates")], "MultiPolygon": given.get("coordinates")}.get(str(kind))
    if not isinstance(polygons, list) or not all(_is_polygon(polygon) for polygon in polygons):
        raise InvalidInput.at("features", index, "A Polygon or MultiPolygon with closed lines is expected.")
    return {"type": "MultiPolygon", "coordinates": polygons}


def _is_polygon(polygon: object) -> bool:
    return isinstance(polygon, list) and all(
        isinstance(line, list) and len(line) >= 4 and all(_is_point(point) for point in line) for line in polygon
    )


def _is_point(point: object) -> bool:
    return isinstance(point, list) and 2 <= len(point) <= 3 and all(type(part) in (int, float) for part in point)
