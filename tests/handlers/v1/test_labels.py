"""`/api/v1/labels.json` over HTTP."""

import pytest

from tests.api import Api
from tests.factories import make_contact, make_messages

PATH = "/api/v1/labels.json"


class TestListLabels:
    def test_a_part_of_a_name_finds_labels_of_any_case_newest_first(self, api: Api) -> None:
        for name in ("Complaint", "Old complaint", "Praise"):
            api.post(PATH, {"name": name})

        assert [label["name"] for label in api.results(PATH, name="COMPLAINT")] == ["Old complaint", "Complaint"]
        assert api.results(PATH, name="%") == []

    def test_several_uuids_may_be_asked_for(self, api: Api) -> None:
        uuids = [api.post(PATH, {"name": name}).json()["uuid"] for name in ("A", "B", "C")]

        found = api.results(PATH, uuid=f"{uuids[0]},{uuids[2].upper()}")

        assert found == [{"uuid": uuids[2], "name": "C", "count": 0}, {"uuid": uuids[0], "name": "A", "count": 0}]


class TestWriteLabel:
    def test_without_uuid_a_label_is_made(self, api: Api) -> None:
        response = api.post(PATH, {"name": "Complaint"})

        assert response.status_code == 201
        assert api.results(PATH) == [response.json()]

    def test_with_uuid_it_is_renamed_and_the_answer_is_201_too(self, api: Api) -> None:
        label = api.post(PATH, {"name": "Complaint"}).json()

        response = api.post(PATH, {"uuid": label["uuid"], "name": "Grievance"})

        assert (response.status_code, response.json()) == (201, {**label, "name": "Grievance"})

    def test_a_taken_name_is_refused(self, api: Api) -> None:
        api.post(PATH, {"name": "Complaint"})

        response = api.post(PATH, {"name": "complaint"})

        assert (response.status_code, list(response.json())) == (400, ["name"])

    @pytest.mark.parametrize("name", ["+Good", "-Bad", "  -Bad", "+"])
    def test_a_name_that_a_filter_would_take_for_a_wish_is_refused(self, api: Api, name: str) -> None:
        label = api.post(PATH, {"name": "Complaint"}).json()
        incoming = make_messages(api.database, api.workspace, make_contact(api.database, api.workspace))

        made = api.post(PATH, {"name": name})
        renamed = api.post(PATH, {"name": name, "uuid": label["uuid"]})
        action = {"messages": incoming, "action": "label", "label": name}
        labeled = api.post("/api/v1/message_actions.json", action)

        assert (made.status_code, list(made.json())) == (400, ["name"])
        assert (renamed.status_code, list(renamed.json())) == (400, ["name"])
        assert (labeled.status_code, list(labeled.json())) == (400, ["label"])
        assert [one["name"] for one in api.results(PATH)] == ["Complaint"]
