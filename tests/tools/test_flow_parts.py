"""The file of parts that the forms of the flow editor are made of."""

from flows.definition.action_types import PALETTE, action_types
from flows.definition.fields import KINDS
from tools.console.flow_parts import FILE, list_parts, write_parts


def test_the_file_of_parts_is_what_the_engine_declares():
    assert FILE.read_text(encoding="utf-8") == write_parts(list_parts()), "run python -m tools.console.flow_parts"


def test_every_property_is_asked_for_in_a_way_that_there_is():
    kinds = {each.kind for kind in action_types().values() for each in kind.fields.values()}

    assert kinds <= KINDS
    assert {kind.palette for kind in action_types().values()} == set(PALETTE)


def test_the_context_of_expressions_has_what_a_run_has():
    context = list_parts()["context"]

    assert {"first_name", "language", "groups"} <= set(context["contact"])
    assert {"status", "results"} <= set(context["child"])
    assert {"value", "category"} <= set(context["results"])
    assert {"text", "attachments"} <= set(context["input"])
    assert "parent" in context
    assert context["webhook"] == ["headers", "json", "status"]
