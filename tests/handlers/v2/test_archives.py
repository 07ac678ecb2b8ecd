"""`/api/v2/archives.json` over HTTP, and the addresses of its files."""

from datetime import date
from typing import Any
from urllib.parse import urlsplit

import pytest
from sqlalchemy import insert

from persistence.database import Database
from persistence.media.store import open_store
from persistence.tables.service import archive
from persistence.workspaces.records import Workspace
from relayboard.base.settings import Settings
from testbed.tokens import SECRET_KEY
from tests.api import Api

PATH = "/api/v2/archives.json"


def add(database: Database, workspace: Workspace, start: date, **values: Any) -> str:
    """An archive with a file; the file's place in the store."""
    location = f"archives/{workspace.uuid}/{start}-message-1.jsonl.gz"
    row = {
        "workspace_id": workspace.id,
        "archive_type": "message",
        "period": "daily",
        "start_date": start,
        "record_count": 1,
        "size": 7,
        "hash": "0f3b1c9e77aa4d2c8b5e6f1029384756",
        "location": location,
    }
    with database.writing() as tx:
        tx.execute(insert(archive).values({**row, "is_trimmed": True, "created_on": tx.now, **values}))
    return location


def starts(records: list[dict[str, Any]]) -> list[str]:
    return [record["start_date"] for record in records]


class TestListArchives:
    def test_the_newest_period_comes_first_and_filters_combine(
        self, api: Api, database: Database, workspace: Workspace
    ) -> None:
        add(database, workspace, date(2025, 11, 2))
        add(database, workspace, date(2025, 11, 3), archive_type="run")
        add(database, workspace, date(2025, 11, 1), period="monthly")

        assert starts(api.results(PATH)) == ["2025-11-03", "2025-11-02", "2025-11-01"]
        assert starts(api.results(PATH, archive_type="run")) == ["2025-11-03"]
        assert starts(api.results(PATH, type="message")) == ["2025-11-02", "2025-11-01"]
        assert starts(api.results(PATH, period="monthly")) == ["2025-11-01"]
        assert starts(api.results(PATH, type="message", period="daily")) == ["2025-11-02"]

    @pytest.mark.together
    @pytest.mark.parametrize(
        "query", [{"archive_type": "call"}, {"period": "weekly"}, {"type": "run", "archive_type": "message"}]
    )
    def test_unknown_words_find_nothing(
        self, api: Api, database: Database, workspace: Workspace, query: dict[str, str]
    ) -> None:
        assert api.results(PATH) or add(database, workspace, date(2025, 11, 2))

        assert api.results(PATH, **query) == []

    def test_before_and_after_compare_the_start_inclusively(
        self, api: Api, database: Database, workspace: Workspace
    ) -> None:
        for day in (1, 2, 3):
            add(database, workspace, date(2025, 11, day))

        assert starts(api.results(PATH, before="2025-11-02")) == ["2025-11-02", "2025-11-01"]
        assert starts(api.results(PATH, after="2025-11-02")) == ["2025-11-03", "2025-11-02"]
        assert starts(api.results(PATH, after="2025-11-02T00:00:01")) == ["2025-11-03"]
        assert starts(api.results(PATH, after="2025-11-02", before="2025-11-02T12:00")) == ["2025-11-02"]

    def test_bounds_at_the_ends_of_the_calendar_are_kept(
        self, api: Api, database: Database, workspace: Workspace
    ) -> None:
        add(database, workspace, date(2025, 11, 2))

        assert starts(api.results(PATH, after="0001-01-01", before="9999-12-31T23:59:59.999999")) == ["2025-11-02"]
        assert starts(api.results(PATH, after="9999-12-31T23:59:59.999999")) == []

    def test_the_archives_of_another_workspace_are_not_seen(
        self, api: Api, database: Database, other_workspace: Workspace
    ) -> None:
        add(database, other_workspace, date(2025, 11, 2))

        assert api.results(PATH) == []


class TestDownload:
    @pytest.fixture
    def address(self, api: Api, database: Database, workspace: Workspace, settings: Settings) -> str:
        """Path and query of a download address."""
        location = add(database, workspace, date(2025, 11, 2))
        with open_store(settings).writing(location) as file:
            file.write(b"content")
        parts = urlsplit(api.results(PATH)[0]["download_url"])
        return f"{parts.path}?{parts.query}"

    def test_a_signed_address_gives_the_file_to_anybody(self, api: Api, address: str) -> None:
        assert api.client.get(address).content == b"content"

    def test_an_address_works_for_24_hours(self, api: Api, address: str, clock: Any) -> None:
        clock.advance(hours=23, minutes=59)
        assert api.client.get(address).status_code == 200

        clock.advance(minutes=2)
        assert api.client.get(address).status_code == 404

    def test_an_address_outlives_a_change_of_the_secret_key(self, address: str, make_client: Any) -> None:
        with make_client(secret_key="the-key-of-this-year") as changed:
            assert changed.get(address).status_code == 404
        with make_client(secret_key="the-key-of-this-year", secret_key_fallbacks=(SECRET_KEY,)) as changing:
            assert changing.get(address).status_code == 200

    @pytest.mark.together
    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ("sig=", "sig=0"),
            ("expires=", "expires=9"),
            ("2025-11-02", "2025-11-03"),
            ("sig=", "x="),
            ("expires=", "x="),
        ],
    )
    def test_an_address_that_was_changed_gives_nothing(self, api: Api, address: str, old: str, new: str) -> None:
        assert api.client.get(address.replace(old, new)).status_code == 404

    def test_files_can_only_be_read(self, api: Api, address: str) -> None:
        assert api.client.post(address).status_code == 405
