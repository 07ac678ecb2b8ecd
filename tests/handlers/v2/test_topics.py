"""`/api/v2/topics.json` over HTTP."""

import pytest

from persistence.database import Database
from persistence.tickets.topics import create_topic
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.factories import make_contact

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

    @pytest.mark.together
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


class TestDeleteTopic:
    def test_a_topic_without_tickets_is_deleted(self, api: Api) -> None:
        uuid = api.post(PATH, {"name": "Billing"}).json()["uuid"]

        assert [api.delete(PATH, uuid=uuid.upper()).status_code for _ in range(2)] == [204, 404]
        assert [topic["name"] for topic in api.results(PATH)] == ["General"]

    def test_the_topic_general_stays(self, api: Api) -> None:
        (general,) = api.results(PATH)

        assert api.delete(PATH, uuid=general["uuid"]).status_code == 403

    def test_a_topic_of_tickets_is_deleted_when_they_have_another(self, api: Api) -> None:
        """Their history, in which they had it, stays."""
        uuid = api.post(PATH, {"name": "Billing"}).json()["uuid"]
        (general,) = [each["uuid"] for each in api.results(PATH) if each["system"]]
        contact = make_contact(api.database, api.workspace)
        ticket = api.post("/api/v2/tickets.json", {"contact": contact, "topic": uuid}).json()["uuid"]
        move = {"tickets": [ticket], "action": "change_topic"}

        refused = api.delete(PATH, uuid=uuid)
        assert refused.status_code == 400
        assert refused.json()["detail"] == "Tickets have this topic: give them another one first."
        for topic in (general, uuid, general):
            assert api.post("/api/v2/ticket_actions.json", {**move, "topic": topic}).status_code == 204
        assert api.delete(PATH, uuid=uuid).status_code == 204

        shown = [each.get("ticket_event") for each in api.results("/api/v2/contact_timeline.json", contact=contact)]
        assert [each["type"] for each in shown if each] == [*["topic_changed"] * 3, "opened"]
