"""Contacts as the engine has them: how they are stored, and by which channels they are written to."""

from dataclasses import asdict
from decimal import Decimal
from typing import Any

import pytest

from flows.engine import Assets, Contact
from flows.engine.contact import channel_uuid_of, find_channel, localize_environment, with_channel
from flows.environment import Environment
from flows.urns import Urn
from tests.flows.engine.playing import as_read
from tests.flows.hypothesis.workspace import make_uuid, refer

KIGALI = "tel:+250788000111"


def channels(*made: dict[str, Any]) -> Assets:
    """Channels that can send to phones, unless something else is said."""
    usual = {"address": "", "schemes": ["tel"], "roles": ["send", "receive"]}
    return Assets.from_json(as_read({"channels": [usual | each for each in made]}), 14)


def channel(number: int, **fields: Any) -> dict[str, Any]:
    return {"uuid": make_uuid(60, number), "name": str(number), **fields}


def name_of(urn: str, assets: Assets) -> str | None:
    found = find_channel(Contact.from_json({"uuid": "1", "urns": [urn]}).urns[0], assets)
    return None if found is None else found.name


def test_a_contact_of_whom_nothing_is_known_is_active_and_has_nothing() -> None:
    known = {"uuid": "1", "id": 0, "status": "active"}

    for contact in (Contact("1"), Contact.from_json({"uuid": "1"}), Contact.from_json({"uuid": "1", "status": ""})):
        assert {name: value for name, value in asdict(contact).items() if value not in ("", [], {})} == known
        assert contact.to_json() == {"uuid": "1", "status": "active"}


def test_a_contact_survives_its_stored_form() -> None:
    stored = {
        "uuid": "1",
        "id": 7,
        "name": "Ann",
        "language": "kin",
        "status": "blocked",
        "timezone": "Africa/Kigali",
        "created_on": "2026-03-02T08:00:00Z",
        "last_seen_on": "2026-03-02T09:00:00Z",
        "urns": [KIGALI],
        "groups": [{"uuid": "2", "name": "All"}, {"uuid": "3", "name": ""}],
        "fields": {"age": {"text": "27"}},
        "tickets": [{"uuid": "4", "status": "closed", "topic": refer("5"), "assignee": refer("6"), "body": "Help"}],
    }

    contact = Contact.from_json(as_read(stored))

    assert contact.to_json() == stored
    assert contact.open_tickets == [] and not contact.is_active
    assert Contact.from_json({**stored, "fields": {"age": None}}).fields == {}


@pytest.mark.parametrize(
    ("made", "found"),
    [
        ([], None),
        ([channel(1, schemes=["telegram"])], None),
        ([channel(1, roles=["receive"])], None),
        ([channel(1, country="UG")], None),
        ([channel(1, country="UG", allow_international=True)], "1"),
        ([channel(1)], "1"),
        ([channel(1, country="UG", address="+250788000"), channel(2, country="RW", address="1234")], "2"),
        ([channel(1, country="RW", address="1234"), channel(2, country="UG", address="+250788000")], "1"),
        ([channel(1, country="RW", address="+25078"), channel(2, country="RW", address="+250789")], "2"),
        ([channel(1, country="RW", address="1234"), channel(2, address="+250788000")], "2"),
        ([channel(1, country="RW", address="+25078"), channel(2, country="UG", allow_international=True)], "1"),
        ([channel(1, country="RW"), channel(2, country="UG", allow_international=True)], "2"),
        ([channel(1, country="RW", address="+25072"), channel(2, country="RW", address="250788")], "2"),
        ([channel(1, country="UG", address="+256"), channel(2, country="KE", address="+2507")], None),
        ([channel(1, country="RW", address="+25078"), channel(2, country="RW", match_prefixes=["+1", "+250788"])], "2"),
        ([channel(1, country="RW", address="1234"), channel(2, country="RW", address="5678")], "2"),
    ],
)  # fmt: skip
def test_a_number_goes_by_a_channel_of_its_country_or_one_that_serves_all_of_these_by_the_most_similar_and_last(
    made: list[dict[str, Any]], found: str | None
) -> None:
    assert name_of(KIGALI, channels(*made)) == found


def test_of_channels_for_anything_but_phones_the_first_is_taken() -> None:
    assets = channels(*(channel(number, schemes=["telegram"], address="12"[:number]) for number in (1, 2)))

    assert name_of("telegram:1234", assets) == "1"


def test_a_channel_that_a_contact_prefers_comes_first_if_it_can_send() -> None:
    made = [channel(1, country="RW"), channel(2, country="UG"), channel(3, roles=["receive"])]
    preferred = [f"{KIGALI}?channel={make_uuid(60, number)}" for number in (2, 3, 4)]

    assert [name_of(urn, channels(*made)) for urn in preferred] == ["2", "1", "1"]


def test_numbers_without_a_country_go_by_any_channel() -> None:
    assert [name_of(urn, channels(channel(1, country="RW"))) for urn in ("tel:8181", "tel:MTN")] == ["1", "1"]


@pytest.mark.parametrize(
    ("query", "uuid"),
    [
        ("", ""),
        ("channel=1a-2b", "1a-2b"),
        ("id=3&channel=1a", "1a"),
        ("channel=1a&id=3", "1a"),
        ("channel=", ""),
        ("channels=1a", ""),
        ("channel=%31a", "1a"),
    ],
)
def test_a_preferred_channel_is_part_of_a_urns_query(query: str, uuid: str) -> None:
    assert channel_uuid_of(Urn("tel", "+1", query)) == uuid


@pytest.mark.parametrize(
    ("query", "uuid", "expected"),
    [
        ("", "2b", "channel=2b"),
        ("id=3&channel=1a", "2b", "id=3&channel=2b"),
        ("id=3&channel=1a", "", "id=3"),
        ("", "", ""),
    ],
)
def test_a_channel_replaces_another_and_leaves_the_rest(query: str, uuid: str, expected: str) -> None:
    assert with_channel(Urn("tel", "+1", query), uuid) == Urn("tel", "+1", expected)


@pytest.mark.parametrize(
    ("urns", "country"),
    [
        (["telegram:1", KIGALI, "tel:+256772000111"], "RW"),
        (["tel:+800", KIGALI], "RW"),
        (["tel:+256772000111?channel=" + make_uuid(60, 1)], "KE"),
        (["telegram:1"], ""),
    ],
)
def test_a_contact_is_in_the_country_of_its_channel_or_else_of_its_first_number(urns: list[str], country: str) -> None:
    assets = channels(channel(1, country="KE", schemes=["fax"]))

    assert Contact.from_json({"uuid": "1", "urns": urns}).find_country(assets) == country


BASE = Environment(allowed_languages=("eng", "kin", "fra"), timezone="Africa/Kigali", default_country="UG")


@pytest.mark.parametrize(
    ("contact", "languages", "timezone", "country"),
    [
        ({}, ("eng", "kin", "fra"), "Africa/Kigali", "UG"),
        ({"language": "fra"}, ("fra", "eng", "kin"), "Africa/Kigali", "UG"),
        ({"language": "spa"}, ("eng", "kin", "fra"), "Africa/Kigali", "UG"),
        ({"timezone": "Asia/Kathmandu"}, ("eng", "kin", "fra"), "Asia/Kathmandu", "UG"),
        ({"timezone": "Nowhere"}, ("eng", "kin", "fra"), "Africa/Kigali", "UG"),
        ({"urns": [KIGALI]}, ("eng", "kin", "fra"), "Africa/Kigali", "RW"),
    ],
)
def test_a_contacts_own_settings_come_before_those_of_the_workspace(
    contact: dict[str, Any], languages: tuple[str, ...], timezone: str, country: str
) -> None:
    found = localize_environment(BASE, Contact.from_json({"uuid": "1", **contact}), Assets())

    assert (found.allowed_languages, found.timezone, found.default_country) == (languages, timezone, country)
    assert (found is BASE) is (found == BASE)


def test_a_stored_number_that_is_none_is_no_number() -> None:
    fields = {"age": {"text": "old", "number": "many"}, "size": {"text": "big", "number": "7.50"}}
    person = Contact.from_json({"uuid": "u", "fields": fields})

    assert [person.fields[key].number for key in fields] == [None, Decimal("7.50")]
