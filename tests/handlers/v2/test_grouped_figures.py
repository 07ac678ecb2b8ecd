"""`/api/v2/figures.json`: what happened by agent, topic, label, channel or day."""

import csv
import io
import math
import random
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import insert, select

from persistence.channels.event_form import Source
from persistence.database import Database
from persistence.figures import grouped
from persistence.relayers.commands import DeliveryReport
from persistence.relayers.reports import record_delivery_reports
from persistence.sql.columns import new_uuid
from persistence.tables.channels import channel
from persistence.tables.contacts import ticket
from persistence.tables.messages import message
from persistence.tickets.topics import find_default_topic
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.channel_rows import add_channel
from tests.factories import id_of, make_contact, make_contacts, make_messages
from tests.run_rows import uuid_of

FIGURES = "/api/v2/figures.json"
TICKETS = "/api/v2/tickets.json"
ACTIONS = "/api/v2/ticket_actions.json"
NUMBER = "+250788000111"


def open_ticket(api: Api, contact: str, **values: Any) -> str:
    opened = api.post(TICKETS, {"contact": contact, **values})
    assert opened.status_code == 201, opened.text
    return str(opened.json()["uuid"])


def told(api: Api, by: str, *names: str, **query: Any) -> dict[str | None, tuple[Any, ...]]:
    found = api.get(FIGURES, by=by, **query).json()
    return {row["key"]: tuple(row[name] for name in names) for row in [*found["rows"], found["total"] | {"key": "*"}]}


def test_tickets_and_messages_are_those_of_the_agent_who_has_taken_and_written_them(
    api: Api, database: Database, workspace: Workspace, clock: Any
) -> None:
    agent = api.as_role("agent")
    email = next(each["email"] for each in api.results("/api/v2/users.json") if each["role"] == "agent")
    add_channel(database, workspace)
    amina, bosco = make_contact(database, workspace, NUMBER), make_contact(database, workspace)
    first = open_ticket(api, amina, assignee=email)
    open_ticket(api, bosco)
    clock.advance(seconds=60)
    assert agent.post("/api/v2/messages.json", {"contact": amina, "text": "Hello"}).status_code == 201
    clock.advance(seconds=30)
    assert agent.post(ACTIONS, {"action": "close", "tickets": [first]}).status_code == 204
    again = agent.post(ACTIONS, {"action": "assign", "tickets": [first], "assignee": email})
    assert again.json()["failures"] == [first]  # it is theirs already, so they have taken it once

    counts = ("tickets_taken", "tickets_opened", "tickets_replied", "tickets_closed", "tickets_open", "messages_out")
    assert told(api, "agent", *counts) == {
        email: (1, 1, 1, 1, 0, 1),
        None: (0, 1, 0, 0, 1, 0),
        "*": (1, 2, 1, 1, 1, 1),
    }
    times = ("first_reply_seconds", "closing_seconds", "open_seconds")
    assert told(api, "agent", *times) == {email: (60, 90, None), None: (None, None, 90), "*": (60, 90, 90)}
    (general,) = api.get(FIGURES, by="topic").json()["rows"]
    assert (general["name"], general["tickets_opened"], general["messages_out"]) == ("General", 2, None)
    assert told(api, "team", "tickets_opened") == {None: (2,), "*": (2,)}
    team = api.post("/api/v2/teams.json", {"name": "Nurses", "topics": [general["key"]]}).json()["uuid"]
    assert told(api, "team", "tickets_opened") == {team: (2,), "*": (2,)}


def percentile(values: list[float], percent: int) -> int | None:
    return round(sorted(values)[math.ceil(len(values) * percent / 100) - 1]) if values else None


def test_medians_and_percentiles_are_exact_in_each_row_and_together(
    api: Api, database: Database, workspace: Workspace, other_workspace: Workspace, clock: Any
) -> None:
    chance = random.Random(7)
    make_contacts(database, workspace, 1)
    known = api.results("/api/v2/contacts.json")[0]["uuid"]
    contact_id = id_of(database, known)
    rows: list[dict[str, Any]] = []
    waits: dict[str, list[float]] = {}
    with database.writing() as tx:
        topic_id, now = find_default_topic(tx, workspace.id), tx.now
        for number in range(101):
            opened = now - timedelta(seconds=chance.randrange(86_400 * 5))
            seconds = None if number % 7 == 0 else float(chance.randrange(1, 90_000))
            shared = {"workspace_id": workspace.id, "contact_id": contact_id, "topic_id": topic_id, "status": "closed"}
            times = {"opened_on": opened, "modified_on": opened, "closed_on": opened + timedelta(minutes=1)}
            replied = None if seconds is None else opened + timedelta(seconds=seconds)
            rows.append({**shared, **times, "uuid": new_uuid(), "replied_on": replied})
            waits.setdefault(opened.date().isoformat(), []).extend([] if seconds is None else [seconds])
        tx.execute(insert(ticket), rows)

    found = told(api, "day", "first_reply_seconds", "first_reply_p90_seconds", after=str(now.date() - timedelta(5)))

    everything = [seconds for some in waits.values() for seconds in some]
    expected = {day: (percentile(some, 50), percentile(some, 90)) for day, some in (waits | {"*": everything}).items()}
    assert {day: found[day] for day in expected} == expected
    assert api.get(FIGURES, by="day").json()["is_exact"]


def test_a_message_is_delivered_or_failed_once_on_the_day_on_which_it_was_written(
    api: Api, database: Database, workspace: Workspace, clock: Any
) -> None:
    phone = add_channel(database, workspace, segment_cost=7500)
    amina = make_contact(database, workspace, NUMBER)
    for text in ("a" * 161, "b", "c", "d"):
        assert api.post("/api/v2/messages.json", {"contact": amina, "text": text}).status_code == 201
    with database.reading() as tx:
        sent = list(tx.execute(select(message.c.id).order_by(message.c.id)).scalars())
    written, source = clock.moment.date(), Source(phone, uuid_of(database, channel, phone), workspace.id, None, None)
    clock.advance(days=1)

    def report(kind: str, *numbers: int) -> None:
        clock.advance(seconds=1)
        with database.writing() as tx:
            record_delivery_reports(tx, source, [DeliveryReport(kind, sent[each], clock.moment) for each in numbers])

    report("mt_dlvd", 0, 1)
    report("mt_fail", 2, 3)
    report("mt_read", 0)
    report("mt_read", 0)
    report("mt_fail", 2)
    report("mt_dlvd", 3)  # a failure was undone

    counts = ("messages_out", "delivered", "failed", "delivery_rate", "segments_out", "cost_out")
    expected = (4, 3, 1, 0.75, 5, 0.0375)
    assert told(api, "channel", *counts) == {uuid_of(database, channel, phone): expected, "*": expected}
    day = told(api, "day", *counts)
    assert day[written.isoformat()] == expected and day[clock.moment.date().isoformat()] == (0, 0, 0, None, 0, 0)


def test_messages_that_fail_at_once_or_wait_in_vain_have_failed(
    api: Api, database: Database, workspace: Workspace
) -> None:
    nobody, amina = make_contact(database, workspace), make_contact(database, workspace, NUMBER)
    api.post("/api/v2/messages.json", {"contact": nobody, "text": "No address"})
    channel_id = add_channel(database, workspace)
    api.post("/api/v2/messages.json", {"contact": amina, "text": "Waits"})
    assert api.post("/api/v2/contact_actions.json", {"action": "block", "contacts": [amina]}).status_code == 204

    names = ("messages_out", "failed")
    assert told(api, "channel", *names) == {uuid_of(database, channel, channel_id): (1, 1), None: (1, 1), "*": (2, 2)}


def test_a_label_has_messages_and_a_file_is_named_and_defused(
    api: Api, database: Database, workspace: Workspace, clock: Any
) -> None:
    amina = make_contact(database, workspace, NUMBER)
    messages = make_messages(database, workspace, amina, 3)
    body = {"messages": messages[:2], "action": "label", "label_name": "=Urgent"}
    assert api.post("/api/v2/message_actions.json", body).status_code == 204
    today = clock.moment.date()

    answer = api.get(FIGURES, by="label", format="csv")

    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    name = f"label-{today - timedelta(days=29)}-{today}.csv"
    assert answer.headers["content-disposition"] == f'attachment; filename="{name}"'
    head, (_, called, count), total = csv.reader(io.StringIO(answer.content.decode("utf-8-sig")))
    assert head == ["key", "name", "messages_in"] and (called, count) == ("'=Urgent", "2")
    assert total == ["total", "", "2"]
    assert api.get(FIGURES, by="label", before=str(today - timedelta(days=1))).json()["total"]["messages_in"] == 0


def test_what_is_gone_is_counted_with_what_is_nobodys(
    api: Api, database: Database, workspace: Workspace, other_workspace: Workspace
) -> None:
    """And other workspaces count for themselves."""
    amina, strange = make_contact(database, workspace, NUMBER), make_contact(database, other_workspace, NUMBER)
    make_messages(database, workspace, amina, channel_id=add_channel(database, workspace))
    make_messages(database, other_workspace, strange, channel_id=add_channel(database, other_workspace))
    make_messages(database, workspace, amina)

    rows = api.get(FIGURES, by="channel").json()

    assert [(row["name"], row["messages_in"]) for row in rows["rows"]] == [("Front desk", 1), (None, 1)]
    assert rows["total"]["messages_in"] == 2


def test_more_tickets_than_are_looked_at_are_told(
    api: Api, database: Database, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grouped, "MOST_TICKETS", 1)
    open_ticket(api, make_contact(database, workspace))

    assert api.get(FIGURES, by="topic").json()["is_exact"] is False


@pytest.mark.together
@pytest.mark.parametrize(
    "query",
    [
        {"after": "2026-03-02", "before": "2026-03-01"},
        {"after": "2025-01-01", "before": "2026-03-01"},
        {"after": "2026-02-30", "before": "2026-03-01"},
        {"by": "contact"},
        {"format": "xlsx"},
    ],
)
def test_the_days_are_bounded(api: Api, query: dict[str, str]) -> None:
    assert api.get(FIGURES, **query).status_code == 400


def test_who_sees_figures_by_what(api: Api) -> None:
    limited = api.limited_to("administration")

    statuses = {by: limited.get(FIGURES, by=by).status_code for by in grouped.COLUMNS}
    assert statuses == {"agent": 200, "day": 200, "team": 403, "topic": 403, "label": 403, "channel": 403}
    assert api.limited_to("administration", "tickets").get(FIGURES, by="topic").status_code == 200
    assert api.as_role("agent").get(FIGURES, by="agent").status_code == 403
    assert len(api.get(FIGURES, by="day", after="2024-01-01", before="2024-12-31").json()["rows"]) == 366
