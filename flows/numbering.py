"""The numbering plans of countries, as libphonenumber knows them. `flows.phones` says how numbers are read."""

import re
from functools import lru_cache

import phonenumbers
from phonenumbers import NumberParseException, PhoneNumber, PhoneNumberFormat, ValidationResult

SHORTEST_NATIONAL = 7
COUNTRIES_KNOWN = 4096
"""Each message asks for the country of its number, and conversations for the same numbers."""


def is_country(code: str) -> bool:
    """Whether two capital letters are the code of a country with phone numbers."""
    return code in phonenumbers.SUPPORTED_REGIONS


def national_format(number: str) -> str:
    """An E.164 number as people in its country write it; anything else is returned unchanged."""
    try:
        parsed = phonenumbers.parse(number, None)
    except NumberParseException:
        return number
    return phonenumbers.format_number(parsed, PhoneNumberFormat.NATIONAL)


def typed_forms(number: str) -> list[str]:
    """The digits by which people write an E.164 number: international, also after 00 or with the zero that is dialed
    inside the country, and national. Short national numbers are left out, because other figures look like them."""
    digits = number.removeprefix("+")
    try:
        parsed = phonenumbers.parse(number, None)
    except NumberParseException:
        return [digits]
    national = "".join(re.findall(r"\d", phonenumbers.format_number(parsed, PhoneNumberFormat.NATIONAL)))
    forms = [digits, f"00{digits}", f"{parsed.country_code}{national}", national]
    return [form for form in dict.fromkeys(forms) if form == digits or len(form) >= SHORTEST_NATIONAL]


@lru_cache(maxsize=COUNTRIES_KNOWN)
def country_of(number: str) -> str:
    """The country that an E.164 number belongs to, or empty text."""
    try:
        parsed = phonenumbers.parse(number, None)
    except NumberParseException:
        return ""
    return phonenumbers.region_code_for_number(parsed) or ""


def is_assigned(number: str) -> bool:
    """Whether an E.164 number matches its country's numbering plan in more than its length."""
    return phonenumbers.is_valid_number(phonenumbers.parse(number, None))


def format_if_possible(dialled: str, country: str) -> str:
    """The E.164 form of a number whose length is right for its country, or empty text."""
    try:
        parsed: PhoneNumber = phonenumbers.parse(dialled, country or None)
    except NumberParseException:
        return ""
    if phonenumbers.is_possible_number_with_reason(parsed) != ValidationResult.IS_POSSIBLE:
        return ""
    return phonenumbers.format_number(parsed, PhoneNumberFormat.E164)
