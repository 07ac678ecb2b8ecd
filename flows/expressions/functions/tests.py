"""Router tests on texts (flow format, router tests).

Router tests on dates and times (flow format, router tests).

Router tests on places (flow format, router tests).

Router tests on groups and results (flow format, router tests).

Router tests on numbers (flow format, router tests).
"""

import operator
from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal
from functools import lru_cache

import re2

from flows.dates import parse_datetime, parse_time
from flows.expressions.conversions import in_zone, to_number, to_object, to_text
from flows.expressions.evaluation import Evaluation, ExpressionError
from flows.expressions.functions.registry import ARRAY, DATE, NUMBER, OBJECT, RAW, TEXT, function, matched, not_matched
from flows.expressions.patterns import find_groups, make_encodable
from flows.expressions.values import Value, XArray, XError, XObject
from flows.numbers import find_numbers
from flows.phones import find_phones
from flows.places import DISTRICT, STATE, WARD, Place, find_places
from flows.typed import compose, plain
from flows.words import collated_tokens, collated_words, lower

CHARACTERS_PER_UNIT = 2
PHONE_UNITS_PER_CHARACTER = 4

# RE2, because the text comes from people, and other engines take quadratic time for some texts.
_EMAIL = re2.compile(r"[\pL\p{Nd}][\pL\p{Nd}\-_+$~.]*@[\pL\p{Nd}\-_]+(?:\.[\pL\p{Nd}\-_]+)+")


@function("has_error", takes=[RAW])
def has_error(evaluation: Evaluation, value: Value) -> XObject:
    """The value is an error; the match is its text."""
    return matched(value.message) if isinstance(value, XError) else not_matched()


@function("has_text", "has_value", takes=[TEXT])
def has_text(evaluation: Evaluation, text: str) -> XObject:
    """Anything remains after trimming; the match is the trimmed text."""
    trimmed = text.strip()
    return matched(trimmed) if trimmed else not_matched()


@function("has_only_text", takes=[TEXT, TEXT])
def has_only_text(evaluation: Evaluation, text: str, expected: str) -> XObject:
    """The texts are exactly equal."""
    return matched(text) if compose(text) == compose(expected) else not_matched()


@function("has_beginning", takes=[TEXT, TEXT])
def has_beginning(evaluation: Evaluation, text: str, beginning: str) -> XObject:
    """The trimmed text has this beginning, ignoring case; the match is the part as written."""
    wanted = compose(beginning).strip()
    encoded = compose(text).strip().encode("utf-8", "replace")
    head = encoded[: len(wanted.encode("utf-8", "replace"))].decode("utf-8", "replace")
    return matched(head) if wanted and lower(head) == lower(wanted) else not_matched()


@function("has_any_word", takes=[TEXT, TEXT])
def has_any_word(evaluation: Evaluation, text: str, words: str) -> XObject:
    """Any token equals any of the words; the match is all such tokens."""
    wanted = _collated_words(evaluation, words)
    found = [token for token, form in _tokens(evaluation, text) if form in wanted]
    return matched(" ".join(found)) if found else not_matched()


@function("has_all_words", takes=[TEXT, TEXT])
def has_all_words(evaluation: Evaluation, text: str, words: str) -> XObject:
    """Every word occurs, in any order; the match is all tokens that are such words."""
    wanted = _collated_words(evaluation, words)
    found = [(token, form) for token, form in _tokens(evaluation, text) if form in wanted]
    if {form for _, form in found} != wanted:
        return not_matched()
    return matched(" ".join(token for token, _ in found))


@function("has_phrase", takes=[TEXT, TEXT])
def has_phrase(evaluation: Evaluation, text: str, phrase: str) -> XObject:
    """The phrase's words occur one after another; after a mismatch the search continues with the next token."""
    wanted = _collated(evaluation, phrase)
    found: list[str] = []
    for token, form in _tokens(evaluation, text):
        if len(found) == len(wanted):
            break
        if form == wanted[len(found)]:
            found.append(token)
        else:
            found = []
    return matched(" ".join(found)) if len(found) == len(wanted) else not_matched()


@function("has_only_phrase", takes=[TEXT, TEXT])
def has_only_phrase(evaluation: Evaluation, text: str, phrase: str) -> XObject:
    """The text has exactly the words of the phrase."""
    found = _tokens(evaluation, text)
    if [form for _, form in found] != _collated(evaluation, phrase):
        return not_matched()
    return matched(" ".join(token for token, _ in found))


@function("has_pattern", takes=[TEXT, TEXT])
def has_pattern(evaluation: Evaluation, text: str, pattern: str) -> XObject:
    """A regular expression is found, in the text as typed or with its digits and signs as those of ASCII; `extra` has
    its groups by number.
    """
    wanted, typed = compose(pattern).strip(), compose(text)
    groups = find_groups(evaluation, wanted, typed)
    if groups is None and not typed.isascii():
        groups = find_groups(evaluation, wanted, plain(typed))
    if groups is None:
        return not_matched()
    return matched(groups[0], XObject({str(index): group for index, group in enumerate(groups)}))


@function("has_email", takes=[TEXT])
def has_email(evaluation: Evaluation, text: str) -> XObject:
    """There is an e-mail address in the text."""
    evaluation.budget.read(text)
    found = _EMAIL.search(make_encodable(text))
    return matched(found[0]) if found else not_matched()


@function("has_phone", takes=[TEXT], optional=[TEXT])
def has_phone(evaluation: Evaluation, text: str, country: str = "") -> XObject:
    """There is a possible phone number in the text; the match is its E.164 form."""
    evaluation.budget.spend(len(text) * PHONE_UNITS_PER_CHARACTER)
    found = find_phones(text, country or evaluation.environment.default_country)
    return matched(found[0]) if found else not_matched()


def _tokens(evaluation: Evaluation, text: str) -> Sequence[tuple[str, str]]:
    evaluation.budget.spend(len(text) // CHARACTERS_PER_UNIT)
    return collated_tokens(evaluation.environment, text.strip())


def _collated_words(evaluation: Evaluation, text: str) -> frozenset[str]:
    evaluation.budget.spend(len(text) // CHARACTERS_PER_UNIT)
    return collated_words(evaluation.environment, text.strip())


def _collated(evaluation: Evaluation, text: str) -> list[str]:
    return [form for _, form in _tokens(evaluation, text)]


@function("has_date", takes=[TEXT])
def has_date(evaluation: Evaluation, text: str) -> XObject:
    """There is a date in the text; the match is a datetime, with the current time of day if none is written."""
    return find_date(evaluation, text, lambda day: True)


@function("has_time", takes=[TEXT])
def has_time(evaluation: Evaluation, text: str) -> XObject:
    """There is a time of day in the text."""
    evaluation.budget.spend(len(text) // CHARACTERS_PER_UNIT)
    found = parse_time(text)
    return not_matched() if found is None else matched(found)


def find_date(evaluation: Evaluation, text: str, accepts: Callable[[date], bool]) -> XObject:
    """The outcome with the date in a text if its day, in the environment's time zone, is accepted."""
    evaluation.budget.spend(len(text) // CHARACTERS_PER_UNIT)
    found = parse_datetime(evaluation.environment, evaluation.clock, text, True)
    if found is None or not accepts(in_zone(evaluation, found).date()):
        return not_matched()
    return matched(found)


def _declare_comparison(name: str, compare: Callable[[date, date], bool]) -> None:
    @function(name, takes=[TEXT, DATE])
    def has_date_compared(evaluation: Evaluation, text: str, day: date) -> XObject:
        """There is a date in the text that is before, on or after another one."""
        return find_date(evaluation, text, lambda found: compare(found, day))


for _name, _compare in (("has_date_lt", operator.lt), ("has_date_eq", operator.eq), ("has_date_gt", operator.gt)):
    _declare_comparison(_name, _compare)


CHARACTERS_PER_WORD = 4
PLACES_PER_UNIT = 8


@function("has_state", takes=[TEXT])
def has_state(evaluation: Evaluation, text: str) -> XObject:
    """The text names a state; the match is its path."""
    return _match_first(_find(evaluation, text, STATE, None))


@function("has_district", takes=[TEXT], optional=[TEXT])
def has_district(evaluation: Evaluation, text: str, state: str = "") -> XObject:
    """The text names a district of a state, or without a state the only district with this name."""
    if not state:
        return _match_only(_find(evaluation, text, DISTRICT, None))
    return _match_first(_find_below(evaluation, text, DISTRICT, _find(evaluation, state, STATE, None)))


@function("has_ward", takes=[TEXT], optional=[TEXT, TEXT])
def has_ward(evaluation: Evaluation, text: str, state: str = "", district: str | None = None) -> XObject:
    """The text names a ward of a state's district, or without a district the only ward with this name."""
    if state and district is None:
        raise ExpressionError("need 1 or 3 argument(s), got 2")
    if not district:
        return _match_only(_find(evaluation, text, WARD, None))
    states = _find(evaluation, state, STATE, None)
    districts = _find_below(evaluation, district, DISTRICT, states)
    return _match_first(_find_below(evaluation, text, WARD, districts))


def _find_below(evaluation: Evaluation, text: str, level: int, parents: list[Place]) -> list[Place]:
    return _find(evaluation, text, level, parents[0]) if parents else []


def _find(evaluation: Evaluation, text: str, level: int, parent: Place | None) -> list[Place]:
    root = evaluation.resources.places
    if root is None:
        raise ExpressionError("no places are known")
    # Every word and every pair of words is searched among all places.
    attempts = 2 + 2 * len(text) // CHARACTERS_PER_WORD
    evaluation.budget.spend(attempts * _count(root) // PLACES_PER_UNIT)
    return find_places(root, text, level, parent)


@lru_cache(maxsize=64)
def _count(root: Place) -> int:
    return sum(1 for _ in root.walk())


def _match_first(found: list[Place]) -> XObject:
    return matched(found[0].path) if found else not_matched()


def _match_only(found: list[Place]) -> XObject:
    return matched(found[0].path) if len(found) == 1 else not_matched()


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


@function("has_number", takes=[TEXT])
def has_number(evaluation: Evaluation, text: str) -> XObject:
    """There is a number in the text; the match is the first."""
    return find_number(evaluation, text, lambda number: True)


@function("has_number_between", takes=[TEXT, NUMBER, NUMBER])
def has_number_between(evaluation: Evaluation, text: str, least: Decimal, most: Decimal) -> XObject:
    """There is a number in the text within an inclusive range."""
    return find_number(evaluation, text, lambda number: least <= number <= most)


def find_number(evaluation: Evaluation, text: str, accepts: Callable[[Decimal], bool]) -> XObject:
    """The outcome with the first number in a text that is accepted."""
    evaluation.budget.spend(len(text) // CHARACTERS_PER_UNIT)
    for number in find_numbers(evaluation.environment, text):
        if accepts(number):
            return matched(number)
    return not_matched()


def _declare_number_comparison(name: str, compare: Callable[[Decimal, Decimal], bool]) -> None:
    @function(name, takes=[TEXT, NUMBER])
    def has_number_compared(evaluation: Evaluation, text: str, number: Decimal) -> XObject:
        """There is a number in the text that compares so with another one."""
        return find_number(evaluation, text, lambda found: compare(found, number))


for _number_name, _compare_numbers in (
    ("has_number_lt", operator.lt),
    ("has_number_lte", operator.le),
    ("has_number_eq", operator.eq),
    ("has_number_gte", operator.ge),
    ("has_number_gt", operator.gt),
):
    _declare_number_comparison(_number_name, _compare_numbers)
