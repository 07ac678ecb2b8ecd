"""`/api/v1/calls.json` over HTTP."""

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
from sqlalchemy import update
from starlette.testclient import TestClient

from persistence.tables.accounts import workspace as workspace_table
from relayboard.phone.phone import Phone
from tests.api import Api
from tests.phones import claimed_phone

PATH = "/api/v1/calls.json"
CALL_MS = 1772438000123


@pytest.fixture
def phone(api: Api) -> Phone:
    """A claimed phone."""
    return claimed_phone(api)


def call_types(api: Api, **query: object) -> list[str]:
    return [call["call_type"] for call in api.results(PATH, **query)]


class TestListCalls:
    def test_a_record_says_who_when_how_long_and_on_which_phone(self, api: Api, phone: Phone) -> None:
        phone.log_call("mo_call", "0788000444", 17, CALL_MS)
        phone.sync()

        record = api.results(PATH)[0]

        contact = api.results("/api/v2/contacts.json")[0]["uuid"]
        event = api.results("/api/v2/channel_events.json")[0]["id"]
        assert record == {
            "call": event,
            "contact": contact,
            "relayer": phone.state.relayer_id,
            "relayer_phone": "+250788123123",
            "phone": "+250788000444",
            "created_on": "2026-03-02T07:53:20.123000Z",
            "duration": 17,
            "call_type": "mo_call",
        }

    def test_the_call_recorded_last_comes_first(self, api: Api, phone: Phone) -> None:
        phone.log_call("mo_call", "+250788000444", 17, CALL_MS)
        phone.sync()
        phone.log_call("mo_miss", "+250788000444", 0, CALL_MS - 60_000)
        phone.sync()

        assert call_types(api) == ["mo_miss", "mo_call"]

    def test_filters_choose_by_id_type_number_and_phone(self, api: Api, phone: Phone) -> None:
        phone.log_call("mo_miss", "+250788000444", 0, CALL_MS)
        phone.log_call("mt_call", "+250788000555", 0, CALL_MS)
        phone.log_call("mt_call", "+250788000555", 9, CALL_MS + 1000)
        phone.sync()
        missed = next(call["call"] for call in api.results(PATH) if call["call_type"] == "mo_miss")

        assert call_types(api, call=f"{missed},99999") == ["mo_miss"]
        assert sorted(call_types(api, call_type=["mt_call", "mo_miss"])) == ["mo_miss", "mt_call"]
        assert sorted(call_types(api, phone="+250788000555")) == ["mt_call", "mt_miss"]
        assert len(call_types(api, relayer=phone.state.relayer_id)) == 3
        assert call_types(api, relayer=99999) == []

    @pytest.mark.together
    @pytest.mark.parametrize("sender", ["5080", "mtn", "MTN"])
    def test_short_codes_and_sender_names_are_found(self, api: Api, phone: Phone, sender: str) -> None:
        phone.log_call("mo_miss", sender, 0, CALL_MS)
        phone.log_call("mo_call", "+250788000555", 3, CALL_MS)
        phone.sync()

        assert call_types(api, phone=sender) == ["mo_miss"]

    def test_bounds_compare_the_time_of_recording(self, api: Api, phone: Phone) -> None:
        phone.log_call("mo_miss", "+250788000444", 0, CALL_MS)
        phone.sync()

        assert call_types(api, after="2026-03-02T08:00:00.000") == ["mo_miss"]
        assert call_types(api, before="2026-03-02T08:00:00.000") == []

    def test_an_unknown_type_and_an_unreadable_time_are_refused(self, api: Api) -> None:
        assert api.get(PATH, call_type="missed").status_code == 400
        assert api.get(PATH, before="yesterday").json() == {
            "detail": "Parameter before must be a date or a date and time."
        }

    def test_pages_are_numbered_and_keep_the_other_parameters(
        self, api: Api, phone: Phone, make_client: Callable[..., AbstractContextManager[TestClient]]
    ) -> None:
        for number in range(5):
            phone.log_call("mo_miss", "+250788000444", 0, CALL_MS + number)
        phone.sync()

        with make_client(page_size=2) as client:
            paged = Api(client, api.database, api.workspace, api.token)
            first = paged.get(PATH, call_type="mo_miss").json()
            second = client.get(first["next"], headers={"Authorization": f"Token {api.token}"}).json()
            last = paged.get(PATH, page=3).json()

        assert (first["count"], first["previous"]) == (5, None)
        assert first["next"] == f"http://testserver{PATH}?call_type=mo_miss&page=2"
        assert second["previous"] == f"http://testserver{PATH}?call_type=mo_miss&page=1"
        assert last["next"] is None
        seen = [call["call"] for page in (first, second, last) for call in page["results"]]
        assert seen == sorted(set(seen), reverse=True)

    def test_a_workspace_that_hides_addresses_shows_no_number_and_finds_none(self, api: Api, phone: Phone) -> None:
        phone.log_call("mo_miss", "+250788000444", 0, CALL_MS)
        phone.sync()
        with api.database.writing() as tx:
            tx.execute(update(workspace_table).values(is_anonymous=True))
        fresh = api.as_role("editor")

        assert fresh.results(PATH)[0]["phone"] is None
        assert fresh.get(PATH, phone="+250788000444").status_code == 400
