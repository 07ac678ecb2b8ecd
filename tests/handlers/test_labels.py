"""`labels.json` of both generations over HTTP."""

from typing import Any

import httpx
import pytest

from tests.api import Api
from tests.factories import make_contact, make_messages

V1, V2 = "/api/v1/labels.json", "/api/v2/labels.json"
BOTH = pytest.mark.parametrize("path", [V1, V2])


def create(api: Api, path: str, *names: str) -> list[str]:
    """Their UUIDs."""
    return [api.post(path, {"name": name}).json()["uuid"] for name in names]


def rename(api: Api, path: str, uuid: str, name: object) -> httpx.Response:
    """Generation 1 names the label in the body, generation 2 in the query."""
    return api.post(path, {"uuid": uuid, "name": name}) if path == V1 else api.post(path, {"name": name}, uuid=uuid)


def names(api: Api, path: str = V2, **query: Any) -> list[str]:
    return [record["name"] for record in api.results(path, **query)]


class TestListLabels:
    @pytest.mark.parametrize(
        ("path", "asked", "found"),
        [
            (V1, "COMPLAINT", ["Old complaint", "Complaint"]),
            (V2, "COMPLAINT", ["Complaint"]),
            (V2, "STRASSE", ["Straße"]),
            (V1, "%", []),
            (V1, "", ["Straße", "Old complaint", "Complaint"]),
            (V2, "", ["Straße", "Old complaint", "Complaint"]),
        ],
    )
    def test_a_name_of_any_case_finds_newest_first_those_that_hold_it_in_generation_1_and_are_it_in_generation_2(
        self, api: Api, path: str, asked: str, found: list[str]
    ) -> None:
        create(api, path, "Complaint", "Old complaint", "Straße")

        assert names(api, path, name=asked, uuid="") == found

    def test_generation_1_may_ask_for_several_uuids(self, api: Api) -> None:
        uuids = create(api, V1, "A", "B", "C")

        assert names(api, V1, uuid=f"{uuids[0]},{uuids[2].upper()}") == ["C", "A"]


class TestWriteLabel:
    @BOTH
    def test_a_new_label_is_answered_with_its_record(self, api: Api, path: str) -> None:
        response = api.post(path, {"name": "  Complaint "})

        assert response.status_code == 201
        assert response.json() == {"uuid": response.json()["uuid"], "name": "Complaint", "count": 0}
        assert api.results(path) == [response.json()]

    @pytest.mark.parametrize(("path", "status"), [(V1, 201), (V2, 200)])
    def test_a_label_is_renamed_by_uuid(self, api: Api, path: str, status: int) -> None:
        (label,) = create(api, path, "Complaint")

        response = rename(api, path, label, "Grievance")

        assert (response.status_code, response.json()) == (status, {"uuid": label, "name": "Grievance", "count": 0})
        assert names(api) == ["Grievance"]

    @BOTH
    def test_a_bad_or_taken_name_is_refused_by_field(self, api: Api, path: str) -> None:
        _, uuid = create(api, path, "Taken", "Complaint")

        for name in ("", "   ", 'say "hi"', "back\\slash", "x" * 65, None, 7, "tAKEN"):
            for response in (api.post(path, {"name": name}), rename(api, path, uuid, name)):
                assert (response.status_code, list(response.json())) == (400, ["name"]), name
        assert names(api) == ["Complaint", "Taken"]

    @BOTH
    def test_a_missing_name_is_refused_by_field(self, api: Api, path: str) -> None:
        assert api.post(path, {}).json() == {"name": ["A value is required."]}

    @pytest.mark.parametrize("name", ["+Good", "-Bad", "  -Bad", "\u00a0-Bad", "+"])
    def test_a_name_that_a_filter_of_generation_1_would_take_for_a_wish_is_refused_there(
        self, api: Api, name: str
    ) -> None:
        (uuid,) = create(api, V1, "Complaint")
        incoming = make_messages(api.database, api.workspace, make_contact(api.database, api.workspace))
        action = {"messages": incoming, "action": "label", "label": name}

        for response, field in (
            (api.post(V1, {"name": name}), "name"),
            (rename(api, V1, uuid, name), "name"),
            (api.post("/api/v1/message_actions.json", action), "label"),
        ):
            assert (response.status_code, list(response.json())) == (400, [field])
        assert names(api) == ["Complaint"]


class TestDeleteLabel:
    def test_a_deleted_label_is_gone(self, api: Api) -> None:
        (uuid,) = create(api, V2, "Complaint")

        response = api.delete(V2, uuid=uuid)

        assert (response.status_code, response.content) == (204, b"")
        assert api.delete(V2, uuid=uuid).status_code == 404
        assert api.results(V2) == []
