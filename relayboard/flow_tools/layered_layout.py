"""Lays out boxes in layers, top to bottom, so that edges ("ways") lead down where possible. These are the usual four
steps of layered graph drawing: back edges are separated, boxes get layers by their longest path from the top, layers
are ordered so that few edges cross, and boxes move under those that they belong to. Edges over several layers, and back
edges, have a lane of their own in each layer between.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

Point = tuple[float, float]

GAP = 36.0
LAYER_GAP = 64.0
LANE_WIDTH = 8.0
ORDERING_ROUNDS = 8
MOVING_ROUNDS = 12


@dataclass(frozen=True, slots=True)
class Way:
    """An edge from one box to another, or to itself, by their positions in the list of boxes. The edges of one box
    leave it from left to right, in the given order.
    """

    source: int
    target: int


@dataclass(frozen=True, slots=True)
class Layout:
    """`corners` are the upper left corners of the boxes; `lanes` the points that each edge passes, in order. `backward`
    says for each edge whether it leads up. `size` is the total width and height.
    """

    corners: list[Point]
    lanes: list[list[Point]]
    backward: list[bool]
    size: tuple[float, float]


@dataclass(slots=True)
class _Cell:
    """A box, or the lane of an edge, in one layer; the ends of a back edge are `beside` a box."""

    layer: int
    width: float
    height: float = 0.0
    x: float = 0.0
    beside: int | None = None
    above: list[int] = field(default_factory=list)
    below: list[int] = field(default_factory=list)


def lay_out(sizes: Sequence[tuple[float, float]], ways: Sequence[Way]) -> Layout:
    """Places boxes of given widths and heights; the first box is the entry."""
    backward = _find_backward(len(sizes), ways)
    layers = _assign_layers(len(sizes), ways, backward)
    cells = [_Cell(layer, width, height) for layer, (width, height) in zip(layers, sizes, strict=True)]
    lane_cells = [_add_lanes(cells, way, is_back) for way, is_back in zip(ways, backward, strict=True)]
    rows = _order_rows(cells)
    _move_cells(cells, rows)
    tops, total_height = _stack(cells, rows)
    left = min((cell.x for cell in cells), default=0.0)
    for cell in cells:
        cell.x -= left
    corners = [(cell.x, tops[cell.layer]) for cell in cells[: len(sizes)]]
    bottoms = [top + max(cells[number].height for number in row) for top, row in zip(tops, rows, strict=True)]
    lanes = [
        _trace([cells[number] for number in lane], tops, bottoms, is_back)
        for lane, is_back in zip(lane_cells, backward, strict=True)
    ]
    return Layout(corners, lanes, backward, (max((cell.x + cell.width for cell in cells), default=0.0), total_height))


def _find_backward(count: int, ways: Sequence[Way]) -> list[bool]:
    """The edges that close a cycle, found by walking from the first box, then from boxes not visited yet."""
    outgoing: list[list[int]] = [[] for _ in range(count)]
    for number, way in enumerate(ways):
        outgoing[way.source].append(number)
    backward = [False] * len(ways)
    state = [0] * count
    for root in range(count):
        stack = [(root, 0)] if not state[root] else []
        while stack:
            box, position = stack.pop()
            state[box] = 1
            if position == len(outgoing[box]):
                state[box] = 2
                continue
            stack.append((box, position + 1))
            number = outgoing[box][position]
            target = ways[number].target
            backward[number] = state[target] == 1
            if not state[target]:
                stack.append((target, 0))
    return backward


def _assign_layers(count: int, ways: Sequence[Way], backward: Sequence[bool]) -> list[int]:
    forward = [way for way, is_back in zip(ways, backward, strict=True) if not is_back]
    waiting = [0] * count
    outgoing: list[list[int]] = [[] for _ in range(count)]
    for way in forward:
        waiting[way.target] += 1
        outgoing[way.source].append(way.target)
    layers = [0] * count
    ready = [box for box in range(count) if not waiting[box]]
    while ready:
        box = ready.pop()
        for target in outgoing[box]:
            layers[target] = max(layers[target], layers[box] + 1)
            waiting[target] -= 1
            if not waiting[target]:
                ready.append(target)
    return layers


def _add_lanes(cells: list[_Cell], way: Way, is_back: bool) -> list[int]:
    """Adds a connected cell for each layer that an edge passes; returns the cells in order."""
    source, target = cells[way.source].layer, cells[way.target].layer
    passed = range(source, target - 1, -1) if is_back else range(source + 1, target)
    lane: list[int] = []
    for layer in passed:
        cells.append(_Cell(layer, LANE_WIDTH))
        lane.append(len(cells) - 1)
    if is_back:
        cells[lane[0]].beside, cells[lane[-1]].beside = way.source, way.target
    stops = [*lane] if is_back else [way.source, *lane, way.target]
    for first, second in pairwise(stops):
        upper, lower = (second, first) if is_back else (first, second)
        cells[upper].below.append(lower)
        cells[lower].above.append(upper)
    return lane


def _order_rows(cells: list[_Cell]) -> list[list[int]]:
    rows: list[list[int]] = [[] for _ in range(max((cell.layer for cell in cells), default=-1) + 1)]
    for number, cell in enumerate(cells):
        rows[cell.layer].append(number)
    best, fewest = [list(row) for row in rows], _count_crossings(cells, rows)
    for turn in range(ORDERING_ROUNDS):
        is_down = turn % 2 == 0
        for row in rows[1:] if is_down else reversed(rows[:-1]):
            _sort_row(cells, row, rows[cells[row[0]].layer + (-1 if is_down else 1)], is_down=is_down)
        crossings = _count_crossings(cells, rows)
        if crossings < fewest:
            best, fewest = [list(row) for row in rows], crossings
    return best


def _sort_row(cells: Sequence[_Cell], row: list[int], neighbors: Sequence[int], *, is_down: bool) -> None:
    """Sorts a row by the mean positions of its cells' neighbors; cells without neighbors stay in place."""
    places = {number: float(place) for place, number in enumerate(neighbors)}
    keys: dict[int, float] = {}
    for place, number in enumerate(row):
        if is_down:
            met = [places[other] + _exit_share(cells[other], number) for other in cells[number].above]
        else:
            met = [places[other] for other in cells[number].below]
        mean = _mean(met)
        keys[number] = place if mean is None else mean
    for number in row:
        beside = cells[number].beside
        if beside is not None and not (cells[number].above if is_down else cells[number].below):
            keys[number] = keys[beside]
    row.sort(key=keys.__getitem__)


def _exit_share(upper: _Cell, number: int) -> float:
    """The position on a cell, from left (0) to right (1), where the edge to another cell leaves it."""
    return upper.below.index(number) / len(upper.below)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _count_crossings(cells: Sequence[_Cell], rows: Sequence[Sequence[int]]) -> int:
    crossings = 0
    for upper, lower in pairwise(rows):
        places = {number: place for place, number in enumerate(lower)}
        ends = [places[other] for number in upper for other in cells[number].below]
        seen: list[int] = []
        for end in ends:
            crossings += len(seen) - bisect_right(seen, end)
            insort(seen, end)
    return crossings


def _move_cells(cells: list[_Cell], rows: Sequence[Sequence[int]]) -> None:
    """Gives every cell its x: first next to each other, then repeatedly as near to its neighbors as space allows."""
    for row in rows:
        _spread(cells, row, [0.0] * len(row))
    for turn in range(MOVING_ROUNDS):
        is_down = turn % 2 == 0
        for row in rows if is_down else reversed(rows):
            wanted = []
            for number in row:
                cell = cells[number]
                others = (cell.above or cell.below) if is_down else (cell.below or cell.above)
                middles = [cells[other].x + cells[other].width / 2 for other in others]
                if cell.beside is not None:
                    middles = [*middles, cells[cell.beside].x + cells[cell.beside].width + GAP]
                middle = _mean(middles)
                wanted.append(cell.x if middle is None else middle - cell.width / 2)
            _spread(cells, row, wanted)


def _spread(cells: list[_Cell], row: Sequence[int], wanted: Sequence[float]) -> None:
    """Places the cells of a row near their wanted positions, in order and without touching: the mean of a pass from
    each side."""
    from_left: list[float] = []
    for number, x in zip(row, wanted, strict=True):
        edge = from_left[-1] + cells[row[len(from_left) - 1]].width + GAP if from_left else x
        from_left.append(max(x, edge))
        cells[number].x = from_left[-1]
    edge = float("inf")
    for index in range(len(row) - 1, -1, -1):
        right = min(wanted[index], edge - cells[row[index]].width - GAP)
        edge = right
        cells[row[index]].x = (right + from_left[index]) / 2


def _stack(cells: Sequence[_Cell], rows: Sequence[Sequence[int]]) -> tuple[list[float], float]:
    tops: list[float] = []
    y = 0.0
    for row in rows:
        tops.append(y)
        y += max(cells[number].height for number in row) + LAYER_GAP
    return tops, max(0.0, y - LAYER_GAP)


def _trace(lane: Sequence[_Cell], tops: Sequence[float], bottoms: Sequence[float], is_back: bool) -> list[Point]:
    points: list[Point] = []
    for cell in lane:
        x = cell.x + cell.width / 2
        through = [(x, tops[cell.layer]), (x, bottoms[cell.layer])]
        points += reversed(through) if is_back else through
    return points
