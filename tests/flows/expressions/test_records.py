from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from flows.expressions.records import Shape, XRecord
from flows.expressions.values import MISSING, Deprecated
from tests.flows.expressions.evaluating import evaluate_template

Subject = Mapping[str, Any]
SHAPE = Shape(
    {"Size": lambda subject: subject["size"], "color": lambda subject: Deprecated(subject["color"], "use Size")},
    default=lambda subject: f"{subject['color']} thing",
)


def test_properties_are_those_of_the_shape_ignoring_case() -> None:
    record = XRecord(SHAPE, {"size": Decimal(3), "color": "red"})
    assert (record.names(), len(record), record.roots()) == (["Size", "color"], 2, {"size", "color"})
    assert (record.find_name("SIZE"), record.find_name("weight")) == ("Size", None)
    assert (record.look_up("size"), record.look_up("weight")) == (Decimal(3), MISSING)
    assert record.items() == [("Size", Decimal(3)), ("color", "red")]


def test_what_stands_for_an_object_comes_from_its_subject() -> None:
    record = XRecord(SHAPE, {"size": Decimal(3), "color": "red"})
    assert (record.has_default, record.default) == (True, "red thing")
    plain = XRecord(Shape({}), {})
    assert (plain.has_default, plain.default) == (False, None)


def test_a_property_is_computed_when_it_is_first_looked_up_and_only_then() -> None:
    asked = []

    def get(subject: Subject) -> str:
        asked.append(subject["size"])
        return "L"

    record = XRecord(Shape({"size": get, "never": lambda subject: subject["nothing"]}), {"size": 1})
    assert asked == []
    assert (record.look_up("size"), record.look_up("SIZE"), record.value("size")) == ("L", "L", "L")
    assert asked == [1]


def test_deprecated_properties_of_records_warn() -> None:
    context = XRecord(Shape({"thing": lambda subject: XRecord(SHAPE, subject)}), {"size": Decimal(3), "color": "red"})
    result = evaluate_template("@thing.color @THING.SIZE @thing @other", context)
    assert (result.text, result.warnings) == ("red 3 red thing @other", ["use Size"])
