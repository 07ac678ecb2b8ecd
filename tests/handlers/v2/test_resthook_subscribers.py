"""`/api/v2/resthook_subscribers.json` over HTTP."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from starlette.testclient import TestClient

from persistence.database import Database
from persistence.deliveries.outbox import count_deliveries
from persistence.resthooks import ensure_resthook, record_resthook_event
from persistence.tables.deliveries import FAILED, PENDING
from persistence.workspaces.records import Workspace
from tests.api import Api

PATH = "/api/v2/resthook_subscribers.json"
URL = "https://hooks.example.org/r/8k2"


@pytest.fixture(autouse=True)
def _resthooks(database: Database, workspace: Workspace) -> None:
    with database.writing() as tx:
        for slug in ("registration", "birth"):
            ensure_resthook(tx, workspace.id, slug)


def subscribe(api: Api, slug: str = "registration", url: str = URL) -> Any:
    return api.post(PATH, {"resthook": slug, "target_url": url})


class TestListSubscribers:
    def test_filters_by_id_and_slug_combine(self, api: Api) -> None:
        first, second = subscribe(api).json(), subscribe(api, "birth").json()

        assert api.results(PATH) == [second, first]
        assert api.results(PATH, id=first["id"]) == [first]
        assert api.results(PATH, resthook="birth") == [second]
        assert api.results(PATH, resthook="birth", id=first["id"]) == []
        assert api.results(PATH, resthook="nothing") == []


class TestCreateSubscriber:
    def test_a_new_subscriber_is_answered_with_its_record(self, api: Api) -> None:
        response = subscribe(api)

        record = response.json()
        assert response.status_code == 201
        assert record == {
            "id": record["id"],
            "resthook": "registration",
            "target_url": URL,
            "created_on": record["created_on"],
        }

    def test_the_same_address_may_be_called_for_two_resthooks_but_not_twice_for_one(self, api: Api) -> None:
        subscribe(api)

        assert subscribe(api, "birth").status_code == 201
        assert subscribe(api).json() == {"non_field_errors": ["This URL is already subscribed."]}

    def test_an_unknown_resthook_is_refused(self, api: Api, other_api: Api) -> None:
        assert list(subscribe(api, "nothing").json()) == ["resthook"]
        assert list(subscribe(other_api).json()) == ["resthook"]

    @pytest.mark.together
    @pytest.mark.parametrize(
        "url",
        [
            "",
            "ftp://hooks.example.org/",
            "https://",
            "hooks.example.org",
            "https://hooks.example.org/" + "x" * 2048,
            "https://user:secret@hooks.example.org/",
            "http://10.0.0.1/",
            "http://192.168.1.4:8000/r",
            "http://[::1]/",
            "http://169.254.169.254/latest",
            None,
        ],
    )
    def test_an_address_that_may_not_be_called_is_refused(self, api: Api, url: str) -> None:
        response = subscribe(api, url=url)

        assert (response.status_code, list(response.json())) == (400, ["target_url"])

    def test_addresses_of_an_allowed_network_are_taken(self, api: Api) -> None:
        assert subscribe(api, url="http://127.0.0.1:9000/r").status_code == 201

    def test_local_names_are_refused_unless_networks_are_allowed(
        self, api: Api, make_client: Callable[..., AbstractContextManager[TestClient]]
    ) -> None:
        with make_client(webhook_allowed_networks=()) as client:
            strict = Api(client, api.database, api.workspace, api.token)
            assert subscribe(strict, url="http://localhost:9000/r").status_code == 400
            assert subscribe(strict, url="http://127.0.0.1:9000/r").status_code == 400

        assert subscribe(api, url="http://localhost:9000/r").status_code == 201

    def test_the_longest_address_is_kept_whole(self, api: Api) -> None:
        url = "https://hooks.example.org/" + "x" * 2022

        assert subscribe(api, url=url).json()["target_url"] == url


class TestDeleteSubscriber:
    def test_a_deleted_subscriber_is_not_called_any_more(
        self, api: Api, database: Database, workspace: Workspace
    ) -> None:
        subscriber_id = subscribe(api).json()["id"]
        with database.writing() as tx:
            record_resthook_event(tx, workspace.id, "registration", {})

        assert api.delete(PATH, id=subscriber_id).status_code == 204

        with database.writing() as tx:
            assert record_resthook_event(tx, workspace.id, "registration", {}) == []
            ledger = count_deliveries(tx, workspace.id)
        assert {PENDING: ledger.pending, FAILED: ledger.failed} == {PENDING: 0, FAILED: 1}
        assert api.delete(PATH, id=subscriber_id).status_code == 404
        assert api.results(PATH) == []
