"""Draws the packages and their imports: `python -m tools.picture > docs/architecture.svg` (`make picture`). A box
("room") is a package of the second level, or all single modules of a package together. Each room is one floor above the
highest room that it imports, so that all arrows lead down.
"""

import sys
from collections import defaultdict
from html import escape
from pathlib import Path

import grimp

PACKAGES = ("relayboard", "handlers", "worker", "persistence", "channels", "flows", "openapi")
COLORS = ("#fde2c8", "#d9e8fb", "#dff2dc", "#f6e0ee", "#efe6fb", "#fbf6d0", "#eeeeee")
WIDTH, BOX_WIDTH, BOX_HEIGHT, GAP, FLOOR_GAP = 1180, 128, 36, 10, 34


def room_of(module: str) -> str:
    """`persistence.contacts.records` is in `persistence.contacts`, `persistence.labels` in `persistence`."""
    parts = module.split(".")
    return ".".join(parts[:2]) if len(parts) > 2 else parts[0]


def read_rooms() -> tuple[dict[str, int], dict[str, set[str]]]:
    """The number of modules of each room, and the rooms that it imports."""
    graph = grimp.build_graph(*PACKAGES)
    sizes: dict[str, int] = defaultdict(int)
    imports: dict[str, set[str]] = defaultdict(set)
    for module in graph.modules:
        room = room_of(module)
        sizes[room] += 1
        imports[room] |= {room_of(other) for other in graph.find_modules_directly_imported_by(module)} - {room}
    return dict(sizes), imports


def find_floors(sizes: dict[str, int], imports: dict[str, set[str]]) -> dict[str, int]:
    """The floor of each room, 0 at the bottom; rooms that import each other share one."""
    below = {room: _reach(room, imports) for room in sizes}
    floors: dict[str, int] = {}

    def floor(room: str) -> int:
        if room not in floors:
            lower = [other for other in below[room] if room not in below[other]]
            floors[room] = 1 + max((floor(other) for other in lower), default=-1)
        return floors[room]

    return {room: floor(room) for room in sizes}


def _reach(room: str, imports: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = [room]
    while waiting:
        for other in imports.get(waiting.pop(), set()) - found:
            found.add(other)
            waiting.append(other)
    return found - {room}


def draw(sizes: dict[str, int], floors: dict[str, int]) -> str:
    """The picture as SVG: a row of boxes for each floor, wrapped where it is too wide."""
    per_row = WIDTH // (BOX_WIDTH + GAP)
    rows: list[list[str]] = []
    for number in range(max(floors.values()), -1, -1):
        rooms = sorted((room for room in sizes if floors[room] == number), key=lambda room: (_rank(room), room))
        rows += [rooms[start : start + per_row] for start in range(0, len(rooms), per_row)]
    height = len(rows) * (BOX_HEIGHT + FLOOR_GAP) + GAP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" font-family="sans-serif" '
        'font-size="12">',
        "<title>The packages of Relayboard: each imports only packages below it</title>",
    ]
    for index, row in enumerate(rows):
        top = GAP + index * (BOX_HEIGHT + FLOOR_GAP)
        left = (WIDTH - len(row) * (BOX_WIDTH + GAP)) / 2
        for position, room in enumerate(row):
            parts += _box(room, sizes[room], left + position * (BOX_WIDTH + GAP), top)
    return "\n".join([*parts, "</svg>", ""])


def _rank(room: str) -> int:
    return PACKAGES.index(room.split(".")[0])


def _box(room: str, modules: int, left: float, top: float) -> list[str]:
    middle = left + BOX_WIDTH / 2
    return [
        f'<rect x="{left:g}" y="{top:g}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="4" '
        f'fill="{COLORS[_rank(room)]}" stroke="#555"/>',
        f'<text x="{middle:g}" y="{top + 15:g}" text-anchor="middle">{escape(room)}</text>',
        f'<text x="{middle:g}" y="{top + 29:g}" text-anchor="middle" font-size="10" fill="#444">'
        f"{modules} modules</text>",
    ]


def main() -> None:
    sizes, imports = read_rooms()
    sys.stdout.write(draw(sizes, find_floors(sizes, imports)))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    main()
