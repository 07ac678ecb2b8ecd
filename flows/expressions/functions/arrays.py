"""Functions on arrays and objects (flow format, functions)."""

from collections.abc import Hashable
from decimal import Decimal

from flows.expressions import conversions
from flows.expressions.evaluation import Evaluation, ExpressionError
from flows.expressions.functions.logic import check_count
from flows.expressions.functions.numbers import add_up
from flows.expressions.functions.registry import ANY, ARRAY, FUNCTION, INTEGER, NUMBER, OBJECT, RAW, TEXT, function
from flows.expressions.operators import comparable_type, equality_key
from flows.expressions.values import Value, XArray, XError, XFunction, XObject


@function("count", takes=[ANY])
def count(evaluation: Evaluation, value: Value) -> Decimal:
    """The number of items or properties."""
    if value is None:
        return Decimal(0)
    if not isinstance(value, (XArray, XObject)):
        raise ExpressionError("value isn't countable")
    return Decimal(len(value))


@function("join", takes=[ARRAY, TEXT])
def join(evaluation: Evaluation, array: XArray, separator: str) -> str:
    """The texts of the items with the separator between them."""
    texts = [TEXT(evaluation, item) for item in array]
    evaluation.budget.spend(len(texts))
    length = sum(map(len, texts)) + len(separator) * len(texts)
    if length > evaluation.budget.cost:
        evaluation.budget.reserve(length)
    return separator.join(texts)


@function("slice", takes=[ARRAY, INTEGER], optional=[INTEGER])
def slice_array(evaluation: Evaluation, array: XArray, start: int, end: int | None = None) -> XArray:
    """The items from `start` up to `end`; negative ones count from the end."""
    return _make(evaluation, list(array)[start:end])


@function("contains", takes=[ARRAY, ANY])
def contains(evaluation: Evaluation, array: XArray, value: Value) -> bool:
    """Whether some item equals the value."""
    key = equality_key(value, evaluation.budget)
    return any(equality_key(item, evaluation.budget) == key for item in array)


@function("unique", takes=[ARRAY])
def unique(evaluation: Evaluation, array: XArray) -> XArray:
    """The items without repetitions, in the order of first appearance."""
    first: dict[Hashable, Value] = {}
    for item in array:
        first.setdefault(equality_key(item, evaluation.budget), item)
    return _make(evaluation, list(first.values()))


@function("reverse", takes=[ARRAY])
def reverse(evaluation: Evaluation, array: XArray) -> XArray:
    """The items from last to first."""
    return _make(evaluation, list(array)[::-1])


@function("sort", takes=[ARRAY])
def sort(evaluation: Evaluation, array: XArray) -> XArray:
    """The items in order; they must be of one type that has an order."""
    if len(array) < 2:
        return array
    evaluation.budget.spend(len(array))
    kinds = {comparable_type(item) for item in array}
    if len(kinds) != 1 or None in kinds:
        raise ExpressionError("requires items of one comparable type")
    items: list[Value] = sorted(array)  # type: ignore[type-var]  # all of one ordered type, as just checked
    return _make(evaluation, items)


@function("sum", takes=[ARRAY])
def add_items(evaluation: Evaluation, array: XArray) -> Decimal:
    """The sum of the items as numbers."""
    evaluation.budget.spend(2 * len(array))
    return add_up([NUMBER(evaluation, item) for item in array])


@function("concat", takes=[ARRAY, ARRAY])
def concatenate(evaluation: Evaluation, first: XArray, second: XArray) -> XArray:
    """The items of both arrays."""
    return _make(evaluation, [*first, *second])


@function("filter", takes=[ARRAY, FUNCTION])
def keep_items(evaluation: Evaluation, array: XArray, test: XFunction) -> XArray:
    """The items for which a function is true."""
    kept = [item for item in array if conversions.to_boolean(evaluation, test.call(evaluation, [item]))]
    return _make(evaluation, kept)


@function("foreach", takes=[ARRAY, FUNCTION], rest=RAW)
def map_items(evaluation: Evaluation, array: XArray, change: XFunction, *extra: Value) -> Value:
    """The results of a function for each item; the first error ends it."""
    return _make(evaluation, [call_on(evaluation, change, item, extra) for item in array])


@function("foreach_value", takes=[conversions.to_object, FUNCTION], rest=RAW)
def map_values(evaluation: Evaluation, value: XObject, change: XFunction, *extra: Value) -> Value:
    """The results of a function for each property's value; the first error ends it."""
    evaluation.budget.reserve(len(value))
    return XObject({name: call_on(evaluation, change, item, extra) for name, item in value.items()})


def call_on(evaluation: Evaluation, change: XFunction, item: Value, extra: tuple[Value, ...]) -> Value:
    """The result of a function for an item and further arguments; raises ExpressionError if it is an error."""
    result = change.call(evaluation, [item, *extra])
    if isinstance(result, XError):
        raise ExpressionError(result.message)
    evaluation.budget.charge(result)
    return result


def _make(evaluation: Evaluation, items: list[Value]) -> XArray:
    evaluation.budget.reserve(len(items))
    evaluation.budget.spend(len(items) // 16)
    return XArray(check_count(items))


@function("extract", takes=[OBJECT, TEXT])
def extract(evaluation: Evaluation, value: XObject, name: str) -> Value:
    """One property, null if there is none."""
    return value.get(name)


@function("extract_object", takes=[OBJECT, TEXT], rest=TEXT)
def extract_object(evaluation: Evaluation, value: XObject, *names: str) -> XObject:
    """An object with only these properties."""
    return XObject({name: value.get(name) for name in names})


@function("keys", takes=[OBJECT])
def list_names(evaluation: Evaluation, value: XObject) -> XArray:
    """The sorted property names."""
    evaluation.budget.reserve(len(value))
    return XArray(value.names())
