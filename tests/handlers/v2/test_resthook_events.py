"""`/api/v2/resthook_events.json` over HTTP."""

from typing import Any

from sqlalchemy import func, select

from persistence.database import Database
from persistence.resthooks import record_resthook_event, trim_resthook_events
from persistence.tables.deliveries import delivery, resthook_event
from persistence.workspaces.records import Workspace
from tests.api import Api

PATH = "/api/v2/resthook_events.json"
SUBSCRIBERS = "/api/v2/resthook_subscribers.json"
DATA: dict[str, Any] = {
    "flow": {"uuid": "c2a7b6f0-3f19-4d53-9f39-77a0f4a1a111", "name": "Registration"},
    "contact": {"uuid": "6d1f0a52-5f0e-4a4e-8d09-3d0c0a1f7b21", "name": "Amina", "urn": "tel:+254722000111"},
    "channel": None,
    "run": {"uuid": "0197a6e4-0000-7a2f-b1d1-2f4c5b6a7081", "created_on": "2026-03-02T08:09:00.000000Z"},
    "path": [],
    "results": {},
    "input": None,
}


def record(database: Database, workspace: Workspace, slug: str = "registration") -> list[str]:
    with database.writing() as tx:
        return record_resthook_event(tx, workspace.id, slug, DATA)


class TestListEvents:
    def test_events_come_newest_first_with_what_subscribers_got(
        self, api: Api, database: Database, workspace: Workspace
    ) -> None:
        record(database, workspace)
        record(database, workspace, "birth")

        records = api.results(PATH)

        assert [each["resthook"] for each in records] == ["birth", "registration"]
        assert records[0]["data"] == DATA

    def test_a_slug_filter_is_exact(self, api: Api, database: Database, workspace: Workspace) -> None:
        record(database, workspace)
        record(database, workspace, "birth")

        assert [each["resthook"] for each in api.results(PATH, resthook="birth")] == ["birth"]
        assert api.results(PATH, resthook="bir") == []

    def test_events_older_than_48_hours_are_not_shown_and_are_trimmed(
        self, api: Api, database: Database, workspace: Workspace, clock: Any
    ) -> None:
        record(database, workspace)
        clock.advance(hours=48)
        record(database, workspace, "birth")

        assert [each["resthook"] for each in api.results(PATH)] == ["birth"]
        with database.writing() as tx:
            assert trim_resthook_events(tx) == 1
            assert tx.execute(select(func.count()).select_from(resthook_event)).scalar_one() == 1


class TestRecording:
    def test_every_subscriber_gets_the_same_body(
        self, api: Api, database: Database, workspace: Workspace, woken: list[str]
    ) -> None:
        assert record(database, workspace) == []
        urls = [f"https://hooks.example.org/{number}" for number in range(2)]
        for url in urls:
            api.post(SUBSCRIBERS, {"resthook": "registration", "target_url": url})

        assert len(record(database, workspace)) == 2

        with database.reading() as tx:
            rows = tx.execute(select(delivery.c.url, delivery.c.body).order_by(delivery.c.id)).all()
        assert [row.url for row in rows] == urls
        assert len({row.body for row in rows}) == 1
        assert woken == ["webhooks"]
