"""How functions of the expression language are declared, and what router tests return (flow format, functions)."""

from collections.abc import Callable, Sequence
from typing import Any

from flows.expressions import conversions
from flows.expressions.evaluation import Evaluation, ExpressionError
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
IMPLEMENTATIONS: dict[str, Callable[..., Value]] = {}
"""What the names, parameters and descriptions of functions are read from for people."""
CALL_WORK = 3


def _keep(evaluation: Evaluation, value: Value) -> Value:
    return value


# An argument without conversion, even an error.
RAW: Converter = _keep


class Signature:
    """Converters of a function's arguments: required ones, optional ones, and one for any number of further ones."""

    __slots__ = ("_converters", "_least", "_most", "_rest")

    def __init__(
        self, required: Sequence[Converter], optional: Sequence[Converter] = (), rest: Converter | None = None
    ) -> None:
        self._converters = (*required, *optional)
        self._least, self._most = len(required), len(self._converters)
        self._rest = rest

    def convert(self, evaluation: Evaluation, arguments: Sequence[Value]) -> list[Any]:
        """The converted arguments; raises ExpressionError for a wrong number of arguments or one that cannot be
        converted."""
        count = len(arguments)
        if count < self._least or (count > self._most and self._rest is None):
            raise ExpressionError(f"need {self._describe_count()} argument(s), got {count}")
        if count == 1 and self._most:
            return [self._converters[0](evaluation, arguments[0])]
        converted = [convert(evaluation, value) for convert, value in zip(self._converters, arguments, strict=False)]
        if self._rest is not None:
            converted += [self._rest(evaluation, value) for value in arguments[self._most :]]
        return converted

    def _describe_count(self) -> str:
        if self._rest is not None:
            return f"at least {self._least}"
        return str(self._least) if self._least == self._most else f"{self._least} to {self._most}"


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
    signature = Signature(takes, optional, rest)

    def declare(implementation: Callable[..., Value]) -> Callable[..., Value]:
        def apply(evaluation: Evaluation, arguments: Sequence[Value]) -> Value:
            evaluation.budget.spend(work + len(arguments))
            try:
                return implementation(evaluation, *signature.convert(evaluation, arguments))
            except ExpressionError as error:
                return XError(str(error))

        for name in names:
            FUNCTIONS[name] = XFunction(name, apply)
            IMPLEMENTATIONS[name] = implementation
        return implementation

    return declare


class Outcome(XObject):
    """The outcome of a router test: an object with `match` and optionally `extra`; as a simple value, whether the
    test matched."""

    __slots__ = ("extra", "has_matched", "match")

    def __init__(self, has_matched: bool, match: Value, extra: XObject | None = None) -> None:
        properties: dict[str, Value] = {"match": match}
        super().__init__(properties if extra is None else {**properties, "extra": extra}, default=has_matched)
        self.has_matched = has_matched
        self.match = match
        self.extra = extra


_NOT_MATCHED = Outcome(False, "")


def matched(match: Value, extra: XObject | None = None) -> Outcome:
    """The outcome of a test that found something."""
    return Outcome(True, match, extra)


def not_matched() -> Outcome:
    """The outcome of a test that found nothing."""
    return _NOT_MATCHED


def find_function(name: str) -> XFunction | None:
    """The function with this name, ignoring case."""
    return FUNCTIONS.get(name.lower())
