"""Draws flows as SVG: a box for each node with its actions, its exits below, and lines to the destinations."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from flows.definition import Flow, Node, Router, Wait
from flows.definition.action_types import draw_action
from flows.engine.pauses import CALLBACK
from relayboard.flow_tools.layered_layout import Layout, Point, Way, lay_out

BOX_WIDTH = 250.0
LINE_HEIGHT = 18.0
PADDING = 10.0
EXIT_HEIGHT = 22.0
EXIT_WIDTH_LEAST = 54.0
MARGIN = 30.0
TITLE_HEIGHT = 34.0
BEND = 26.0
BACK_BEND = 22.0
LETTER_WIDTH = 6.3
SMALL_LETTER_WIDTH = 5.9
ELLIPSIS = "…"
SVG = "http://www.w3.org/2000/svg"

STYLE = """
text { font: 12px system-ui, 'Helvetica Neue', Arial, sans-serif; fill: #1f2933; }
.title { font-size: 16px; font-weight: 600; }
.exit-name { font-size: 11px; fill: #52606d; text-anchor: middle; }
.box { fill: #ffffff; stroke: #9aa5b1; }
.asks { fill: #fff8e6; stroke: #d9a400; }
.decides { fill: #eef4fb; stroke: #6b93c0; }
.exits { fill: none; stroke: #cbd2d9; }
.way { fill: none; stroke: #616e7c; stroke-width: 1.3; }
.back { stroke: #b4690e; stroke-dasharray: 5 3; }
.end { fill: #9aa5b1; }
.entry { fill: #2f855a; }
"""


def draw_flow(flow: Flow) -> str:
    """A drawing of a flow as an SVG document, in the flow's own language."""
    nodes = list(flow.nodes)
    positions = {node.uuid: number for number, node in enumerate(nodes)}
    ways, ports = [], []
    for number, node in enumerate(nodes):
        for port, each in enumerate(node.exits):
            if each.destination_uuid in positions:
                ways.append(Way(number, positions[each.destination_uuid]))
                ports.append(port)
    layout = lay_out([_measure(node) for node in nodes], ways)
    width, height = (part + 2 * MARGIN for part in layout.size)
    root = _start_document(flow.name, max(width, MARGIN * 2 + len(flow.name) * 10), height + TITLE_HEIGHT)
    canvas = SubElement(root, "g", transform=f"translate({MARGIN:g} {MARGIN + TITLE_HEIGHT:g})")
    for number, way in enumerate(ways):
        start = _port(nodes[way.source], layout.corners[way.source], ports[number])
        _draw_way(canvas, _plan_way(start, layout, number, way, nodes), is_back=layout.backward[number])
    for number, node in enumerate(nodes):
        _draw_node(canvas, node, layout.corners[number], is_entry=not number)
    return ElementTree.tostring(root, encoding="unicode")


def _start_document(name: str, width: float, height: float) -> Element:
    root = Element("svg", xmlns=SVG, width=f"{width:g}", height=f"{height:g}", viewBox=f"0 0 {width:g} {height:g}")
    SubElement(root, "title").text = _printable(name)
    SubElement(root, "style").text = STYLE
    definitions = SubElement(root, "defs")
    marker = {"id": "arrow", "viewBox": "0 0 8 8", "refX": "7", "refY": "4", "markerWidth": "7", "markerHeight": "7"}
    arrow = SubElement(definitions, "marker", {**marker, "orient": "auto"})
    SubElement(arrow, "path", d="M0 0 L8 4 L0 8 z", fill="#616e7c")
    SubElement(root, "rect", width="100%", height="100%", fill="#f5f7fa")
    _write(root, name, (MARGIN, MARGIN + LINE_HEIGHT / 2), "title")
    return root


def _box_width(node: Node) -> float:
    return max(BOX_WIDTH, EXIT_WIDTH_LEAST * len(node.exits))


def _measure(node: Node) -> tuple[float, float]:
    lines = max(1, len(summarize_node(node)))
    return _box_width(node), 2 * PADDING + lines * LINE_HEIGHT + _exits_height(node)


def _exits_height(node: Node) -> float:
    return EXIT_HEIGHT if node.router else 0.0


def _port(node: Node, corner: Point, port: int) -> Point:
    width, height = _measure(node)
    return corner[0] + width * (port + 0.5) / len(node.exits), corner[1] + height


def _plan_way(start: Point, layout: Layout, number: int, way: Way, nodes: Sequence[Node]) -> list[Point]:
    left, top = layout.corners[way.target]
    end = (left + _box_width(nodes[way.target]) / 2, top)
    return [start, *layout.lanes[number], end]


def _draw_way(canvas: Element, points: Sequence[Point], *, is_back: bool) -> None:
    """Draws a curve that leaves downward, arrives from above, and passes its lanes straight up or down."""
    path = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
    last = len(points) - 2
    for number, (one, other) in enumerate(pairwise(points)):
        if one[0] == other[0] and 0 < number < last:
            path += f" L{other[0]:.1f} {other[1]:.1f}"
            continue
        if is_back:
            # From the box down and round into the lane, which leads up; from there round again, down into the
            # destination.
            leaving = BACK_BEND if number == 0 else -BACK_BEND
            arriving = -BACK_BEND if number == last else BACK_BEND
            if 0 < number < last:
                leaving, arriving = -BEND, BEND
        else:
            bend = max(BEND, abs(other[1] - one[1]) / 2)
            leaving, arriving = bend, -bend
        path += f" C{one[0]:.1f} {one[1] + leaving:.1f} {other[0]:.1f} {other[1] + arriving:.1f}"
        path += f" {other[0]:.1f} {other[1]:.1f}"
    SubElement(canvas, "path", {"class": "way back" if is_back else "way", "d": path, "marker-end": "url(#arrow)"})


def _draw_node(canvas: Element, node: Node, corner: Point, *, is_entry: bool) -> None:
    (x, y), (width, height) = corner, _measure(node)
    group = SubElement(canvas, "g", id=f"node-{node.uuid}")
    kind = "asks" if node.router and node.router.wait else "decides" if node.router else ""
    box = {"x": f"{x:.1f}", "y": f"{y:.1f}", "width": f"{width:.1f}", "height": f"{height:.1f}", "rx": "7"}
    SubElement(group, "rect", {**box, "class": f"box {kind}".strip()})
    lines = summarize_node(node)
    for number, line in enumerate(lines):
        SubElement(group, "title").text = _printable(line)
        fitting = _fit(line, width - 2 * PADDING, LETTER_WIDTH)
        _write(group, fitting, (x + PADDING, y + PADDING + LINE_HEIGHT * (number + 0.72)))
    if is_entry:
        SubElement(group, "circle", {"cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": "6", "class": "entry"})
    _draw_exits(group, node, corner)


def _draw_exits(group: Element, node: Node, corner: Point) -> None:
    width, height = _measure(node)
    left, bottom = corner[0], corner[1] + height
    share = width / len(node.exits)
    for port, (each, label) in enumerate(zip(node.exits, label_exits(node), strict=True)):
        x, _ = _port(node, corner, port)
        if node.router:
            edge = left + share * port
            line = f"M{edge:.1f} {bottom:.1f} v{-EXIT_HEIGHT:g} h{share:.1f} v{EXIT_HEIGHT:g}"
            SubElement(group, "path", {"class": "exits", "d": line})
            SubElement(group, "title").text = _printable(label)
            _write(group, _fit(label, share - 6, SMALL_LETTER_WIDTH), (x, bottom - 7), "exit-name")
        if each.destination_uuid is None:
            SubElement(group, "circle", {"cx": f"{x:.1f}", "cy": f"{bottom:.1f}", "r": "3.5", "class": "end"})


def _fit(text: str, width: float, letter_width: float) -> str:
    text = " ".join(text.split())
    count = max(1, int(width / letter_width))
    return text if len(text) <= count else text[: count - 1] + ELLIPSIS


def _write(parent: Element, text: str, place: Point, kind: str = "") -> None:
    attributes = {"x": f"{place[0]:.1f}", "y": f"{place[1]:.1f}"}
    SubElement(parent, "text", {**attributes, "class": kind} if kind else attributes).text = _printable(text)


def _printable(text: str) -> str:
    # Control characters may be in a flow but not in XML.
    return "".join(letter if letter.isprintable() else " " for letter in text)


def summarize_node(node: Node) -> list[str]:
    """A line for each action, for the wait and for the router of a node."""
    lines = [draw_action(action) for action in node.actions]
    return [*lines, *_summarize_router(node.router)] if node.router else lines


def label_exits(node: Node) -> list[str]:
    """For each exit of a node, the categories that lead to it; an empty string without a router."""
    categories = node.router.categories if node.router else ()
    return [", ".join(item.name for item in categories if item.exit_uuid == each.uuid) for each in node.exits]


def _summarize_router(router: Router) -> list[str]:
    lines: list[str] = []
    if router.wait is not None and router.wait.type == "dial":
        lines.append(f"Dial {router.wait.phone}")
    elif router.wait is not None and router.wait.pause is not None:
        lines.append(_summarize_pause(router.wait))
    elif router.wait is not None:
        timeout = router.wait.timeout
        lines.append(f"Wait for an answer, {timeout.seconds} s" if timeout else "Wait for an answer")
    name = f" → {router.result_name}" if router.result_name else ""
    lines.append(f"Split by chance{name}" if router.type == "random" else f"Split on {router.operand}{name}")
    return lines


def _summarize_pause(wait: Wait) -> str:
    assert wait.pause is not None
    limit = f"{wait.timeout.seconds} s" if wait.timeout else ""
    if wait.pause.ends_by == CALLBACK:
        return f"Wait for a callback, {limit}" if limit else "Wait for a callback"
    return f"Wait until {wait.pause.until}" if wait.pause.until else f"Wait {limit}"
