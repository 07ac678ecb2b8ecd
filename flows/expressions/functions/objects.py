"""Functions on objects (flow format, functions)."""

from flows.expressions.evaluation import Evaluation
from flows.expressions.functions.registry import OBJECT, TEXT, function
from flows.expressions.values import Value, XArray, XObject


@function("extract", takes=[OBJECT, TEXT])
def extract(evaluation: Evaluation, value: XObject, name: str) -> Value:
    """One property, null when there is none."""
    return value.get(name)


@function("extract_object", takes=[OBJECT, TEXT], rest=TEXT)
def extract_object(evaluation: Evaluation, value: XObject, *names: str) -> XObject:
    """An object with just these properties."""
    return XObject({name: value.get(name) for name in names})


@function("keys", takes=[OBJECT])
def list_names(evaluation: Evaluation, value: XObject) -> XArray:
    """The sorted property names."""
    evaluation.budget.reserve(len(value))
    return XArray(value.names())
