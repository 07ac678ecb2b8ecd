"""The layout of boxes and the edges between them."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from relayboard.flow_tools.layered_layout import GAP, Layout, Way, lay_out

SIZE = (100.0, 40.0)


def place(count: int, *ways: tuple[int, int]) -> Layout:
    return lay_out([SIZE] * count, [Way(*way) for way in ways])


def test_ways_lead_down() -> None:
    layout = place(3, (0, 1), (1, 2), (0, 2))
    heights = [y for _, y in layout.corners]
    assert heights[0] < heights[1] < heights[2]
    assert not any(layout.backward)


def test_a_way_back_is_told_apart_and_leads_up() -> None:
    layout = place(2, (0, 1), (1, 0))
    assert layout.backward == [False, True]
    heights = [y for _, y in layout.lanes[1]]
    assert heights == sorted(heights, reverse=True)


def test_a_way_to_the_same_box_passes_beside_it() -> None:
    layout = place(1, (0, 0))
    (x, _), *_ = layout.lanes[0]
    assert x > layout.corners[0][0] + SIZE[0]


def test_a_way_over_several_layers_passes_between_the_boxes() -> None:
    layout = place(3, (0, 1), (1, 2), (0, 2))
    left, right = layout.corners[1][0], layout.corners[1][0] + SIZE[0]
    assert layout.lanes[2]
    assert all(not left <= x <= right for x, _ in layout.lanes[2])


def test_ways_of_one_box_do_not_cross() -> None:
    layout = place(3, (0, 2), (0, 1))
    assert layout.corners[2][0] < layout.corners[1][0]


def test_nothing_takes_no_room() -> None:
    assert place(0).size == (0.0, 0.0)


@settings(deadline=None)
@given(st.integers(1, 12).flatmap(lambda count: st.tuples(st.just(count), st.lists(_ends(count), max_size=25))))
def test_boxes_never_touch(drawn: tuple[int, list[tuple[int, int]]]) -> None:
    count, ways = drawn
    corners = sorted((y, x) for x, y in place(count, *ways).corners)
    for (y, x), (other_y, other_x) in itertools.pairwise(corners):
        assert other_y >= y + SIZE[1] or (other_y == y and other_x >= x + SIZE[0] + GAP - 0.01)


def _ends(count: int) -> st.SearchStrategy[tuple[int, int]]:
    return st.tuples(st.integers(0, count - 1), st.integers(0, count - 1))
