"""Checks the cases about reading dates, addresses, words, phones and places: one function per case file."""

from __future__ import annotations

import dataclasses
import re
from datetime import datetime, time
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from channels.sms import measure
from flows import places, urns, words
from flows.dates import parse_date, parse_datetime, parse_time
from flows.environment import Environment
from flows.layouts import LayoutError, format_with_layout, parse_with_layout
from flows.phones import PhoneError, find_phones, parse_number, parse_phone
from tests.flows.corpora.case_values import assert_case_value, read_case_value, standing_clock

Case = dict[str, Any]
_NANOSECONDS = re.compile(r"(?<![0-9])([0-9]{6})[0-9]{3}(?![0-9])")


def check_env_dates(case: Case, fixtures: Case) -> None:
    """Reads a date, time or both; times finer than microseconds are cut."""
    settings = {name: case[name] for name in ("date_format", "time_format", "timezone") if name in case}
    environment, clock = Environment(**settings), standing_clock(fixtures["now"])
    if case["kind"] == "datetime":
        actual: Any = parse_datetime(environment, clock, case["value"], case["fill_time"])
        expected: Any = datetime.fromisoformat(_cut(case["expected"])) if "expected" in case else None
    elif case["kind"] == "date":
        actual, expected = parse_date(environment, clock, case["value"]), case.get("expected")
        actual = actual and actual.isoformat()
    else:
        actual = parse_time(case["value"])
        expected = time.fromisoformat(_cut(case["expected"])) if "expected" in case else None
    assert actual == expected


def check_urns_and_dates(case: Case, fixtures: Case) -> None:
    """Parses, normalizes and validates addresses; writes and reads layouts."""
    _URN_CHECKS[case["kind"]](case)


def check_text_helpers(case: Case, fixtures: Case) -> None:
    """Cuts and compares words, finds phones and places."""
    if "location" in case["kind"]:
        _check_place(case, places.read_places(fixtures["locations"]))
    else:
        _TEXT_CHECKS[case["kind"]](case)


def _cut(text: str) -> str:
    head, dot, fraction = text.partition(".")
    digits = fraction[: next((i for i, c in enumerate(fraction) if not c.isdigit()), len(fraction))]
    return f"{head}.{digits[:6].ljust(6, '0')}{fraction[len(digits) :]}" if dot else text


def _check_parse(case: Case) -> None:
    if "error" in case:
        with pytest.raises(urns.UrnError) as raised:
            urns.parse(case["input"])
        assert case["error"] in str(raised.value)
    else:
        assert str(urns.parse(case["input"])) == case["expected"]


def _check_normalize(case: Case) -> None:
    assert str(urns.normalize(urns.parse(case["urn"]))) == case["expected"]


def _check_validate(case: Case) -> None:
    if case["valid"]:
        urns.check_urn(case["urn"])
    else:
        with pytest.raises(urns.UrnError) as raised:
            urns.check_urn(case["urn"])
        assert case["error"] in str(raised.value)


def _check_from_parts(case: Case) -> None:
    parts = case["scheme"], case["path"], case["query"], case["display"]
    if case["error"]:
        with pytest.raises(urns.UrnError):
            urns.from_parts(*parts)
    else:
        urn = urns.from_parts(*parts)
        assert (str(urn), urn.identity) == (case["expected"], case["identity"])


def _check_properties(case: Case) -> None:
    urn = urns.parse(case["urn"])
    actual = (urn.show(), urn.display, urn.query, urn.query_values)
    assert actual == (case["format"], case["display"], case["raw_query"], case["query"])


def _check_phone(case: Case) -> None:
    allowed = {"allow_short": case["allow_short"], "allow_sender": case["allow_sender_id"]}
    if "error" in case:
        with pytest.raises(PhoneError, match=case["error"]):
            parse_number(case["input"], case["country"], **allowed)
        return
    expected = case["expected"]
    assert parse_number(case["input"], case["country"], **allowed) == expected.removeprefix("tel:")


def _check_format(case: Case) -> None:
    language, _, country = case["locale"].partition("-")
    environment = Environment(allowed_languages=(language,), default_country=country)
    moment = read_case_value(case["value"])
    if "error" in case:
        with pytest.raises(LayoutError) as raised:
            format_with_layout(moment, case["layout"], environment, "datetime")
        assert case["error"] in str(raised.value)
    else:
        expected = case["expected"]
        if "fffffffff" in case["layout"]:
            expected = _NANOSECONDS.sub(r"\g<1>000", expected)
        assert format_with_layout(moment, case["layout"], environment, "datetime") == expected


def _check_layout(case: Case) -> None:
    kind = case["kind"].removeprefix("parse_")
    zone = ZoneInfo(case.get("timezone", "UTC"))
    if "error" in case:
        with pytest.raises(LayoutError) as raised:
            parse_with_layout(case["value"], case["layout"], zone, kind)
        assert case["error"] in str(raised.value)
    else:
        assert_case_value(parse_with_layout(case["value"], case["layout"], zone, kind), case["expected"])


_URN_CHECKS = {
    "parse": _check_parse,
    "normalize": _check_normalize,
    "validate": _check_validate,
    "from_parts": _check_from_parts,
    "properties": _check_properties,
    "parse_phone": _check_phone,
    "parse_number": _check_phone,
    "format_datetime": _check_format,
    "parse_datetime": _check_layout,
    "parse_date": _check_layout,
    "parse_time": _check_layout,
}


def _check_collation(case: Case) -> None:
    environment = Environment(input_collation=case["collation"])
    assert words.collate(environment, case["input"]) == case["transformed"]
    for other, is_equal in case["equals"].items():
        assert (words.collate(environment, case["input"]) == words.collate(environment, other)) is is_equal


def _check_equal(actual: Any, case: Case) -> None:
    assert actual == case["expected"]


_TEXT_CHECKS = {
    "snakify": lambda case: _check_equal(words.snakify(case["input"]), case),
    "tokenize": lambda case: _check_equal(words.tokens(case["input"]), case),
    "tokenize_by_chars": lambda case: _check_equal(words.tokens_between(case["input"], case["chars"]), case),
    "tokenize_by_unicode_seg": lambda case: _check_equal(words.dictionary_words(case["input"]), case),
    "parse_phone": lambda case: _check_equal(parse_phone(case["input"], case["country"]), case),
    "find_phones": lambda case: _check_equal(find_phones(case["input"], case["country"]), case),
    "collate": _check_collation,
    "measure": lambda case: _check_equal(dataclasses.asdict(measure(case["input"])), case),
}


def _check_place(case: Case, root: places.Place) -> None:
    if case["kind"] == "normalize_location_path":
        assert places.normalize_path(case["path"]) == case["expected"]
    elif case["kind"] == "find_location_path":
        found = places.find_path(root, case["path"])
        assert (found and found.path) == (case.get("expected") or None)
    else:
        parent = places.find_path(root, case["parent"]) if case["parent"] else None
        found_places = places.find_named(root, case["location"], case["level"], parent)
        assert [place.path for place in found_places] == case["expected"]


CHECKS = {
    "env_dates": check_env_dates,
    "urns_and_dates": check_urns_and_dates,
    "text_helpers": check_text_helpers,
}
