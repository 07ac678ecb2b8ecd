"""Texts for contacts outside of runs: what is said to everybody alike, and what a template may look at."""

import pytest

from flows.engine import Assets, Contact
from flows.engine.contact_texts import ContactTexts, may_see, read_literal
from flows.environment import Environment, SystemClock
from flows.urns import Urn
from tests.flows.hypothesis.workspace import make_uuid


def test_addresses_that_are_none_are_left_out_wherever_they_stand() -> None:
    contact = Contact.from_json({"uuid": make_uuid(70), "urns": ["none", "tel:+12065551212", ":", "telegram:1234"]})

    assert [urn.identity for urn in contact.urns] == ["tel:+12065551212", "telegram:1234"]


@pytest.mark.parametrize(
    ("template", "literal"),
    [
        ("Hello", "Hello"),
        ("", ""),
        ("a@@b @ c@", "a@b @ c@"),
        ("help@example.org @results.age @trigger", "help@example.org @results.age @trigger"),
        ("@(1 + 1", "@(1 + 1"),
        ("@contact.name", None),
        ("@CONTACT", None),
        ("@@contact @urns", None),
        ("@globals.x", None),
        ("@(1 + 1)", None),
    ],
)
def test_a_template_without_expressions_says_the_same_to_everybody(template: str, literal: str | None) -> None:
    assert read_literal(template) == literal


@pytest.mark.parametrize(
    ("template", "is_seen"),
    [
        ("groups", False),
        ("@contact @contact.name @fields.age", False),
        ("groups of @contact.name", False),
        ("@(contact.name & contact . first_name)", False),
        ("@contact.groups", True),
        ("@Contact.GROUPS.0.name", True),
        ("@(count(contact.groups))", True),
        ('@(contact["gro" & "ups"])', True),
        ("@(json(contact))", True),
        ("@(((c) => c.name)(contact))", True),
        ("@(json( CONTACT ))", True),
    ],
)
def test_groups_are_seen_where_they_or_the_whole_contact_are_named(template: str, is_seen: bool) -> None:
    assert may_see(template, "group") is is_seen


def test_each_contact_is_written_to_under_its_own_settings() -> None:
    texts = ContactTexts(
        Assets(), Environment(timezone="Africa/Kigali", allowed_languages=("eng", "kin")), SystemClock()
    )
    here = Contact("1", 1, "Ann", "kin", urns=[Urn("tel", "+250788000111")], created_on="2026-03-02T22:30:00Z")
    there = Contact("2", 2, "Bo", "fra", timezone="Asia/Kathmandu", created_on="2026-03-02T22:30:00Z")
    template = '@contact: @(format_datetime(contact.created_on, "MMMM D tt:mm"))'

    assert texts.write(template, here) == "Ann: Werurwe 3 00:30"
    assert texts.write(template, there) == "Bo: March 3 04:15"


def test_a_ticket_of_a_contact_keeps_what_was_said_when_it_was_opened() -> None:
    ticket = {"uuid": make_uuid(71), "body": "Help"}
    contact = Contact.from_json({"uuid": make_uuid(70), "tickets": [ticket, {"uuid": make_uuid(72)}]})

    assert [(each.status, each.body) for each in contact.tickets] == [("open", "Help"), ("open", "")]
