from decimal import Decimal

from flows.expressions.evaluation import Evaluation
from flows.expressions.values import Deprecated, XArray, XError, XFunction, XObject, to_value


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
