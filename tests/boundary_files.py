"""Boundaries as GeoJSON, for tests: Rwanda with two provinces, a district and a sector, and Kenya."""

from typing import Any

SQUARE = [[[29.0, -2.0], [29.5, -2.0], [29.5, -2.5], [29.0, -2.0]]]


def feature(osm_id: str, name: str, parent: str | None = None, **more: Any) -> dict[str, Any]:
    properties = {"osm_id": osm_id, "name": name, "parent_osm_id": parent, **more}
    geometry = {"type": "Polygon", "coordinates": SQUARE}
    return {"type": "Feature", "properties": properties, "geometry": geometry}


def collection(*features: dict[str, Any]) -> dict[str, Any]:
    return {"type": "FeatureCollection", "features": list(features)}


RWANDA = collection(
    feature("R2", "Kigali", "R171496"),
    feature("R10", "Eastern", "R171496"),
    feature("R4", "Kimironko", "R3"),
    feature("R3", "Gasabo", "R2"),
    feature("R171496", "Rwanda", country="RW"),
)
KENYA = collection(feature("R192798", "Kenya", country="ke"))
