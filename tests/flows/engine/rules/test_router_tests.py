"""Router tests as cases of flows use them, rule by rule (flow format, section 5), and the settings around them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from flows import Assets, Environment, Options, Services, start
from flows.engine.services import Classification, WebhookReply
from flows.environment import NumberFormat
from tests.flows.engine.playing import ENVIRONMENT, CountingClock, node, play, switch
from tests.flows.engine.playing import flow as make_flow
from tests.flows.hypothesis.workspace import CHANNEL, CONTACT_JSON, FLOW, GROUP, make_assets, make_uuid, refer


def match(operand: str, kind: str, *arguments: str, environment: Environment = ENVIRONMENT, **more: Any) -> str | None:
    """What the test matched in the operand, None if it did not."""
    router = switch(0, operand, (kind, list(arguments), "Yes"))
    source = {**make_assets(14), **more.pop("assets", {}), "flows": [make_flow(node(0, router=router))]}
    person = {**CONTACT_JSON, "groups": [refer(GROUP)], **more.pop("contact", {})}
    trigger = {"type": "manual", "flow": refer(FLOW)}
    session, _ = start(Assets.from_json(source), person, trigger, environment, clock=CountingClock(), **more)
    result = session.runs[0].results["answer"]
    return result.value if result.category == "Yes" else None


@pytest.mark.parametrize(
    ("operand", "test", "matched"),
    [
        # the error's text
        ("@(1 / 0)", ["has_error"], "division by zero"),
        ("@contact.name", ["has_error"], None),
        # trimmed text
        ("  a b ", ["has_text"], "a b"),
        ('@(" ")', ["has_text"], None),
        ("x", ["has_value"], "x"),
        # exactly equal
        ("Yes", ["has_only_text", "Yes"], "Yes"),
        ("yes", ["has_only_text", "Yes"], None),
        # a beginning of the same length, as written
        ("Étude", ["has_beginning", "ét"], "Ét"),
        ("so", ["has_beginning", "soon"], None),
        # tokens: letters, marks, numbers, underscores and apostrophes; punctuation separates
        ("I'm here, o_k?", ["has_any_word", "i'm O_K"], "I'm o_k"),
        ("well-known", ["has_any_word", "known"], "known"),
        ("I ❤ it", ["has_any_word", "❤"], "❤"),
        ("5€", ["has_any_word", "€"], "€"),
        ("नमस्ते दुनिया", ["has_any_word", "दुनिया"], "दुनिया"),
        # every word in any order, all that matched
        ("red and blue, RED", ["has_all_words", "blue red"], "red blue RED"),
        ("red", ["has_all_words", "red red"], "red"),
        # consecutive; scanning goes on after a mismatch
        ("the big red dog", ["has_phrase", "big RED"], "big red"),
        ("big big red", ["has_phrase", "big red"], None),
        ("big, red", ["has_phrase", "big red"], "big red"),
        ("Big red!", ["has_only_phrase", "big RED"], "Big red"),
        ("big red dog", ["has_only_phrase", "big red"], None),
        # patterns: trimmed, ignoring case, by lines
        ("line\nORDER 7", ["has_pattern", " ^order (\\d) "], "ORDER 7"),
        # numbers: the first that parses, and the first that satisfies
        ("from 1-15", ["has_number"], "1"),
        ("24ans", ["has_number"], "24"),
        ("hi.51", ["has_number"], "51"),
        ("hi .51", ["has_number"], "0.51"),
        ("1,000,000", ["has_number"], "1000000"),
        ("٣٤", ["has_number"], "34"),
        ("-7.50", ["has_number"], "-7.5"),
        ("3 12 15", ["has_number_gt", "10"], "12"),
        ("3 12 15", ["has_number_gte", "15"], "15"),
        ("3 12 15", ["has_number_lt", "3"], None),
        ("3 12 15", ["has_number_lte", "3"], "3"),
        ("3 12 15", ["has_number_eq", "@(10 + 5)"], "15"),
        ("3 12 15", ["has_number_between", "12", "14"], "12"),
        ("3 12 15", ["has_number_between", "15", "20"], "15"),
        # dates with the time of day in the text, else the present one
        ("on 2020-02-03", ["has_date"], "2020-02-03T14:30:00.000000+02:00"),
        ("2020-02-03 09:15", ["has_date"], "2020-02-03T09:15:00.000000+02:00"),
        ("2020-02-03", ["has_date_lt", "2020-02-04"], "2020-02-03T14:30:00.000000+02:00"),
        ("2020-02-03", ["has_date_eq", "2020-02-03"], "2020-02-03T14:30:00.000000+02:00"),
        ("2020-02-03", ["has_date_gt", "2020-02-03"], None),
        ("2020-02-03T22:30:00Z", ["has_date_eq", "2020-02-04"], "2020-02-03T22:30:00.000000Z"),
        ("2020-02-30", ["has_date"], None),
        ("at 7:15 pm", ["has_time"], "19:15:00.000000"),
        ("at 12 am", ["has_time"], "00:00:00.000000"),
        ("24:00", ["has_time"], "00:00:00.000000"),
        ("no", ["has_time"], None),
        # addresses and numbers
        ("mail bob_1+x@mail.example.org now", ["has_email"], "bob_1+x@mail.example.org"),
        ("bob@example", ["has_email"], None),
        ("call (206) 555-1212 or 911", ["has_phone"], "+12065551212"),
        ("0788 383 383", ["has_phone", "RW"], "+250788383383"),
        ("12345", ["has_phone"], None),
        # groups and categories
        ("@contact.groups", ["has_group", GROUP], f"{{name: Thing, uuid: {GROUP}}}"),
        ("@contact.groups", ["has_group", make_uuid(69), "Thing"], None),
        # places
        ("I live in kigari!", ["has_state"], "Rwanda > Kigali"),
        ("gasabo", ["has_district", "Kigali"], "Rwanda > Kigali > Gasabo"),
        ("gasabo", ["has_district"], "Rwanda > Kigali > Gasabo"),
        ("gasabo", ["has_district", "Nowhere"], None),
        ("kimironko", ["has_ward", "Kigali", "Gasabo"], "Rwanda > Kigali > Gasabo > Kimironko"),
        ("kimironko", ["has_ward"], "Rwanda > Kigali > Gasabo > Kimironko"),
        # a null operand is empty text
        ("@(json(child))", ["has_only_text", "null"], "null"),
        ("@child", ["has_text"], None),
    ],
)
def test_what_tests_match(operand: str, test: list[str], matched: str | None) -> None:
    assert match(operand, *test) == matched


@pytest.mark.parametrize(
    ("symbols", "operand", "number"),
    [
        (NumberFormat(",", "."), "1.234,5", "1234.5"),
        (NumberFormat(".", "'"), "1'234.5", "1234.5"),
        (NumberFormat(",", "."), ",5", "0.5"),
        (NumberFormat("*", "+"), "1*5", "1.5"),
    ],
)
def test_numbers_are_read_as_the_workspace_writes_them(symbols: NumberFormat, operand: str, number: str) -> None:
    environment = Environment(number_format=symbols)
    assert match(operand, "has_number", environment=environment) == number


def test_empty_symbols_make_numbers_unreadable_but_no_error() -> None:
    environment = Environment(number_format=NumberFormat("", ""))
    assert match("15", "has_number", environment=environment) in (None, "15")


@pytest.mark.parametrize(
    ("collation", "operand", "words", "is_equal"),
    [
        ("default", "ÉTÉ", "été", True),
        ("default", "раypal", "paypal", False),
        ("confusables", "раypal", "paypal", True),
        ("arabic_variants", "٣", "۳", True),
        ("default", "٣", "۳", True),
    ],
)
def test_words_are_compared_by_the_collation_of_the_workspace(
    collation: str, operand: str, words: str, is_equal: bool
) -> None:
    environment = Environment(input_collation=collation)
    assert (match(operand, "has_any_word", words, environment=environment) is not None) is is_equal


@pytest.mark.parametrize(
    ("contact", "channel_country", "operand", "number"),
    [
        ({"urns": [f"tel:+12065551212?channel={CHANNEL}"]}, "US", "206 555 1213", "+12065551213"),
        ({"urns": [f"tel:+12065551212?channel={CHANNEL}"]}, "RW", "0788 383 383", "+250788383383"),
        ({"urns": ["tel:+250788383000"]}, "", "0788 383 383", "+250788383383"),
        ({"urns": ["mailto:a@b.co"]}, "", "(206) 555-1213", "+12065551213"),
    ],
)
def test_phone_numbers_are_read_for_the_country_of_channel_contact_or_workspace(
    contact: dict[str, Any], channel_country: str, operand: str, number: str
) -> None:
    channel = {**refer(CHANNEL), "address": "5", "schemes": ["tel"], "roles": ["send"], "country": channel_country}
    assert match(operand, "has_phone", contact=contact, assets={"channels": [channel]}) == number


@pytest.mark.parametrize(
    ("contact", "text"),
    [
        ({"timezone": "America/Lima"}, "America/Lima"),
        ({"timezone": ""}, "Africa/Kigali"),
        ({"timezone": "X"}, "Africa/Kigali"),
    ],
)
def test_the_timezone_is_the_contacts_or_the_workspaces(contact: dict[str, Any], text: str) -> None:
    assert match("@(tz(now()))", "has_text", contact=contact) == text


@pytest.mark.parametrize(("language", "month"), [("spa", "mayo"), ("eng", "May"), ("fra", "May"), ("", "May")])
def test_names_of_months_are_in_the_contacts_language_if_it_is_allowed(language: str, month: str) -> None:
    assert match('@(format_date(today(), "MMMM"))', "has_text", contact={"language": language}) == month


EXTRA = {"intents": [{"name": "book", "confidence": 0.8}, {"name": "ask", "confidence": 0.5}], "entities": {}}


class Web:
    """Answers with what a classifier would have found."""

    def call(self, request: Any) -> WebhookReply:
        return WebhookReply(200, "", body=json.dumps(EXTRA).encode())


class Finder:
    """A classifier of the host."""

    def classify(self, classifier: Any, text: str) -> Classification:
        return Classification()


@pytest.mark.parametrize(
    ("options", "classifier", "category"),
    [
        (Options(generation=13), None, "Book"),
        (Options(), None, "Other"),
        (Options(classifiers=True), None, "Other"),
        (Options(classifiers=True), Finder(), "Book"),
    ],
)
@pytest.mark.parametrize("kind", ["has_intent", "has_top_intent"])
def test_intents_are_found_where_there_are_classifiers(
    options: Options, classifier: Any, category: str, kind: str
) -> None:
    call = {"type": "call_webhook", "method": "GET", "url": "http://a.b/", "result_name": "Call"}
    router = switch(0, "@results.call", (kind, ["book", "0.7"], "Book"))
    services = Services(webhook=Web(), classifier=classifier)
    version = "13.2.0" if options.is_early else "14.4.2"
    played = play(node(0, call, router=router), services=services, options=options, spec_version=version)
    assert played.session.runs[0].results["answer"].category == category


@pytest.mark.parametrize(
    "case",
    [
        ("has_number_gt", ["many"]),
        ("has_number_between", ["1"]),
        ("has_pattern", ["("]),
        ("has_date_lt", ["soon"]),
        ("has_phrase", []),
        ("has_text", ["too", "many"]),
        ("has_only_text", ["@(1 / 0)"]),
    ],
)
def test_wrong_arguments_are_errors_that_are_logged_and_no_match(case: tuple[str, list[str]]) -> None:
    played = play(node(0, router=switch(0, "5", (*case, "Yes"))))
    assert played.session.runs[0].results["answer"].category == "Other"
    assert len(played.errors) >= 1
