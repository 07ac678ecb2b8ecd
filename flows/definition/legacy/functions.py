"""Functions of the old expressions and their new counterparts (flow format, versions and migrations)."""

import re
from collections.abc import Callable, Sequence

from flows.definition.legacy.operands import (
    LegacyExpressionError,
    Level,
    Operand,
    write_binary,
    write_call,
    write_negation,
)

RENAMED = {
    "average": "mean",
    "date": "date_from_parts",
    "datevalue": "date",
    "format_date": "format_datetime",
    "int": "round_down",
    "len": "text_length",
    "proper": "title",
    "randbetween": "rand_between",
    "read_digits": "read_chars",
    "regex_group": "regex_match",
    "rept": "repeat",
    "substitute": "replace",
    "time": "time_from_parts",
    "timevalue": "time",
    "unichar": "char",
    "unicode": "code",
}
# Name and arguments of the new call; {0} stands for the first old argument.
REARRANGED: dict[str, tuple[str, tuple[str, ...]]] = {
    "day": ("format_date", ("{0}", '"D"')),
    "days": ("datetime_diff", ("{1}", "{0}", '"D"')),
    "edate": ("datetime_add", ("{0}", "{1}", '"M"')),
    "first_word": ("word", ("{0}", "0")),
    "hour": ("format_datetime", ("{0}", '"tt"')),
    "minute": ("format_datetime", ("{0}", '"m"')),
    "month": ("format_date", ("{0}", '"M"')),
    "second": ("format_datetime", ("{0}", '"s"')),
    "year": ("format_date", ("{0}", '"YYYY"')),
}
# Full months from one date to another; the last month may be incomplete.
WHOLE_MONTHS = 'datetime_diff({0}, {1}, "M") - if(format_date({1}, "D") < format_date({0}, "D"), 1, 0)'
REMAINDERS = {
    '"YM"': ("mod", "{months}", "12"),
    '"MD"': ("datetime_diff", 'datetime_add({0}, {months}, "M")', "{1}", '"D"'),
    '"YD"': ("datetime_diff", 'datetime_add({0}, round_down(({months}) / 12) * 12, "M")', "{1}", '"D"'),
}
E_NUMBER = "2.718281828459045"
SPACES = '" \\t"'
_PLACES = re.compile(r"\{(\d)\}")
_WHOLE = re.compile(r"-?[0-9]{1,18}")
_NEGATIVE = re.compile(r"-[0-9]+(\.[0-9]+)?")
_UNIT = re.compile(r'"(d|m|y|ym|md|yd)"', re.IGNORECASE)

Arguments = Sequence[Operand]


def migrate_call(name: str, arguments: Arguments) -> Operand:
    """The new form of a call; an unknown function stays, in lower case. Raises LegacyExpressionError."""
    name = name.lower()
    if name in _BUILT:
        return _BUILT[name](arguments)
    if name in REARRANGED:
        return _rearrange(name, arguments)
    if name in _CONVERTED:
        return _convert(name, arguments)
    return write_call(RENAMED.get(name, name), [argument.text for argument in arguments])


def _rearrange(name: str, arguments: Arguments) -> Operand:
    new_name, places = REARRANGED[name]
    _check_count(name, arguments, 1 + max(int(place) for place in _PLACES.findall(" ".join(places))))
    texts = [argument.text for argument in arguments]
    return write_call(new_name, [place.format(*texts) if _PLACES.fullmatch(place) else place for place in places])


def _check_count(name: str, arguments: Arguments, *counts: int) -> None:
    if len(arguments) not in counts:
        raise LegacyExpressionError(f"{name} with {len(arguments)} arguments has no counterpart")


def _convert(name: str, arguments: Arguments) -> Operand:
    converters = _CONVERTED[name]
    _check_count(name, arguments, *range(len(converters) + 1))
    return write_call(name, [convert(argument) for convert, argument in zip(converters, arguments, strict=False)])


def _keep(argument: Operand) -> str:
    return argument.text


def _count_from_zero(argument: Operand) -> str:
    """An index that began with one; negative ones count from the end in both languages."""
    if not _WHOLE.fullmatch(argument.text):
        return write_binary("-", Level.SUM, argument, Operand("1")).text
    index = int(argument.text)
    return str(index if index < 0 else index - 1)


def _write_word(arguments: Arguments) -> Operand:
    """WORD(text, number, by spaces): words were counted from one, and there was none before the first."""
    if len(arguments) > 1 and arguments[1].text == "0":
        raise LegacyExpressionError("word 0 has no counterpart")
    return _convert("word", arguments)


def _choose_delimiters(argument: Operand) -> str:
    """Whether to cut at spaces only, as the delimiters to cut at."""
    truth = argument.text.strip('"').lower()
    if truth == "true":
        return SPACES
    # Written in capitals as editors show it; names ignore case.
    return "NULL" if truth in ("false", "0", "") else f"if({argument.text}, {SPACES}, NULL)"


def _write_word_slice(arguments: Arguments) -> Operand:
    """Only the old function has indexes from the end; they are converted to indexes from the beginning."""
    _check_count("word_slice", arguments, *range(len(_SLICE) + 1))
    texts = [convert(argument) for convert, argument in zip(_SLICE, arguments, strict=False)]
    for place, argument in enumerate(arguments[1:3], start=1):
        if _WHOLE.fullmatch(argument.text) and int(argument.text) < 0:
            counted = write_call("word_count", [texts[0], *texts[3:]])
            texts[place] = f"{counted.text} - {-int(argument.text)}"
    return write_call("word_slice", texts)


def _write_difference(arguments: Arguments) -> Operand:
    """DATEDIF(from, to, unit): the case of units did not matter, and some were of what remains of a larger unit."""
    texts = [argument.text.upper() if _UNIT.fullmatch(argument.text) else argument.text for argument in arguments]
    if len(texts) != 3 or texts[2] not in REMAINDERS:
        return write_call("datetime_diff", texts)
    months = WHOLE_MONTHS.format(*texts)
    name, *rest = (part.format(*texts, months=months) for part in REMAINDERS[texts[2]])
    return write_call(name, rest)


def _round_as(name: str, name_below_zero: str) -> Callable[[Arguments], Operand]:
    """The old functions round towards zero or away from it; the new ones round down or up."""

    def write(arguments: Arguments) -> Operand:
        is_below_zero = bool(arguments) and _NEGATIVE.fullmatch(arguments[0].text) is not None
        return write_call(name_below_zero if is_below_zero else name, [argument.text for argument in arguments])

    return write


def _write_fixed(arguments: Arguments) -> Operand:
    """FIXED(number, places, without grouping): two places unless told; the new function is told of grouping."""
    _check_count("fixed", arguments, 1, 2, 3)
    texts = [argument.text for argument in arguments]
    if len(texts) == 1:
        texts.append("2")
    if _NEGATIVE.fullmatch(texts[1]):
        texts[:2] = [write_call("round", texts[:2]).text, "0"]
    if len(texts) == 3:
        opposite = {"true": "false", "false": "true"}
        texts[2] = opposite.get(texts[2], f"if({texts[2]}, false, true)")
    return write_call("format_number", texts)


def _write_if(arguments: Arguments) -> Operand:
    """IF(test, then, otherwise): missing arguments meant zero and FALSE."""
    texts = [argument.text for argument in arguments]
    left_out = ("", "0", "false")[len(texts) :] if texts else ()
    return write_call("if", [*texts, *left_out])


def _join_with(name: str, symbol: str, level: Level) -> Callable[[Arguments], Operand]:
    def join(arguments: Arguments) -> Operand:
        if not arguments:
            raise LegacyExpressionError(f"{name} with no arguments has no counterpart")
        joined = arguments[0]
        for argument in arguments[1:]:
            joined = write_binary(symbol, level, joined, argument)
        return joined

    return join


def _write_power(arguments: Arguments) -> Operand:
    _check_count("power", arguments, 2)
    return write_binary("^", Level.POWER, *arguments)


def _write_exponential(arguments: Arguments) -> Operand:
    _check_count("exp", arguments, 1)
    return write_binary("^", Level.POWER, Operand(E_NUMBER), arguments[0])


def _write_left(arguments: Arguments) -> Operand:
    """LEFT(text, count): a negative count, which failed, leaves out that many characters at the end."""
    _check_count("left", arguments, 2)
    return write_call("text_slice", [arguments[0].text, "0", arguments[1].text])


def _write_right(arguments: Arguments) -> Operand:
    """RIGHT(text, count): with a count of 0 the new function would begin at the beginning."""
    _check_count("right", arguments, 2)
    if arguments[1].text == "0":
        return write_call("text_slice", [arguments[0].text, "0", "0"])
    if _NEGATIVE.fullmatch(arguments[1].text):
        return write_call("text_slice", [arguments[0].text, arguments[1].text.removeprefix("-")])
    return write_call("text_slice", [arguments[0].text, write_negation(arguments[1]).text])


def _write_remainder(arguments: Arguments) -> Operand:
    """MOD(number, divisor): the remainder had the sign of the divisor; now it has that of the number."""
    texts = [argument.text for argument in arguments]
    if len(texts) != 2 or not any(_NEGATIVE.fullmatch(text) for text in texts):
        return write_call("mod", texts)
    number, divisor = arguments
    quotient = write_call("round_down", [write_binary("/", Level.PRODUCT, number, divisor).text])
    return write_binary("-", Level.SUM, number, write_binary("*", Level.PRODUCT, divisor, quotient))


def _write_weekday(arguments: Arguments) -> Operand:
    """Days of the week were counted from one."""
    _check_count("weekday", arguments, 1)
    return Operand(f"weekday({arguments[0].text}) + 1", Level.SUM)


def _write_truth(word: str) -> Callable[[Arguments], Operand]:
    def write(arguments: Arguments) -> Operand:
        _check_count(word, arguments, 0)
        return Operand(word)

    return write


_CONVERTED: dict[str, tuple[Callable[[Operand], str], ...]] = {
    "field": (_keep, _count_from_zero, _keep),
    "word": (_keep, _count_from_zero, _choose_delimiters),
    "word_count": (_keep, _choose_delimiters),
}
_SLICE = (_keep, _count_from_zero, _count_from_zero, _choose_delimiters)
_BUILT: dict[str, Callable[[Arguments], Operand]] = {
    "concatenate": _join_with("concatenate", "&", Level.CONCATENATION),
    "datedif": _write_difference,
    "exp": _write_exponential,
    "false": _write_truth("false"),
    "fixed": _write_fixed,
    "if": _write_if,
    "left": _write_left,
    "mod": _write_remainder,
    "power": _write_power,
    "right": _write_right,
    "rounddown": _round_as("round_down", "round_up"),
    "roundup": _round_as("round_up", "round_down"),
    "sum": _join_with("sum", "+", Level.SUM),
    "trunc": _round_as("round_down", "round_up"),
    "true": _write_truth("true"),
    "weekday": _write_weekday,
    "word": _write_word,
    "word_slice": _write_word_slice,
}
