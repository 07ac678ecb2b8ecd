"""Parts of expressions during the migration from the old language (flow format, versions and migrations)."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

# As long as the longest expression that is still evaluated; some old calls need their arguments twice.
MOST_CHARACTERS = 50_000


class LegacyExpressionError(ValueError):
    """An old expression that cannot be read, or a call that has no counterpart."""


class Level(IntEnum):
    """The precedence of a piece's operator, lowest first; the same in both languages."""

    CONCATENATION = 1
    EQUALITY = 2
    COMPARISON = 3
    SUM = 4
    PRODUCT = 5
    POWER = 6
    NEGATION = 7
    ATOM = 8


class Kind(IntEnum):
    """The known type of a piece's value; old sums had different meanings for numbers, dates and times."""

    UNKNOWN = 0
    NUMBER = 1
    DATE = 2
    DATETIME = 3
    TIME = 4


KINDS_OF_CALLS = {
    **dict.fromkeys(("abs", "max", "mean", "min", "mod", "rand", "round", "round_down", "round_up"), Kind.NUMBER),
    **dict.fromkeys(("date", "today"), Kind.DATE),
    **dict.fromkeys(("datetime", "datetime_add", "now"), Kind.DATETIME),
    **dict.fromkeys(("time", "time_from_parts"), Kind.TIME),
}


@dataclass(frozen=True, slots=True)
class Operand:
    """A piece in the new language; `is_call` says that its text begins with the call that determined the kind."""

    text: str
    level: Level = Level.ATOM
    kind: Kind = Kind.UNKNOWN
    is_call: bool = False

    def __post_init__(self) -> None:
        if len(self.text) > MOST_CHARACTERS:
            raise LegacyExpressionError("the expression becomes too long")


def write_call(name: str, arguments: Sequence[str], kind: Kind | None = None) -> Operand:
    """A call; by default its kind is that of the function."""
    known = KINDS_OF_CALLS.get(name, Kind.UNKNOWN) if kind is None else kind
    return Operand(f"{name}({', '.join(arguments)})", kind=known, is_call=True)


def write_binary(symbol: str, level: Level, left: Operand, right: Operand) -> Operand:
    """Two operands around a left-associative operator, with parentheses where necessary."""
    text = f"{write_within(left, level)} {symbol} {write_within(right, Level(level + 1))}"
    is_number = left.is_call and left.kind is Kind.NUMBER and Level.SUM <= level <= Level.POWER
    return Operand(text, level, left.kind if is_number else Kind.UNKNOWN, is_number)


def write_negation(operand: Operand) -> Operand:
    """Minus the operand. A product needs no parentheses: its sign is that of its first factor."""
    holds_together = operand.level in (Level.PRODUCT, Level.NEGATION, Level.ATOM)
    text = operand.text if holds_together else f"({operand.text})"
    is_number = operand.text.isdecimal()
    return Operand(f"-{text}", Level.NEGATION, Kind.NUMBER if is_number else Kind.UNKNOWN)


def write_within(operand: Operand, level: Level) -> str:
    """The text of an operand, in parentheses if its precedence is lower than `level`."""
    return operand.text if operand.level >= level else f"({operand.text})"
