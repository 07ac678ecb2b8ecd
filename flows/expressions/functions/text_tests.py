"""Router tests on texts (flow format, router tests)."""

from collections.abc import Sequence

import re2

from flows.expressions.evaluation import Evaluation
from flows.expressions.functions.registry import RAW, TEXT, function, matched, not_matched
from flows.expressions.patterns import find_groups, make_encodable
from flows.expressions.values import Value, XError, XObject
from flows.phones import find_phones
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
