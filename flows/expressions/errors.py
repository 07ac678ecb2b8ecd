"""The exceptions of evaluation, used inside the engine; outside, errors are values and messages (flow format,
evaluation)."""

OUT_OF_RANGE = "number value out of range"


class ExpressionError(Exception):
    """An operation or function has no result; the message becomes an error value."""


class ExpressionTooComplexError(Exception):
    """An evaluation exceeded its budget and ends as a whole."""

    def __init__(self) -> None:
        super().__init__("expression is too complex to evaluate")
