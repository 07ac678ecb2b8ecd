"""The terms of a channel: what segments cost, transliteration, sending hours, and the budget of a day."""

from collections.abc import Callable
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import select, update

from persistence.channels.gateway_leases import list_due_gateways
from persistence.messages.actions import fail_old_messages
from persistence.messages.incoming import ANEW, NEUTRAL
from persistence.messages.outgoing import Draft, create_outgoing
from persistence.sessions.replies import FlowMessage, send_replies
from persistence.tables.accounts import workspace as workspaces
from persistence.tables.messages import message
from relayboard.phone.phone import Phone
from testbed.gateways import add_gateway
from tests.api import Api
from tests.conftest import Clock
from tests.factories import id_of
from tests.phones import claimed_phone

SETTINGS, MESSAGES = "/api/v2/channel_settings.json", "/api/v2/messages.json"
NUMBER = "+250788000111"
SEGMENT = "a" * 150
KIGALI = "Africa/Kigali"
OPENING = "2026-03-02T14:00"
"""By the clock of Kigali, where tests begin at ten o'clock."""


@pytest.fixture
def phone(api: Api) -> Phone:
    with api.database.writing() as tx:
        tx.execute(update(workspaces).values(timezone=KIGALI))
    return claimed_phone(api)


@pytest.fixture
def contact(api: Api, phone: Phone) -> str:
    uuid: str = api.post("/api/v2/contacts.json", {"urns": [f"tel:{NUMBER}"]}).json()["uuid"]
    return uuid


Change = Callable[..., dict[str, Any]]


@pytest.fixture
def change(api: Api, phone: Phone) -> Change:
    """Changes the settings of the phone."""
    uuid = api.results("/api/v2/channels.json")[0]["uuid"]

    def send(**values: Any) -> dict[str, Any]:
        answer = api.post(SETTINGS, values, uuid=uuid)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    return send


def send_automatic(api: Api, contact: str, count: int = 1, automatic: int = NEUTRAL, text: str = SEGMENT) -> list[Any]:
    """What became of automatic messages: their records, oldest first."""
    with api.database.writing() as tx:
        drafts = [Draft(id_of(api.database, contact), text, automatic=automatic, is_bulk=True)] * count
        ids = create_outgoing(tx, api.workspace.id, drafts)
    known = {each["id"]: each for each in api.results(MESSAGES)}
    return [known[number] for number in ids]


def when(record: dict[str, Any]) -> tuple[str | None, str | None]:
    """When a message is due, by the clock of the workspace, and why so late."""
    due_on, reason = record["due_on"], record["due_reason"]
    if due_on is None:
        return None, reason
    return f"{datetime.fromisoformat(due_on).astimezone(ZoneInfo(KIGALI)):%Y-%m-%dT%H:%M}", reason


def test_terms_are_set_told_and_removed(api: Api, change: Change) -> None:
    terms = {"transliterate": True, "cost_per_segment": 0.0075, "sending_hours": "Mon-Fri  08:00-18:00"}
    terms |= {"automatic_per_day": 500}

    told = change(**terms)

    assert {name: told[name] for name in terms} == terms | {"sending_hours": "mon-fri 08:00-18:00"}
    assert [{name: each[name] for name in terms} for each in api.results(SETTINGS)] == [
        {name: told[name] for name in terms}
    ]
    removed = change(transliterate=False, cost_per_segment=None, sending_hours=None, automatic_per_day=None)
    assert [removed[name] for name in terms] == [False, None, None, None]


@pytest.mark.together
@pytest.mark.parametrize(
    "values",
    [
        {"sending_hours": "always"},
        {"sending_hours": "mon 18:00-08:00"},
        {"cost_per_segment": 0.00000012},
        {"cost_per_segment": -1},
        {"automatic_per_day": -1},
        {"automatic_per_day": 1.5},
        {"transliterate": None},
    ],
)
def test_what_is_no_term_is_refused_and_changes_nothing(api: Api, change: Change, values: dict[str, Any]) -> None:
    before = change(name="Phone", cost_per_segment=1)
    uuid = before["uuid"]

    assert api.post(SETTINGS, values | {"name": "Other"}, uuid=uuid).status_code == 400

    (after,) = api.results(SETTINGS)
    assert (after["name"], after["cost_per_segment"]) == ("Phone", 1)


def test_texts_are_transliterated_as_they_are_sent_and_counted_so(
    api: Api, phone: Phone, contact: str, change: Change
) -> None:
    change(transliterate=True)
    told = [api.post(MESSAGES, {"contact": contact, "text": text}).json() for text in ("ç" * 71, "“Где?”" * 12)]

    phone.sync()

    assert [(each["text"][0], each["segments"]) for each in told] == [("ç", 1), ("“", 2)]
    assert sorted(each.text for each in phone.state.messages.values()) == ["c" * 71, "“Где?”" * 12]


def test_costs_add_up_by_day_and_channel_at_the_cost_of_their_time(api: Api, contact: str, change: Change) -> None:
    change(cost_per_segment=0.1)
    for count in (1, 2):
        api.post(MESSAGES, {"contact": contact, "text": "a" * 150 * count})
    change(cost_per_segment=0.000001)
    api.post(MESSAGES, {"contact": contact, "text": "a"})

    found = api.get("/api/v2/workspace_figures.json", days=1).json()

    assert [each["cost_out"] for each in found["days"]] == [0.300001]
    assert [each["cost_out"] for each in found["channels"][0]["days"]] == [0.300001]


def test_what_nobody_waits_for_is_sent_within_the_hours(
    api: Api, phone: Phone, contact: str, change: Change, clock: Clock
) -> None:
    change(sending_hours="mon-fri 14:00-18:00")

    (waiting,) = send_automatic(api, contact)
    (answer,) = send_automatic(api, contact, automatic=ANEW)
    by_person = api.post(MESSAGES, {"contact": contact, "text": "Hello"}).json()

    assert [when(each) for each in (waiting, answer, by_person)] == [(OPENING, "hours"), (None, None), (None, None)]
    phone.sync()
    assert waiting["id"] not in phone.state.messages
    assert {answer["id"], by_person["id"]} <= phone.state.messages.keys()
    clock.advance(hours=4, minutes=1)
    phone.sync()
    assert waiting["id"] in phone.state.messages
    assert when(send_automatic(api, contact)[0]) == (None, None)


def test_a_gateway_gets_within_the_hours_what_waited_for_them(api: Api, clock: Clock) -> None:
    gateway = add_gateway(api.database, api.workspace, "http://127.0.0.1:1/")
    uuid = api.results("/api/v2/channels.json")[0]["uuid"]
    contact = api.post("/api/v2/contacts.json", {"urns": [f"tel:{NUMBER}"]}).json()["uuid"]
    assert api.post(SETTINGS, {"sending_hours": "mon-sun 12:00-13:00"}, uuid=uuid).status_code == 200
    send_automatic(api, contact)
    due: list[list[tuple[int, int]]] = []
    for hours in (0, 5):
        clock.advance(hours=hours)
        with api.database.reading() as tx:
            due.append(list_due_gateways(tx))

    assert due == [[], [(api.workspace.id, gateway)]]


def test_what_is_beyond_the_budget_of_a_day_waits_for_the_next_and_fails_after_three(
    api: Api, contact: str, change: Change, clock: Clock
) -> None:
    change(automatic_per_day=2, sending_hours="mon,tue,thu-sun 08:00-18:00")

    made = send_automatic(api, contact, 9)

    late = ["2026-03-03T08:00", "2026-03-05T08:00", "2026-03-06T08:00"]
    assert [when(each) for each in made] == [(None, None)] * 2 + [(day, "budget") for day in late for _ in range(2)] + [
        (None, None)
    ]
    assert [(each["status"], each["failed_reason"]) for each in made] == [("queued", None)] * 8 + [
        ("failed", "over_budget")
    ]
    person = api.post(MESSAGES, {"contact": contact, "text": "Hello"}).json()
    assert (person["status"], when(person)) == ("queued", (None, None))
    (answer,) = send_automatic(api, contact, automatic=ANEW)
    assert answer["failed_reason"] == "over_budget", "answers of flows are automatic too"
    clock.advance(days=3)
    assert when(send_automatic(api, contact)[0]) == ("2026-03-07T08:00", "budget")


def test_a_long_message_takes_several_segments_of_the_budget(api: Api, contact: str, change: Change) -> None:
    change(automatic_per_day=3)

    made = [*send_automatic(api, contact, text="a" * 300), *send_automatic(api, contact, text="a" * 300)]
    made += send_automatic(api, contact, text="a")

    assert [when(each) for each in made] == [(None, None), ("2026-03-03T00:00", "budget"), (None, None)]


def test_messages_of_flows_wait_as_others_do(api: Api, contact: str, change: Change) -> None:
    uuid = change(sending_hours="mon-fri 14:00-18:00", transliterate=True)["uuid"]
    content = {"text": "ç" * 71, "urn": f"tel:{NUMBER}", "channel": {"uuid": uuid}}
    kinds = (NEUTRAL, ANEW)

    with api.database.writing() as tx:
        contact_id = id_of(api.database, contact)
        send_replies(tx, api.workspace.id, [FlowMessage(contact_id, None, content, automatic=each) for each in kinds])

    made = sorted(api.results(MESSAGES), key=lambda each: int(each["id"]))
    assert [(when(each)[1], each["segments"]) for each in made] == [("hours", 1), (None, 1)]


def test_a_message_that_waits_for_its_hours_is_not_too_old(
    api: Api, contact: str, change: Change, clock: Clock
) -> None:
    change(sending_hours="mon 09:00-09:30")
    (waiting,) = send_automatic(api, contact)
    assert when(waiting) == ("2026-03-09T09:00", "hours")
    clock.advance(days=8)

    with api.database.writing() as tx:
        fail_old_messages(tx)
        assert tx.execute(select(message.c.status)).scalars().all() == ["queued"]
