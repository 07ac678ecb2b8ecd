"""Functions on texts as words and fields (flow format, functions)."""

from decimal import Decimal

from flows.expressions.errors import ExpressionError
from flows.expressions.evaluation import Evaluation
from flows.expressions.functions.conversion import check_count
from flows.expressions.functions.registry import INTEGER, TEXT, function
from flows.expressions.values import XArray
from flows.words import token_spans, tokens, tokens_between

CHARACTERS_PER_UNIT = 2


@function("split", takes=[TEXT], optional=[TEXT])
def split(evaluation: Evaluation, text: str, delimiters: str = "") -> XArray:
    """The words of a text, or the non-empty pieces between any of the delimiting characters."""
    pieces = split_words(evaluation, text, delimiters)
    for piece in pieces:
        evaluation.budget.charge(piece)
    return XArray(check_count([*pieces]))


@function("word", takes=[TEXT, INTEGER], optional=[TEXT])
def pick_word(evaluation: Evaluation, text: str, index: int, delimiters: str = "") -> str:
    """One word, counted from the end by a negative index."""
    found = split_words(evaluation, text, delimiters)
    if not -len(found) <= index < len(found):
        raise ExpressionError(f"index {index} is out of range for the number of words {len(found)}")
    return found[index]


@function("word_count", takes=[TEXT], optional=[TEXT])
def count_words(evaluation: Evaluation, text: str, delimiters: str = "") -> Decimal:
    """The number of words."""
    return Decimal(len(split_words(evaluation, text, delimiters)))


@function("word_slice", takes=[TEXT, INTEGER], optional=[INTEGER, TEXT])
def slice_words(evaluation: Evaluation, text: str, start: int, end: int = -1, delimiters: str = "") -> str:
    """The words from `start` up to `end` (to the last one if that is not positive), joined by spaces."""
    if start < 0:
        raise ExpressionError("requires a start that is not negative")
    if 0 < end <= start:
        raise ExpressionError("requires an end behind the start")
    return " ".join(split_words(evaluation, text, delimiters)[start : end if end > 0 else None])


@function("remove_first_word", takes=[TEXT])
def remove_first_word(evaluation: Evaluation, text: str) -> str:
    """The text from its second word on, exactly as written."""
    evaluation.budget.spend(len(text) // CHARACTERS_PER_UNIT)
    spans = token_spans(text)
    return text[spans[1][0] :] if len(spans) > 1 else ""


@function("field", takes=[TEXT, INTEGER, TEXT])
def pick_field(evaluation: Evaluation, text: str, index: int, separator: str) -> str:
    """One trimmed field of a separated text, empty beyond the last; several spaces count as one separator."""
    if index < 0:
        raise ExpressionError("requires an index that is not negative")
    fields = text.split(separator) if separator else list(text)
    if separator == " ":
        fields = [field for field in fields if field]
    return fields[index].strip() if index < len(fields) else ""


def split_words(evaluation: Evaluation, text: str, delimiters: str) -> list[str]:
    """The words of a text, or the non-empty pieces between any of the delimiting characters."""
    evaluation.budget.spend(len(text) // CHARACTERS_PER_UNIT)
    if not delimiters:
        return tokens(text)
    distinct = "".join(dict.fromkeys(delimiters))
    evaluation.budget.spend(len(delimiters) // CHARACTERS_PER_UNIT + len(text) * len(distinct) // 1000)
    return tokens_between(text, distinct)
