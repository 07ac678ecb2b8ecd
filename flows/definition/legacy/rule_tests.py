"""Tests of old rules as the tests of cases (flow format, versions and migrations)."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from flows.definition.legacy.conversion import Conversion, read_translations, write_text
from flows.definition.legacy.templates import PLAIN, TemplateOptions
from flows.words import told

PLAIN_TESTS = {
    "date": "has_date",
    "has_email": "has_email",
    "not_empty": "has_text",
    "number": "has_number",
    "phone": "has_phone",
    "state": "has_state",
}
NUMBER_TESTS = {
    "eq": "has_number_eq",
    "gt": "has_number_gt",
    "gte": "has_number_gte",
    "lt": "has_number_lt",
    "lte": "has_number_lte",
}
DATE_TESTS = {"date_after": "has_date_gt", "date_before": "has_date_lt", "date_equal": "has_date_eq"}
WORD_TESTS = {
    "contains": "has_all_words",
    "contains_any": "has_any_word",
    "contains_only_phrase": "has_only_phrase",
    "contains_phrase": "has_phrase",
    "starts": "has_beginning",
}
SUCCESS, FAILURE = "Success", "Failure"
WITH_DATES = TemplateOptions(raw_dates=True)
_DAYS_FROM_TODAY = re.compile(r"@\(date\.today\s+([+-])\s+([0-9]{1,9})\)")

Written = tuple[str, list[str]]


def migrate_test(conversion: Conversion, test: Mapping[str, Any], case_uuid: str) -> Written | None:
    """The type and arguments of the case for a test; None for the catch-all test. Raises DefinitionError for an unknown
    type.
    """
    kind = write_text(test.get("type"))
    if kind in PLAIN_TESTS:
        return PLAIN_TESTS[kind], []
    if kind in NUMBER_TESTS:
        return NUMBER_TESTS[kind], [_migrate_text(conversion, test.get("test"))]
    if kind in DATE_TESTS:
        return DATE_TESTS[kind], [_migrate_text(conversion, test.get("test"), WITH_DATES)]
    if kind in WORD_TESTS:
        return WORD_TESTS[kind], [conversion.localize(read_translations(test.get("test")), case_uuid, "arguments")]
    if kind in _WRITERS:
        return _WRITERS[kind](conversion, test, case_uuid)
    raise conversion.fail(f"{told(kind)} is not a type of test", "rules.test.type")


def count_days_from_today(test: Mapping[str, Any]) -> int | None:
    """How many days from today a test of dates is about, as editors show it; None for other tests."""
    if test.get("type") not in tuple(DATE_TESTS):
        return None
    found = _DAYS_FROM_TODAY.search(write_text(test.get("test")))
    return int(found[1] + found[2]) if found else 0


def _migrate_text(conversion: Conversion, value: object, options: TemplateOptions = PLAIN) -> str:
    # Numbers and dates should not be translated, but some are.
    return conversion.migrate(conversion.pick_base(read_translations(value)), options)


def _write_pattern(conversion: Conversion, test: Mapping[str, Any], case_uuid: str) -> Written:
    # Patterns were never templates; only their translations are treated as templates.
    translations = read_translations(test.get("test"))
    conversion.localize(translations, case_uuid, "arguments")
    return "has_pattern", [conversion.pick_base(translations)]


def _write_between(conversion: Conversion, test: Mapping[str, Any], case_uuid: str) -> Written:
    return "has_number_between", [conversion.migrate(test.get("min")), conversion.migrate(test.get("max"))]


def _write_group(conversion: Conversion, test: Mapping[str, Any], case_uuid: str) -> Written:
    group = test.get("test")
    if isinstance(group, Mapping):
        return "has_group", [write_text(group.get("uuid")), write_text(group.get("name"))]
    return "has_group", ["", conversion.migrate(group)]


def _write_subflow(conversion: Conversion, test: Mapping[str, Any], case_uuid: str) -> Written:
    return "has_only_text", [write_text(test.get("exit_type"))]


def _write_webhook_status(conversion: Conversion, test: Mapping[str, Any], case_uuid: str) -> Written:
    return "has_only_text", [SUCCESS if test.get("status") == "success" else FAILURE]


def _write_airtime_status(conversion: Conversion, test: Mapping[str, Any], case_uuid: str) -> Written | None:
    return ("has_category", [SUCCESS]) if test.get("exit_status") == "success" else None


def _write_district(conversion: Conversion, test: Mapping[str, Any], case_uuid: str) -> Written:
    return "has_district", [_migrate_text(conversion, test.get("test"))]


def _write_ward(conversion: Conversion, test: Mapping[str, Any], case_uuid: str) -> Written:
    return "has_ward", [conversion.migrate(test.get("state")), conversion.migrate(test.get("district"))]


_WRITERS: dict[str, Callable[[Conversion, Mapping[str, Any], str], Written | None]] = {
    "airtime_status": _write_airtime_status,
    "between": _write_between,
    "district": _write_district,
    "in_group": _write_group,
    "regex": _write_pattern,
    "subflow": _write_subflow,
    "ward": _write_ward,
    "webhook_status": _write_webhook_status,
}
