"""`/api/v2/topics.json` over HTTP."""

import pytest

from persistence.database import Database
from persistence.topics import create_topic
from persistence.workspaces.records import Workspace
from tests.api import Api

PATH = "/api/v2/topics.json"


class TestListTopics:
    def test_every_workspace_has_the_topic_general(self, api: Api) -> None:
        (general,) = api.results(PATH)

        assert general == {
            "uuid": general["uuid"],
            "name": "General",
            "counts": {"open": 0, "closed": 0},
            "system": True,
            "created_on": general["created_on"],
        }

    def test_topics_come_newest_first(self, api: Api) -> None:
        for name in ("Billing", "Delivery"):
            api.post(PATH, {"name": name})

        assert [topic["name"] for topic in api.results(PATH)] == ["Delivery", "Billing", "General"]


class TestWriteTopic:
    def test_a_new_topic_is_answered_with_its_record(self, api: Api) -> None:
        response = api.post(PATH, {"name": " Billing "})

        assert response.status_code == 201
        assert (response.json()["name"], response.json()["system"]) == ("Billing", False)

    def test_a_topic_is_renamed_by_uuid(self, api: Api) -> None:
        uuid = api.post(PATH, {"name": "Billing"}).json()["uuid"]

        response = api.post(PATH, {"name": "Money"}, uuid=uuid)

        assert (response.status_code, response.json()["name"]) == (200, "Money")

    def test_the_topic_general_cannot_be_renamed(self, api: Api) -> None:
        (general,) = api.results(PATH)

        assert api.post(PATH, {"name": "Other"}, uuid=general["uuid"]).status_code == 403

    @pytest.mark.parametrize("name", ["", "  ", 'say "hi"', "x" * 65, None, "gENERAL"])
    def test_a_bad_or_taken_name_is_refused_by_field(self, api: Api, name: object) -> None:
        response = api.post(PATH, {"name": name})

        assert (response.status_code, list(response.json())) == (400, ["name"])

    def test_a_workspace_has_at_most_50_topics_of_its_own(
        self, api: Api, database: Database, workspace: Workspace
    ) -> None:
        with database.writing() as tx:
            for number in range(49):
                create_topic(tx, workspace.id, f"Topic {number}")

        assert api.post(PATH, {"name": "The fiftieth"}).status_code == 201
        assert api.post(PATH, {"name": "One more"}).status_code == 409
