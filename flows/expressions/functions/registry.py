"""How functions of the expression language are declared, and what router tests return (flow format, functions)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from flows.expressions import conversions
from flows.expressions.errors import ExpressionError
from flows.expressions.evaluation import Evaluation
from flows.expressions.values import Value, XError, XFunction, XObject

Converter = Callable[[Evaluation, Value], Any]

ANY: Converter = conversions.to_any
TEXT: Converter = conversions.to_text
NUMBER: Converter = conversions.to_number
INTEGER: Converter = conversions.to_integer
BOOLEAN: Converter = conversions.to_boolean
DATE: Converter = conversions.to_date
DATETIME: Converter = conversions.to_datetime
TIME: Converter = conversions.to_time
ARRAY: Converter = conversions.to_array
OBJECT: Converter = conversions.to_object
FUNCTION: Converter = conversions.to_function

FUNCTIONS: dict[str, XFunction] = {}
CALL_WORK = 3


def _keep(evaluation: Evaluation, value: Value) -> Value:
    return value


# An argument as it is, even an error.
RAW: Converter = _keep


@dataclass(frozen=True, slots=True)
class Signature:
    """Converters of a function's arguments: required ones, optional ones, and one for any number of further ones."""

    required: tuple[Converter, ...]
    optional: tuple[Converter, ...] = ()
    rest: Converter | None = None

    def convert(self, evaluation: Evaluation, arguments: Sequence[Value]) -> list[Any]:
        """The converted arguments; raises ExpressionError for a wrong number of them or one that can't be converted."""
        self._check_count(len(arguments))
        converters = (self.required + self.optional)[: len(arguments)]
        converted = [convert(evaluation, value) for convert, value in zip(converters, arguments, strict=False)]
        if self.rest is not None:
            converted += [self.rest(evaluation, value) for value in arguments[len(converters) :]]
        return converted

    def _check_count(self, count: int) -> None:
        least, most = len(self.required), len(self.required) + len(self.optional)
        if self.rest is not None:
            if count < least:
                raise ExpressionError(f"need at least {least} argument(s), got {count}")
        elif not least <= count <= most:
            needed = str(least) if least == most else f"{least} to {most}"
            raise ExpressionError(f"need {needed} argument(s), got {count}")


def function(
    *names: str,
    takes: Sequence[Converter] = (),
    optional: Sequence[Converter] = (),
    rest: Converter | None = None,
    work: int = CALL_WORK,
) -> Callable[[Callable[..., Value]], Callable[..., Value]]:
    """Declares a function of the language under its names.

    The decorated function gets the evaluation and the converted arguments and returns a value or raises
    ExpressionError. `work` is what a call costs apart from its passes over texts.
    """
    signature = Signature(tuple(takes), tuple(optional), rest)

    def declare(implementation: Callable[..., Value]) -> Callable[..., Value]:
        def apply(evaluation: Evaluation, arguments: Sequence[Value]) -> Value:
            evaluation.budget.spend(work + len(arguments))
            try:
                return implementation(evaluation, *signature.convert(evaluation, arguments))
            except ExpressionError as error:
                return XError(str(error))

        for name in names:
            FUNCTIONS[name] = XFunction(name, apply)
        return implementation

    return declare


def matched(match: Value, extra: XObject | None = None) -> XObject:
    """The outcome of a test that found something; as a simple value it is true."""
    properties: dict[str, Value] = {"match": match}
    if extra is not None:
        properties["extra"] = extra
    return XObject(properties, default=True)


def not_matched() -> XObject:
    """The outcome of a test that found nothing; as a simple value it is false."""
    return XObject({"match": ""}, default=False)
