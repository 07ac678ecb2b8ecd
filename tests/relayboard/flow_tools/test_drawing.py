"""Drawings of flows."""

from __future__ import annotations

from xml.etree import ElementTree

from flows import load
from relayboard.flow_tools.drawing import draw_flow
from tests.definition_files import read_registration
from tests.flows.definition.specimens import make_flow, make_node, make_router, make_uuid

SVG = "{http://www.w3.org/2000/svg}"


def read_texts(drawing: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(drawing).iter(f"{SVG}text")]


def test_every_node_and_every_way_is_drawn() -> None:
    flow = load(read_registration()["flows"][0])
    drawing = ElementTree.fromstring(draw_flow(flow))
    groups = [element.get("id") for element in drawing.iter(f"{SVG}g") if element.get("id")]
    assert groups == [f"node-{node.uuid}" for node in flow.nodes]
    ways = [element for element in drawing.iter(f"{SVG}path") if "way" in (element.get("class") or "").split()]
    assert len(ways) == sum(each.destination_uuid is not None for node in flow.nodes for each in node.exits)


def test_boxes_say_what_nodes_do_and_what_their_exits_mean() -> None:
    send = {"type": "send_msg", "uuid": make_uuid(14), "text": "Hi @contact"}
    router = make_router("@input.text", wait={"type": "msg"}, result_name="Age")
    texts = read_texts(draw_flow(load(make_flow(make_node(send, router=router)))))
    assert texts == ["Registration", "Send: Hi @contact", "Wait for an answer", "Split on @input.text → Age", "Yes"]


def test_long_texts_are_cut_to_their_box() -> None:
    send = {"type": "send_msg", "uuid": make_uuid(14), "text": "word " * 100}
    (_, text) = read_texts(draw_flow(load(make_flow(make_node(send)))))
    assert text.endswith("…")
    assert len(text) < 50


def test_whatever_is_in_a_flow_the_drawing_is_well_formed() -> None:
    send = {"type": "send_msg", "uuid": make_uuid(14), "text": '<script>&"\x01\ud800'}
    (_, text) = read_texts(draw_flow(load(make_flow(make_node(send)))))
    assert text.strip() == 'Send: <script>&"'


def test_a_flow_without_nodes_can_be_drawn() -> None:
    assert read_texts(draw_flow(load(make_flow()))) == ["Registration"]
