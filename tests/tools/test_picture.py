"""The drawing of the floors."""

from tools.picture import PACKAGES, draw, find_floors, read_rooms


def test_every_package_has_rooms_and_no_import_leads_up() -> None:
    sizes, imports = read_rooms()
    floors = find_floors(sizes, imports)

    assert {room.split(".")[0] for room in sizes} == set(PACKAGES)
    assert all(floors[other] <= floors[room] for room in sizes for other in imports[room])
    assert floors["flows"] < floors["persistence.tables"] <= floors["persistence.contacts"] < floors["handlers.v2"]


def test_the_drawing_names_every_room() -> None:
    sizes, imports = read_rooms()

    drawn = draw(sizes, find_floors(sizes, imports))

    assert all(f">{room}</text>" in drawn for room in sizes)
