"""`/api/v1/relayers.json` over HTTP."""

from collections.abc import Callable

import pytest

from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.channel_rows import add_channel, add_contact, add_outgoing
from tests.conftest import Clock
from tests.phones import commands, new_phone

PATH = "/api/v1/relayers.json"


def in_full_width(text: str) -> str:
    return "".join(chr(ord(each) + 0xFEE0) if "!" <= each <= "~" else each for each in text)


def with_indian_digits(text: str) -> str:
    return "".join(chr(0x966 + int(each)) if each in "0123456789" else each for each in text)


class TestListRelayers:
    def test_a_record_holds_what_the_phone_reported(self, api: Api, workspace: Workspace) -> None:
        reported = {"power_level": 18, "power_status": "DIS", "power_source": "BAT", "network_type": "LTE"}
        channel_id = add_channel(api.database, workspace, **reported)

        record = api.results(PATH)[0]

        assert record.pop("last_seen").endswith("Z")
        named = {"relayer": channel_id, "phone": "+254733555010", "name": "Front desk", "country": "KE"}
        assert record == {**named, **reported, "pending_message_count": 0}

    def test_only_what_was_not_sent_counts_as_pending(self, api: Api, workspace: Workspace, clock: Clock) -> None:
        channel_id = add_channel(api.database, workspace)
        contact_id = add_contact(api.database, workspace)
        for status in ("queued", "wired", "errored", "sent", "delivered", "failed"):
            add_outgoing(api.database, workspace, channel_id, contact_id, clock(), status)

        assert api.results(PATH)[0]["pending_message_count"] == 3

    def test_gateways_released_phones_and_those_of_others_are_not_listed(
        self, api: Api, workspace: Workspace, other_workspace: Workspace
    ) -> None:
        add_channel(api.database, workspace, type="external")
        add_channel(api.database, workspace, is_active=False)
        add_channel(api.database, other_workspace)

        assert api.results(PATH) == []

    @pytest.mark.parametrize(
        "query",
        [{"phone": "+254733555010"}, {"phone": "254733555010,+1"}, {"country": "ke"}, {"country": ["RW", "KE"]}],
    )
    def test_filters_choose_by_number_and_country(
        self, api: Api, workspace: Workspace, query: dict[str, str | list[str]]
    ) -> None:
        wanted = add_channel(api.database, workspace)
        add_channel(api.database, workspace, address="+12065551212", country="US")

        assert [phone["relayer"] for phone in api.results(PATH, **query)] == [wanted]


class TestClaimRelayer:
    def test_the_code_a_phone_shows_attaches_it(self, api: Api) -> None:
        phone = new_phone(api)
        phone.register()
        body = {"claim_code": phone.state.claim_code, "phone": "0788 123 123", "name": "Clinic phone"}

        response = api.post(PATH, body)

        assert response.status_code == 201
        record = response.json()
        assert record == api.results(PATH)[0]
        assert record["relayer"] == phone.state.relayer_id
        assert (record["phone"], record["name"], record["country"]) == ("+250788123123", "Clinic phone", "RW")
        assert (record["power_level"], record["power_status"], record["network_type"]) == (-1, None, None)

    @pytest.mark.together
    @pytest.mark.parametrize("form", [
        " {0} {1} {2}\n", "{0}-{1}-{2}", "{0}\u2011{1}\u2013{2}", "\u200e{0}\u00a0{1}\u2009{2}\u200f",
        "\u00ab{0}_{1}.{2}\u00bb",
    ])  # fmt: skip
    @pytest.mark.parametrize("spell", [str.upper, str.lower, in_full_width, with_indian_digits])
    def test_a_code_is_read_as_people_type_what_the_phone_shows(
        self, api: Api, form: str, spell: Callable[[str], str]
    ) -> None:
        phone = new_phone(api)
        phone.register()
        code = phone.state.claim_code or ""
        typed = spell(form.format(code[:3], code[3:6], code[6:]))

        assert api.post(PATH, {"claim_code": typed, "phone": "+250788123123"}).status_code == 201

    @pytest.mark.together
    @pytest.mark.parametrize("change", ["{0}2", "{1}", "{0}\u00e9", "- - -", "\U0001f4de", "{0}" + "-" * 56])
    def test_another_code_is_unknown_however_it_is_typed(self, api: Api, change: str) -> None:
        phone = new_phone(api)
        phone.register()
        code = phone.state.claim_code or ""

        response = api.post(PATH, {"claim_code": change.format(code, code[:-1]), "phone": "+250788123123"})

        assert (response.status_code, list(response.json())) == (400, ["claim_code"])
        assert api.results(PATH) == []

    @pytest.mark.together
    @pytest.mark.parametrize("name", [None, "", "   ", "\u200b\u00a0\u200e"])
    def test_a_name_of_nothing_is_none(self, api: Api, name: str | None) -> None:
        phone = new_phone(api)
        phone.register()

        record = api.post(PATH, {"claim_code": phone.state.claim_code, "phone": "+250788123123", "name": name}).json()

        assert record["name"] is None

    def test_a_code_works_once(self, api: Api) -> None:
        phone = new_phone(api)
        phone.register()
        body = {"claim_code": phone.state.claim_code, "phone": "+250788123123"}
        api.post(PATH, body)

        response = api.post(PATH, body)

        assert response.status_code == 400
        assert response.json() == {"claim_code": ["Unknown claim code."]}

    @pytest.mark.together
    @pytest.mark.parametrize("number", ["078123", "9999999999", "asdf"])
    def test_an_impossible_number_is_refused_and_the_code_stays_good(self, api: Api, number: str) -> None:
        phone = new_phone(api)
        phone.register()

        response = api.post(PATH, {"claim_code": phone.state.claim_code, "phone": number})

        assert response.status_code == 400
        assert list(response.json()) == ["phone"]
        assert api.post(PATH, {"claim_code": phone.state.claim_code, "phone": "0788123123"}).status_code == 201

    def test_code_and_number_are_needed(self, api: Api) -> None:
        assert set(api.post(PATH, {}).json()) == {"claim_code", "phone"}

    def test_the_phone_learns_its_workspace_at_its_next_sync_and_only_then(self, api: Api) -> None:
        phone = new_phone(api)
        phone.register()
        api.post(PATH, {"claim_code": phone.state.claim_code, "phone": "+250788123123"})

        phone.sync()

        assert commands(phone) == [{"cmd": "claim", "org_id": api.workspace.id}]
        phone.sync()
        assert commands(phone) == []


class TestReleaseRelayers:
    def test_a_released_phone_is_gone_and_told_so(self, api: Api) -> None:
        phone = new_phone(api)
        phone.register()
        relayer = phone.state.relayer_id
        api.post(PATH, {"claim_code": phone.state.claim_code, "phone": "+250788123123"})

        response = api.delete(PATH, relayer=relayer)

        assert response.status_code == 204
        assert api.results(PATH) == []
        phone.sync()
        assert commands(phone) == [{"cmd": "rel", "relayer_id": relayer}]
        assert phone.state.relayer_id is None

    def test_what_it_had_not_sent_fails(self, api: Api, workspace: Workspace, clock: Clock) -> None:
        channel_id = add_channel(api.database, workspace)
        add_outgoing(api.database, workspace, channel_id, add_contact(api.database, workspace), clock())

        api.delete(PATH, relayer=channel_id)

        assert [message["status"] for message in api.results("/api/v1/messages.json")] == ["F"]

    def test_all_parameters_must_fit(self, api: Api, workspace: Workspace) -> None:
        channel_id = add_channel(api.database, workspace)

        assert api.delete(PATH, relayer=channel_id, country="US").status_code == 404
        assert len(api.results(PATH)) == 1

    @pytest.mark.parametrize("query", [{}, {"relayer": ""}, {"unknown": "1"}])
    def test_nothing_is_released_without_a_filter(self, api: Api, workspace: Workspace, query: dict[str, str]) -> None:
        add_channel(api.database, workspace)

        assert api.delete(PATH, **query).status_code == 400
        assert len(api.results(PATH)) == 1

    def test_gateways_are_never_released_as_phones(self, api: Api, workspace: Workspace) -> None:
        channel_id = add_channel(api.database, workspace, type="external")

        assert api.delete(PATH, relayer=channel_id).status_code == 404
