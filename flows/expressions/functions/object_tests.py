"""Router tests on groups and results (flow format, router tests)."""

from decimal import Decimal

from flows.expressions.conversions import to_number, to_object, to_text
from flows.expressions.errors import ExpressionError
from flows.expressions.evaluation import Evaluation
from flows.expressions.functions.registry import ARRAY, NUMBER, OBJECT, TEXT, function, matched, not_matched
from flows.expressions.values import Value, XArray, XObject


@function("has_group", takes=[ARRAY, TEXT], optional=[TEXT])
def has_group(evaluation: Evaluation, groups: XArray, uuid: str, name: str = "") -> XObject:
    """An object of the array has this `uuid`; the match is the object."""
    for item in groups:
        evaluation.budget.spend()
        group = to_object(evaluation, item)
        if to_text(evaluation, group.get("uuid")) == uuid:
            return matched(group)
    return not_matched()


@function("has_category", takes=[OBJECT, TEXT], rest=TEXT)
def has_category(evaluation: Evaluation, result: XObject, *names: str) -> XObject:
    """The result's category is one of the names."""
    if result.find_name("category") is None:
        raise ExpressionError("object has no property 'category'")
    category = to_text(evaluation, result.get("category"))
    return matched(category) if category in names else not_matched()


@function("has_intent", takes=[OBJECT, TEXT, NUMBER])
def has_intent(evaluation: Evaluation, result: XObject, name: str, confidence: Decimal) -> XObject:
    """An intent of a classifier's result has exactly this name and at least this confidence. has_top_intent checks only
    the first intent. Without classifiers (generation 14) neither test ever matches.
    """
    return _find_intent(evaluation, result, name, confidence, considered=None)


@function("has_top_intent", takes=[OBJECT, TEXT, NUMBER])
def has_top_intent(evaluation: Evaluation, result: XObject, name: str, confidence: Decimal) -> XObject:
    """The first intent of a classifier's result has exactly this name and at least this confidence."""
    return _find_intent(evaluation, result, name, confidence, considered=1)


def _find_intent(
    evaluation: Evaluation, result: XObject, name: str, confidence: Decimal, considered: int | None
) -> XObject:
    if not evaluation.resources.finds_intents:
        return not_matched()
    extra = result.get("extra")
    intents = extra.get("intents") if isinstance(extra, XObject) else None
    if not isinstance(extra, XObject) or not isinstance(intents, XArray):
        return not_matched()
    for item in list(intents)[:considered]:
        evaluation.budget.spend()
        intent = to_object(evaluation, item)
        is_named = to_text(evaluation, intent.get("name")) == name
        if is_named and to_number(evaluation, intent.get("confidence")) >= confidence:
            return matched(name, _first_values(evaluation, extra.get("entities")))
    return not_matched()


def _first_values(evaluation: Evaluation, entities: Value) -> XObject:
    found: dict[str, Value] = {}
    for name, candidates in to_object(evaluation, entities).items():
        if isinstance(candidates, XArray) and len(candidates) > 0:
            found[name] = to_object(evaluation, candidates[0]).get("value")
    return XObject(found)
