"""Phone numbers: reading them from people's text, normalizing them for URNs, showing them. A number is *possible* if
libphonenumber finds its length right for its country; it need not be assigned, and a number that can only be dialed
locally is not possible. Countries are two-letter ISO 3166 codes, or empty.
"""

import re
from typing import NamedTuple

import regex

from flows.typed import compose, fold_case, plain

INTERNATIONAL_DIGITS_MIN = 11
SENDER_NAME_LENGTH_MAX = 64
REREADINGS_MAX = 3

_SPREADSHEET_EXPONENT = re.compile(r"e\+1[12]\Z")
_SPREADSHEET_FRACTION = re.compile(r"(?<=[0-9]{7})[.,]0+\Z")
_NOT_ALPHANUMERIC = regex.compile(r"[^\p{L}\p{M}\p{N}]+")
_CANDIDATE = re.compile(r"\+?[\d .\-()]{5,}")
_NOT_DIALLED = re.compile(r"[^\d+]")
_SHORT_CODE = re.compile(r"[0-9]{3,6}")
_SENDER_NAME = regex.compile(rf"(?=[0-9]*\p{{L}})[\p{{L}}\p{{M}}0-9]{{1,{SENDER_NAME_LENGTH_MAX}}}")


class PhoneError(ValueError):
    """A text is not a phone number that could be reached."""


def is_country(code: str) -> bool:
    """Whether two capital letters are the code of a country with phone numbers."""
    from flows import numbering  # noqa: PLC0415  # it loads all numbering plans, which few commands need

    return numbering.is_country(code)


def normalize_number(text: str, country: str = "") -> str:
    """The path of a `tel` URN for a typed number: E.164 if possible, otherwise its letters and digits. Repairs numbers
    that spreadsheets wrote with an exponent or a fraction, and adds the `+` that people leave out of international
    numbers, unless the number is dialed so in the country itself. Short codes and sender names are returned cleaned and
    in lower case; the result may be empty.
    """
    cleaned, dialled = _clean(text)
    return _read_dialled(dialled, country) or cleaned


def parse_number(text: str, country: str = "", *, allow_short: bool = False, allow_sender: bool = False) -> str:
    """Reads a number strictly: E.164, or if allowed a short code of a known country or a sender's name. Raises
    PhoneError for everything else.
    """
    cleaned, dialled = _clean(text)
    number = _read_dialled(dialled, country)
    if number:
        return number
    is_short_code = allow_short and country and _SHORT_CODE.fullmatch(cleaned)
    if is_short_code or (allow_sender and _SENDER_NAME.fullmatch(cleaned)):
        return cleaned
    raise PhoneError("not a possible number")


def is_possible(number: str, country: str = "") -> bool:
    """Whether a number, unchanged, is a possible one."""
    return _read_possible(number, country) != ""


def parse_phone(text: str, country: str = "") -> str:
    """The E.164 form of a text that is a phone number as a whole; empty text if it is not one."""
    trimmed = plain(text).strip()
    return _read_candidate(trimmed, country) if _CANDIDATE.fullmatch(trimmed) else ""


def find_phones(text: str, country: str = "") -> list[str]:
    """The E.164 forms of all possible numbers within a text, in their order."""
    found = (_read_candidate(match.group(), country) for match in _CANDIDATE.finditer(plain(text)))
    return [number for number in found if number]


def national_format(number: str) -> str:
    """An E.164 number as people in its country write it; anything else is returned unchanged."""
    from flows import numbering  # noqa: PLC0415  # it loads all numbering plans, which few commands need

    return numbering.national_format(number)


def typed_forms(number: str) -> list[str]:
    """The digits by which people write an E.164 number: international and national."""
    from flows import numbering  # noqa: PLC0415  # it loads all numbering plans, which few commands need

    return numbering.typed_forms(number)


def country_of(number: str) -> str:
    """The country that an E.164 number belongs to, or empty text."""
    from flows import numbering  # noqa: PLC0415  # it loads all numbering plans, which few commands need

    return numbering.country_of(number)


class OldForm(NamedTuple):
    """Numbers of a plan that was changed: they begin so and have this length, `added` comes between what is kept and
    the rest, and the rest of a `mobile` number begins with 6 to 9."""

    plan: str
    begins: str
    length: int
    kept: int
    added: str
    rest: int
    is_mobile: bool = False


OLD_FORMS = (
    OldForm("Mexico, before 2019", "+521", 14, 3, "", 4),
    OldForm("Benin, before 2024", "+229", 12, 4, "01", 4),
    OldForm("Brazil, before the ninth digit", "+55", 13, 5, "9", 5, is_mobile=True),
    OldForm("India, with a zero", "+910", 14, 3, "", 4, is_mobile=True),
    OldForm("India, as it is dialed there", "0", 11, 0, "+91", 1, is_mobile=True),
)
MOBILE = "6789"


def read_old_form(text: str) -> tuple[str, str] | None:
    """What became of a typed number in an old form, and the plan that it belongs to; None for any other text."""
    cleaned, _ = _clean(text)
    number = "+" + cleaned.removeprefix("00")
    for form in OLD_FORMS:
        fits = number.startswith(form.begins) and len(number) == form.length and number[1:].isascii()
        if fits and number[1:].isdecimal() and (not form.is_mobile or number[form.rest] in MOBILE):
            return number[: form.kept] + form.added + number[form.rest :], form.plan
    return None


def _clean(text: str) -> tuple[str, str]:
    """The letters and digits of a text, of every script, and the same in the form in which it should be dialed."""
    lowered = _SPREADSHEET_FRACTION.sub("", fold_case(plain(text).strip()))
    if _SPREADSHEET_EXPONENT.search(lowered):
        lowered = lowered[:-4].replace(".", "")
    # Letters that now stand together may have one composed form.
    cleaned = compose(_NOT_ALPHANUMERIC.sub("", lowered))
    return cleaned, "+" + cleaned if cleaned and lowered.startswith("+") else cleaned


def _read_candidate(candidate: str, country: str) -> str:
    return _read_dialled(_NOT_DIALLED.sub("", candidate), country)


def _read_dialled(dialled: str, country: str) -> str:
    """The number as it is dialed in the country, otherwise as an international one without its `+`; or an empty string.
    If only the length is right for the country, an assigned international number is preferred: some countries allow so
    many lengths that they would match all other numbers.
    """
    number = _read_possible(dialled, country)
    may_be_international = len(dialled) >= INTERNATIONAL_DIGITS_MIN and dialled[0] not in "0+"
    if not may_be_international or _is_assigned(number):
        return number
    international = _read_possible("+" + dialled, country)
    return international if not number or _is_assigned(international) else number


def _is_assigned(number: str) -> bool:
    """Whether an E.164 number (or an empty string) matches its country's numbering plan in more than its length."""
    if number == "":
        return False
    from flows import numbering  # noqa: PLC0415  # it loads all numbering plans, which few commands need

    return numbering.is_assigned(number)


def _read_possible(dialled: str, country: str) -> str:
    """The E.164 form of a possible number, or empty text."""
    number = _format_if_possible(dialled, country)
    if number == dialled:
        return number
    # Formatting may drop a zero after the country code, which changes how the number is read the next time. Numbers
    # with more such zeros are not real.
    for _ in range(REREADINGS_MAX):
        again = _format_if_possible(number, country) if number else ""
        if again == number:
            return number
        number = again
    return ""


def _format_if_possible(dialled: str, country: str) -> str:
    if dialled == "":
        return ""
    from flows import numbering  # noqa: PLC0415  # it loads all numbering plans, which few commands need

    return numbering.format_if_possible(dialled, country)
