"""Every name that expressions begin with, rule by rule (flow format, section 13)."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from flows import Assets, Options, Services, start
from flows.engine.services import WebhookReply
from tests.flows.engine.playing import ENVIRONMENT, CountingClock, Played, ask, flow, node, play, switch
from tests.flows.hypothesis.workspace import (
    CHANNEL,
    CHILD,
    CONTACT,
    CONTACT_JSON,
    FLOW,
    GROUP,
    USER,
    make_assets,
    make_uuid,
    refer,
)

EARLY: dict[str, Any] = {"options": Options(generation=13), "spec_version": "13.2.0"}
TICKETS = [
    {"uuid": make_uuid(50), "status": "open", "topic": refer(make_uuid(96), "General")},
    {"uuid": make_uuid(51), "status": "open", "assignee": refer(USER)},
    {"uuid": make_uuid(52), "status": "closed"},
]
ENTER = {"type": "enter_flow", "flow": refer(CHILD), "terminal": False}
MESSAGE = {
    "text": "Hello",
    "urn": "tel:+12065551212",
    "channel": refer(CHANNEL),
    "external_id": "x1",
    "attachments": ["image/jpeg:http://a/1.jpg", "audio:http://a/2.mp3"],
}
BY_MESSAGE = {
    "type": "msg",
    "event": {"uuid": make_uuid(7), "type": "msg_received", "created_on": "2025-05-04T12:31:00Z", "msg": MESSAGE},
}


def say(text: str) -> dict[str, Any]:
    return {"type": "send_msg", "text": text}


def texts(played: Played) -> list[str]:
    return [event["msg"]["text"] for event in played.of("msg_created")]


def text_of(template: str, *before: dict[str, Any], **more: Any) -> str:
    text: str = texts(play(node(0, *before, say(template)), **more))[-1]
    return text


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("@contact", "Ann Lee"),
        ("@contact.uuid", CONTACT),
        ("@contact.name", "Ann Lee"),
        ("@contact.first_name", "Ann"),
        ("@contact.language", "eng"),
        ("@contact.timezone", "Africa/Kigali"),
        ("@contact.status", "active"),
        ("@(format_date(contact.created_on))", "2024-01-01"),
        ("@(format_date(contact.last_seen_on))", "2024-02-01"),
        ("@contact.urns", "[tel:+12065551212, mailto:ann@example.com]"),
        ("@contact.urn", "tel:+12065551212"),
        ("@(contact.groups[0].name)", "Thing"),
        ("@(json(contact.groups[0]))", json.dumps({"name": "Thing", "uuid": GROUP}, separators=(",", ":"))),
        ("@contact.channel", "Thing"),
        ("@contact.channel.uuid", CHANNEL),
        ("@contact.channel.address", "+12065550100"),
        ("@(contact.fields.age + 1)", "28"),
        ("@contact.fields.town", "Rwanda > Kigali"),
        ("@contact.fields", "Age: 27\nTown: Rwanda > Kigali"),
        ("@fields.age", "27"),
        ("@fields", "Age: 27\nTown: Rwanda > Kigali"),
        ("@urns.tel", "tel:+12065551212"),
        ("@urns.mailto", "mailto:ann@example.com"),
        ("@(json(urns.telegram))", "null"),
        ("@globals.org", "Us"),
        ("@globals", "Org: Us"),
        ("@run.flow", "Thing"),
        ("@run.flow.uuid", FLOW),
        ("@run.flow.revision", "1"),
        ("@run.status", "active"),
        ("@(json(run.exited_on))", "null"),
        ("@(format_date(run.created_on))", "2025-05-04"),
        ("@(run.path[0].node_uuid)", make_uuid(1, 0)),
        ("@run", "Ann Lee@Thing"),
        ("@run.contact.first_name", "Ann"),
        ("@node.uuid", make_uuid(1, 0)),
        ("@node.visit_count", "1"),
        ("@(json(parent)) @(json(child)) @(json(resume)) @(json(input)) @(json(ticket))", "null null null null null"),
        ("@(json(webhook))", "null"),
        ("@(json(results)) @(json(locals))", "{} {}"),
    ],
)
def test_names_mean_what_they_say(template: str, text: str) -> None:
    contact = {"groups": [refer(GROUP)], "fields": CONTACT_JSON["fields"]}
    assert text_of(template, contact=contact, assets={"groups": [refer(GROUP)]}) == text


@pytest.mark.parametrize(
    ("contact", "redacts", "text"),
    [
        ({}, False, "Ann Lee"),
        ({"name": ""}, False, "(206) 555-1212"),
        ({"name": "", "urns": ["mailto:ann@example.com"]}, False, "ann@example.com"),
        ({"name": "", "urns": []}, False, ""),
        ({"name": ""}, True, "7"),
        ({}, True, "Ann Lee"),
    ],
)
def test_a_contact_stands_for_its_name_or_address_or_number(contact: Any, redacts: bool, text: str) -> None:
    assert start_redacted("@contact", redacts, contact) == text


def start_redacted(template: str, redacts: bool = True, contact: dict[str, Any] | None = None) -> str:
    environment = replace(ENVIRONMENT, redaction_policy="urns" if redacts else "none")
    assets = Assets.from_json({**make_assets(14), "flows": [flow(node(0, say(template)))]})
    trigger = {**BY_MESSAGE, "flow": refer(FLOW)}
    person = {**CONTACT_JSON, **(contact or {})}
    _, events = start(assets, person, trigger, environment, clock=CountingClock())
    (made,) = [event for event in events if event["type"] == "msg_created"]
    text: str = made["msg"]["text"]
    return text


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("@contact.urn", "tel:********"),
        ("@contact.urns", "[tel:********, mailto:********]"),
        ("@urns.tel @urns.mailto", "tel:******** mailto:********"),
        ("@input.urn", "tel:********"),
        ("@(json(contact))", None),
    ],
)
def test_redacted_addresses_show_their_scheme_only(template: str, text: str | None) -> None:
    written = start_redacted(template)
    assert "2065551212" not in written and "ann@example.com" not in written
    assert text is None or written == text


def test_a_contact_of_generation_14_has_a_reference_and_a_number_that_is_deprecated() -> None:
    played = play(node(0, say("@contact.ref @contact.id")))
    reference, number = texts(played)[0].split()
    assert (len(reference), number) == (6, "7")
    assert played.of("warning")[0]["text"] == "@contact.id is deprecated, use @contact.ref instead"
    early = play(node(0, say("@contact.id@contact.ref")), **EARLY)
    assert (texts(early), early.of("warning")) == (["7"], [])


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("@ticket.uuid", make_uuid(51)),
        ("@ticket.assignee", "Thing"),
        ("@(json(ticket.topic))", "null"),
        ("@(count(contact.tickets)) @(contact.tickets[0].topic.name)", "2 General"),
    ],
)
def test_the_ticket_is_the_last_opened_that_is_open(template: str, text: str) -> None:
    assert text_of(template, contact={"tickets": TICKETS}) == text


def test_closed_tickets_are_none() -> None:
    assert text_of("@(json(ticket))", contact={"tickets": TICKETS[2:]}) == "null"


SAVE = {"type": "set_run_result", "name": "My Size", "value": "XL", "category": "Big"}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("@results.my_size", "XL"),
        ("@results.my_size.name", "My Size"),
        ("@results.my_size.value", "XL"),
        ("@results.my_size.category", "Big"),
        ("@results.my_size.category_localized", "Big"),
        ("@results.my_size.node_uuid", make_uuid(1, 0)),
        ("@(format_date(results.my_size.created_on))", "2025-05-04"),
        ("@(json(results.my_size.extra))", "null"),
        ("@results", "My Size: XL"),
        ("@run.results.my_size", "XL"),
    ],
)
def test_results_are_seen_by_their_keys(template: str, text: str) -> None:
    assert text_of(template, SAVE) == text


def test_results_of_generation_13_were_lists_too() -> None:
    template = "@results.my_size.values @results.my_size.categories @results.my_size.categories_localized"
    assert text_of(template, SAVE, **EARLY) == "[XL] [Big] [Big]"
    assert text_of("@(is_error(results.my_size.values))", SAVE) == "true"


def test_lists_of_categories_are_in_the_contacts_language_too() -> None:
    more = {"localization": {"spa": {make_uuid(2): {"category": ["Grande"]}}}, "contact": {"language": "spa"}, **EARLY}
    template = "@results.my_size.categories @results.my_size.categories_localized"
    assert text_of(template, SAVE, **more) == "[Big] [Grande]"


def test_localized_categories_are_seen_in_the_contacts_language() -> None:
    more = {"localization": {"spa": {make_uuid(2): {"category": ["Grande"]}}}, "contact": {"language": "spa"}}
    assert text_of("@results.my_size.category @results.my_size.category_localized", SAVE, **more) == "Big Grande"


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("@input", "Hello\nhttp://a/1.jpg\nhttp://a/2.mp3"),
        ("@input.uuid", make_uuid(7)),
        ("@input.type", "msg"),
        ("@input.text", "Hello"),
        ("@(format_date(input.created_on))", "2025-05-04"),
        ("@input.channel", "Thing"),
        ("@input.channel.address", "+12065550100"),
        ("@input.urn", "tel:+12065551212"),
        ("@(urn_parts(input.urn).path)", "+12065551212"),
        ("@(count(input.attachments))", "2"),
        ("@(attachment_parts(input.attachments[0]).content_type)", "image/jpeg"),
        ("@input.external_id", "x1"),
    ],
)
def test_the_input_is_the_message_that_came_last(template: str, text: str) -> None:
    assert text_of(template, trigger=BY_MESSAGE) == text


PARENT_TEMPLATES = {
    "@{0}": "Ann Lee@Thing",
    "@{0}.flow.name": "Thing",
    "@{0}.contact.first_name": "Ann",
    "@{0}.fields.age": "27",
    "@{0}.urns.tel": "tel:+12065551212",
    "@{0}.results.my_size": "XL",
}


@pytest.mark.parametrize(("template", "text"), PARENT_TEMPLATES.items())
@pytest.mark.parametrize("root", ["parent", "child"])
def test_parent_and_child_are_seen_by_each_other(root: str, template: str, text: str) -> None:
    telling = say(template.format(root))
    if root == "parent":
        played = play(node(0, SAVE, ENTER), child=flow(node(200, telling), uuid=CHILD))
    else:
        played = play(node(0, ENTER, to=1), node(1, telling), child=flow(node(200, SAVE), uuid=CHILD))
    assert texts(played) == [text]


@pytest.mark.parametrize(
    ("root", "status"),
    [("parent", "active"), ("child", "completed")],
)
def test_the_status_of_parent_and_child_is_seen_and_its_old_place_deprecated(root: str, status: str) -> None:
    telling = say(f"@{root}.status @{root}.run.status")
    if root == "parent":
        played = play(node(0, ENTER), child=flow(node(200, telling), uuid=CHILD))
    else:
        played = play(node(0, ENTER, to=1), node(1, telling), child=flow(node(200), uuid=CHILD))
    assert texts(played) == [f"{status} {status}"]
    assert played.of("warning") == [
        {"text": f"@{root}.run.status is deprecated, use @{root}.status instead", "code": "context:deprecated"}
    ]


def test_nodes_know_how_often_they_were_visited_and_their_categories() -> None:
    asking = ask(0, to=0)
    asking["actions"] = [{"uuid": make_uuid(2, 900), **say("@node.visit_count @node.categories")}]
    played = play(asking)
    assert texts(played) == ["1 [Yes, Other]"]
    assert texts(played.answer("no")) == ["2 [Yes, Other]"]
    assert text_of("@(is_error(node.categories))", **EARLY) == "true"


def test_resumes_are_seen_in_the_sprint_they_began() -> None:
    played = play(ask(0, to=1), node(1, say("@resume.type @(json(resume.dial))")))
    assert texts(played.answer("yes")) == ["msg null"]


class Web:
    """Answers every call."""

    def __init__(self, body: bytes = b'{"size": "XL"}') -> None:
        self.body = body

    def call(self, request: Any) -> WebhookReply:
        return WebhookReply(201, "GET / HTTP/1.1", body=self.body, headers={"X-Key": "a"})


CALL = {"type": "call_webhook", "method": "GET", "url": "http://a.b/", "result_name": "Call"}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("@webhook", "GET http://a.b/"),
        ("@webhook.status", "201"),
        ("@webhook.json.size", "XL"),
        ('@(webhook.headers["X-Key"])', "a"),
    ],
)
def test_the_last_call_is_seen_with_status_headers_and_json(template: str, text: str) -> None:
    assert text_of(template, CALL, services=Services(webhook=Web())) == text


def test_before_13_3_the_last_call_was_its_json() -> None:
    assert text_of("@webhook.size", CALL, services=Services(webhook=Web()), **EARLY) == "XL"


def test_a_call_is_seen_in_its_own_run_only_and_by_later_sprints_if_it_is_small() -> None:
    child = flow(node(200, say("@(json(webhook))")), uuid=CHILD)
    played = play(node(0, CALL, ENTER), child=child, services=Services(webhook=Web()))
    assert texts(played) == ["null"]
    for body, seen in ((b'"%s"' % (b"x" * 9_998), "201"), (b'"%s"' % (b"x" * 9_999), "null")):
        played = play(
            node(0, CALL, to=1),
            ask(1, to=2),
            node(2, say("@(json(webhook.status))")),
            services=Services(webhook=Web(body)),
        )
        told = texts(played.answer("yes"))
        assert told == [seen] or (seen == "null" and told == [""])


def test_names_ignore_case_and_unknown_ones_are_errors() -> None:
    played = play(node(0, say("@CONTACT.Name @(contact.nothing) @(foo)")))
    assert texts(played) == ["Ann Lee  "]
    assert [error.rpartition(": ")[2] for error in played.errors] == [
        "object has no property 'nothing'",
        "context has no property 'foo'",
    ]


@pytest.mark.parametrize("name", ["flow", "step", "extra", "date", "channel"])
def test_names_of_old_are_plain_text_today(name: str) -> None:
    assert text_of(f"@{name}.x") == f"@{name}.x"


def test_switches_see_the_context_too() -> None:
    router = switch(0, "@contact.first_name", ("has_only_text", ['@("A" & "nn")'], "Ann"))
    assert play(node(0, router=router)).session.runs[0].results["answer"].category == "Ann"


def test_without_a_language_of_the_contact_only_the_first_of_the_workspace_is_looked_for() -> None:
    spoken = {"spa": {make_uuid(2): {"text": ["Hola"]}}, "eng": {make_uuid(2): {"text": ["Hello"]}}}
    for language in ("eng", "spa"):
        known = {language: spoken[language]}
        played = play(node(0, say("Muraho")), language="kin", localization=known, contact={"language": ""})
        assert texts(played) == (["Hello"] if language == "eng" else ["Muraho"])
