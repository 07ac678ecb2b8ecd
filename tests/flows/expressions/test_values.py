from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from flows.expressions.evaluation import Evaluation
from flows.expressions.values import MISSING, Deprecated, Shape, XArray, XError, XFunction, XObject, XRecord, to_value
from tests.flows.expressions.evaluating import evaluate_template


def test_properties_are_found_ignoring_case_with_the_exact_name_first():
    value = XObject({"Age": Decimal(1), "age": Decimal(2)})
    assert value.get("age") == Decimal(2)
    assert value.get("Age") == Decimal(1)
    assert XObject({"Age": Decimal(1)}).get("AGE") == Decimal(1)
    assert value.get("size") is None
    assert XObject({"λογοσ": Decimal(1)}).get("ΛΟΓΟΣ") == Decimal(1)


def test_a_whole_object_and_its_default_may_be_lazy():
    calls = []

    def load():
        calls.append("properties")
        return {"b": 1, "a": lambda: "made"}

    def default():
        calls.append("default")
        return "shown"

    value = XObject(load, default=default)
    assert value.has_default
    assert calls == []
    assert value.items() == [("a", "made"), ("b", 1)]
    assert (value.default, value.default, len(value)) == ("shown", "shown", 2)
    assert calls == ["properties", "default"]


def test_a_null_default_is_a_default():
    assert XObject({}, default=None).has_default
    assert not XObject({}).has_default


def test_deprecation_is_known_by_exact_name():
    value = XObject({"id": Deprecated("7", "use ref"), "ref": "x"})
    assert (value.read("id"), value.read("ref")) == (Deprecated("7", "use ref"), "x")
    assert value.get("ID") == "7"


def test_a_function_prefixes_its_errors_with_its_name():
    failing = XFunction("fail", lambda evaluation, arguments: XError("no"))
    assert failing.call(Evaluation(), []) == XError("error calling fail(...): no")


def test_arrays_are_sequences_of_values():
    array = to_value([1, [2]])
    assert isinstance(array, XArray)
    assert (len(array), next(iter(array)), array[-1][0]) == (2, Decimal(1), Decimal(2))


def test_values_show_what_they_hold():
    assert repr(to_value({"a": [True], "__default__": "x"})) == "XObject({'a': XArray([True])}, default='x')"


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
