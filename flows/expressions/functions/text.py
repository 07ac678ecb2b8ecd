"""Functions on texts as characters (flow format, functions).

Functions on texts as words and fields (flow format, functions).
"""

import html
from decimal import Decimal
from urllib.parse import quote

import regex

from flows.expressions.evaluation import Evaluation, ExpressionError
from flows.expressions.functions.logic import check_count
from flows.expressions.functions.registry import INTEGER, RAW, TEXT, function
from flows.expressions.patterns import find_groups
from flows.expressions.values import Value, XArray
from flows.typed import fold_case
from flows.words import token_spans, tokens, tokens_between

REPEAT_LIMIT = 10_000

# Characters that Unicode has not assigned yet may be new emoji, and other space characters separate words.
_NOT_PRINTABLE = regex.compile(r"[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]+")
_WORD_START = regex.compile(r"(?<![\p{L}\p{M}\p{N}_'’])\p{L}")
_LAST_CODE_POINT = 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)
_FINAL_SIGMA = "ς"
_REPLACEMENT = "\ufffd"

CHARACTERS_PER_UNIT = 2


@function("char", takes=[INTEGER])
def make_character(evaluation: Evaluation, code: int) -> str:
    """The character of a code point, or the sign for those that are no characters."""
    is_character = 0 <= code <= _LAST_CODE_POINT and code not in _SURROGATES
    return chr(code) if is_character else _REPLACEMENT


@function("code", takes=[TEXT])
def read_code(evaluation: Evaluation, text: str) -> Decimal:
    """The code point of the first character."""
    if not text:
        raise ExpressionError("requires a text of at least one character")
    return Decimal(ord(text[0]))


@function("trim", takes=[TEXT], optional=[TEXT])
def trim(evaluation: Evaluation, text: str, characters: str = "") -> str:
    """The text without white space, or the given characters, at both ends."""
    return text.strip(characters or None)


@function("trim_left", takes=[TEXT], optional=[TEXT])
def trim_left(evaluation: Evaluation, text: str, characters: str = "") -> str:
    """The text without white space, or the given characters, at the beginning."""
    return text.lstrip(characters or None)


@function("trim_right", takes=[TEXT], optional=[TEXT])
def trim_right(evaluation: Evaluation, text: str, characters: str = "") -> str:
    """The text without white space, or the given characters, at the end."""
    return text.rstrip(characters or None)


@function("lower", takes=[TEXT])
def lower(evaluation: Evaluation, text: str) -> str:
    """In lower case, character by character."""
    evaluation.budget.read(text)
    changed = text.lower()
    if len(changed) == len(text) and _FINAL_SIGMA not in changed:
        return changed
    evaluation.budget.spend(len(text) // 4)
    return fold_case(text)


@function("upper", takes=[TEXT])
def upper(evaluation: Evaluation, text: str) -> str:
    """In upper case, character by character."""
    evaluation.budget.read(text)
    changed = text.upper()
    if len(changed) == len(text):
        return changed
    evaluation.budget.spend(len(text) // 4)
    return "".join(map(_raise_letter, text))


@function("title", takes=[TEXT])
def title(evaluation: Evaluation, text: str) -> str:
    """In lower case except the first letter of every word."""
    evaluation.budget.spend(len(text) // 2)
    return str(_WORD_START.sub(lambda found: _raise_letter(found[0]), lower(evaluation, text)))


@function("clean", takes=[TEXT])
def clean(evaluation: Evaluation, text: str) -> str:
    """The text without characters that cannot be printed."""
    evaluation.budget.spend(len(text) // 4)
    return str(_NOT_PRINTABLE.sub("", text))


@function("text_slice", takes=[TEXT, INTEGER], optional=[INTEGER, RAW])
def slice_text(evaluation: Evaluation, text: str, start: int, end: int | None = None, _unused: Value = None) -> str:
    """The characters from `start` up to `end`; negative ones count from the end. A fourth argument means nothing."""
    return text[start:end]


@function("text_length", takes=[TEXT])
def measure_text(evaluation: Evaluation, text: str) -> Decimal:
    """The number of code points."""
    return Decimal(len(text))


@function("text_compare", takes=[TEXT, TEXT])
def compare_texts(evaluation: Evaluation, first: str, second: str) -> Decimal:
    """-1, 0 or 1 by code points."""
    return Decimal((first > second) - (first < second))


@function("repeat", takes=[TEXT, INTEGER])
def repeat(evaluation: Evaluation, text: str, count: int) -> str:
    """The text, repeated a number of times."""
    if count < 0:
        raise ExpressionError("requires a count that is not negative")
    if len(text) * count > REPEAT_LIMIT:
        raise ExpressionError(f"text would be longer than {REPEAT_LIMIT} characters")
    return text * count


@function("replace", takes=[TEXT, TEXT, TEXT], optional=[INTEGER])
def replace(evaluation: Evaluation, text: str, needle: str, replacement: str, count: int = -1) -> str:
    """The text with the first `count` (negative: all) occurrences of a string replaced."""
    occurrences = text.count(needle)
    evaluation.budget.spend(len(text) // 16 + occurrences // 16)
    replaced = occurrences if count < 0 else min(count, occurrences)
    length = len(text) + replaced * (len(replacement) - len(needle))
    if length > evaluation.budget.cost:
        evaluation.budget.reserve(length)
    return text.replace(needle, replacement, replaced)


@function("regex_match", takes=[TEXT, TEXT], optional=[INTEGER])
def match_pattern(evaluation: Evaluation, text: str, pattern: str, group: int = 0) -> str:
    """The first match of a regular expression, or a group of it."""
    groups = find_groups(evaluation, pattern, text)
    if groups is None:
        raise ExpressionError("no match for the regular expression")
    if not 0 <= group < len(groups):
        raise ExpressionError(f"invalid regular expression group {group}")
    return groups[group]


@function("url_encode", takes=[TEXT])
def encode_for_url(evaluation: Evaluation, text: str) -> str:
    """Percent-encoded except letters, digits and `-_.~`."""
    evaluation.budget.spend(len(text) // 4)
    return quote(text, safe="", errors="replace")


@function("html_decode", takes=[TEXT])
def decode_html(evaluation: Evaluation, text: str) -> str:
    """The text with HTML entities replaced by their characters."""
    evaluation.budget.spend(len(text) // 4)
    return html.unescape(text).replace("\u00a0", " ")


@function("read_chars", takes=[TEXT])
def spell(evaluation: Evaluation, text: str) -> str:
    """A number for reading aloud: in groups of three or four characters, or one by one."""
    evaluation.budget.spend(len(text) // 4)
    digits = text.removeprefix("+")
    size = next((size for size in (3, 4) if len(digits) % size == 0), 1)
    groups = [digits[start : start + size] for start in range(0, len(digits), size)]
    return " , ".join(" ".join(group) for group in groups)


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


def _raise_letter(letter: str) -> str:
    # Some letters have a separate title case, which is only used at the beginning of a word; others have none.
    return next((capital for capital in (letter.upper(), letter.title()) if len(capital) == 1), letter)
