"""The search for words in `/api/v2/messages.json`: what it finds, and what keeps it true."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import delete, select, update
from starlette.testclient import TestClient

from persistence.database import Database
from persistence.tables.channels import channel as channels
from persistence.tables.flows import flow as flows
from persistence.tables.messages import message
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.campaign_rows import make_flow
from tests.channel_rows import add_channel
from tests.factories import make_contact, make_messages

PATH, MATCHES = "/api/v2/messages.json", "/api/v2/message_matches.json"
MOMENT = datetime(2026, 3, 1, 10, 0, tzinfo=UTC)
TEXTS = (
    "Is the Clinic open on Monday?",
    "Où est la CLINIQUE, s'il vous plaît",
    "متى تفتح العِيادة يوم الاثنين؟",
    "診療所は月曜日に開いていますか",
    "คลินิกเปิดวันจันทร์ไหม",
    "हमें कार्ड लाना है।",
    "card nr. 12345: ok",
    "open-air cinema 😀",
)


@pytest.fixture
def contact(database: Database, workspace: Workspace) -> str:
    return make_contact(database, workspace, "+250788000111")


@pytest.fixture
def written(database: Database, workspace: Workspace, contact: str) -> list[int]:
    return write(database, workspace, contact, *TEXTS)


def write(database: Database, workspace: Workspace, contact: str, *texts: str, **values: Any) -> list[int]:
    return [
        make_messages(database, workspace, contact, text=text, created_on=MOMENT + timedelta(hours=hour), **values)[0]
        for hour, text in enumerate(texts)
    ]


def found(api: Api, search: str, **query: Any) -> list[str]:
    return [one["text"] for one in api.results(PATH, search=search, **query)]


@pytest.mark.together
@pytest.mark.parametrize(
    ("search", "places"),
    [
        ("clinic", [0]),
        ("clin", [1, 0]),
        ("MONDAY clinic", [0]),
        ("clin monday", []),
        ("ou est", [1]),
        ("où plait", [1]),
        ("العيادة", [2]),
        ("月曜日", [3]),
        ("開", [3]),
        ("曜診", []),
        ("診療 開い", [3]),
        ("เปิดวัน", [4]),
        ("เปิด คลินิก", [4]),
        ("कार्", [5]),
        ("१२३", [6]),
        ("123", [6]),
        ("ok", [6]),
        ("op", []),
        ("open", [7, 0]),
        ("air open", [7]),
        ("?! 😀", []),
        ('clinic\' OR "monday" & * : ( |', [0]),
    ],
)
def test_messages_with_all_words_are_found_the_newest_first(
    api: Api, written: list[int], search: str, places: list[int]
) -> None:
    expected = [TEXTS[place] for place in places]
    if search.endswith("|"):  # `OR` is a word as any other
        expected = []

    assert found(api, search) == expected


def test_those_who_answer_find_messages_by_their_words_and_nothing_else(
    api: Api, database: Database, workspace: Workspace, contact: str
) -> None:
    write(database, workspace, contact, *TEXTS)
    other = make_contact(database, workspace, "+250788000112")
    write(database, workspace, other, "clinic of another")
    agent = api.as_role("agent")

    assert [one["text"] for one in agent.results(MATCHES, search="clinic")] == ["clinic of another", TEXTS[0]]
    assert [one["text"] for one in agent.results(MATCHES, search="clinic", contact=other)] == ["clinic of another"]
    assert agent.results(MATCHES, search="clinic", after="2026-03-02T00:00:00Z") == []
    assert [agent.get(MATCHES).status_code, agent.get(PATH, search="clinic").status_code] == [400, 403]


def test_a_long_word_is_found_by_its_beginning(
    api: Api, database: Database, workspace: Workspace, contact: str
) -> None:
    write(database, workspace, contact, "a" * 9_000)

    assert len(found(api, "a" * 200)) == len(found(api, "aaa")) == 1


def test_a_search_combines_with_the_other_filters(
    api: Api, database: Database, workspace: Workspace, contact: str
) -> None:
    channel_id, flow = add_channel(database, workspace, name="One"), make_flow(database, workspace, "Booking")
    with database.reading() as tx:
        flow_id = tx.execute(select(flows.c.id).where(flows.c.uuid == flow)).scalar_one()
        channel = tx.execute(select(channels.c.uuid).where(channels.c.id == channel_id)).scalar_one()
    for values in ({"channel_id": channel_id}, {"flow_id": flow_id}):
        write(database, workspace, contact, "one clinic", "two clinics", "none", **values)
    write(database, workspace, contact, "clinic out", direction="out", status="sent", sent_on=MOMENT)

    assert found(api, "clinic", channel=channel) == ["two clinics", "one clinic"]
    assert found(api, "clinic", flow=flow, folder="flows") == ["two clinics", "one clinic"]
    assert found(api, "clinic", folder="sent") == ["clinic out"]
    assert found(api, "clinic", channel=channel, after="2026-03-01T11:00:00Z") == ["two clinics"]
    assert found(api, "clinic", channel=channel, before="2026-03-01T10:30:00Z") == ["one clinic"]
    assert found(api, "clinic", contact=contact, label="unknown") == []


def test_labelled_messages_are_found(api: Api, database: Database, workspace: Workspace, contact: str) -> None:
    ids = write(database, workspace, contact, "one clinic", "two clinics")
    api.post("/api/v2/message_actions.json", {"messages": ids[:1], "action": "label", "label_name": "Kept"})

    assert found(api, "clinic", label="Kept") == ["one clinic"]


def test_what_is_deleted_erased_or_gone_is_not_found(
    api: Api, database: Database, workspace: Workspace, contact: str
) -> None:
    ids = write(database, workspace, contact, "first clinic", "second clinic", "third clinic", "fourth clinic")

    api.post("/api/v2/message_actions.json", {"messages": ids[:1], "action": "delete"})
    with database.writing() as tx:
        tx.execute(update(message).where(message.c.id == ids[1]).values(text="corrected"))
        tx.execute(delete(message).where(message.c.id == ids[2]))

    assert found(api, "clinic") == ["fourth clinic"]
    assert found(api, "corrected") == ["corrected"]
    assert found(api, "first", id=ids[0]) == []


def test_pages_of_a_search_follow_each_other(
    api: Api,
    database: Database,
    workspace: Workspace,
    contact: str,
    make_client: Callable[..., AbstractContextManager[TestClient]],
) -> None:
    texts = [f"clinic {number}" for number in range(12)]
    write(database, workspace, contact, *texts)
    with make_client(page_size=5) as client:
        paged = Api(client, database, workspace, api.token)

        assert [one["text"] for one in paged.all_results(PATH, search="clinic")] == texts[::-1]


@pytest.mark.parametrize("few", [0, 10_000])
def test_words_of_many_messages_are_found_in_the_order_of_the_list(
    api: Api,
    database: Database,
    workspace: Workspace,
    contact: str,
    few: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("persistence.messages.search.FEW", few)
    write(database, workspace, contact, *TEXTS)

    assert found(api, "open") == [TEXTS[7], TEXTS[0]]
    assert found(api, "open", before="2026-03-01T11:00:00Z") == [TEXTS[0]]
