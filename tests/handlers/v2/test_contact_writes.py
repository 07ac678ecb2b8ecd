"""Writing and deleting by `/api/v2/contacts.json` over HTTP."""

from typing import Any

import pytest

from persistence.contacts.urns import prefer_channel
from persistence.database import Database
from persistence.tables.contacts import contact_urn, group
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.channel_rows import add_channel
from tests.factories import make_contact, make_field, make_messages, make_named

PATH = "/api/v2/contacts.json"
GROUPS = "/api/v2/groups.json"
UNKNOWN = "00000000-0000-4000-8000-000000000000"
AMINA, BOSCO = "tel:+250788000111", "tel:+250788000222"


@pytest.fixture
def amina(database: Database, workspace: Workspace) -> str:
    return make_contact(database, workspace, "+250788000111")


@pytest.fixture
def bosco(database: Database, workspace: Workspace) -> str:
    return make_contact(database, workspace, "+250788000222", name="Bosco")


@pytest.fixture
def nurses(database: Database, workspace: Workspace) -> str:
    return make_named(database, workspace, group, ["Nurses"])[0]


@pytest.fixture
def age(database: Database, workspace: Workspace) -> str:
    return make_field(database, workspace, "Age", "number")


def record(api: Api, uuid: str) -> dict[str, Any]:
    return api.results(PATH, uuid=uuid)[0]


class TestCreateContact:
    def test_a_contact_needs_nothing(self, api: Api) -> None:
        response = api.post(PATH, {})

        made = response.json()
        assert response.status_code == 201
        assert (made["name"], made["language"], made["urns"], made["groups"]) == (None, None, [], [])
        assert (made["status"], made["created_on"]) == ("active", made["modified_on"])

    def test_what_the_client_calls_uuid_is_ignored(self, api: Api) -> None:
        assert api.post(PATH, {"uuid": UNKNOWN, "status": "blocked"}).json()["uuid"] != UNKNOWN

    def test_an_unknown_address_as_parameter_makes_a_contact_with_it(self, api: Api) -> None:
        response = api.post(PATH, {"name": "Amina"}, urn="tel:0788000111")

        assert (response.status_code, response.json()["urns"]) == (201, [AMINA])

    def test_a_known_address_as_parameter_changes_its_owner(self, api: Api, amina: str) -> None:
        response = api.post(PATH, {"name": "Amina W."}, urn="tel:0788000111")

        assert (response.status_code, response.json()["uuid"], response.json()["name"]) == (200, amina, "Amina W.")

    def test_addresses_come_as_parameter_or_in_the_body_and_never_both(self, api: Api) -> None:
        response = api.post(PATH, {"urns": [BOSCO]}, urn=AMINA)

        assert (response.status_code, list(response.json())) == (400, ["urns"])
        assert api.results(PATH) == []

    @pytest.mark.together
    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("name", "x" * 65),
            ("name", 7),
            ("language", "en"),
            ("language", "english"),
            ("language", "xyq"),
            ("language", 7),
            ("urns", ["nonsense"]),
            ("urns", ["tel:12345"]),
            ("urns", ["planet:mars"]),
            ("urns", ["mailto:"]),
            ("urns", [f"tel:+25078800{number:04d}" for number in range(101)]),
            ("urns", "tel:+250788000333"),
            ("urns", None),
            ("groups", [UNKNOWN]),
            ("groups", ["nobody"]),
            ("groups", [7]),
            ("groups", ["Nurses"] * 101),
            ("fields", {"unknown": "x"}),
            ("fields", {f"f{number}": "x" for number in range(101)}),
            ("fields", ["age"]),
        ],
    )
    def test_bad_input_is_named_by_its_field_and_nothing_is_made(
        self, api: Api, age: str, nurses: str, field: str, value: object
    ) -> None:
        response = api.post(PATH, {"name": "Amina", "urns": [AMINA], "groups": [nurses]} | {field: value})

        assert (response.status_code, list(response.json())) == (400, [field])
        assert api.results(PATH) == []
        assert api.results(GROUPS, uuid=nurses)[0]["count"] == 0

    def test_a_bad_address_is_named_by_its_place(self, api: Api) -> None:
        assert list(api.post(PATH, {"urns": [AMINA, "nonsense"]}).json()["urns"]) == ["1"]

    def test_the_limits_themselves_are_accepted(self, api: Api, database: Database, workspace: Workspace) -> None:
        for number in range(100):
            make_field(database, workspace, f"F{number}")
        groups = make_named(database, workspace, group, [f"Group {number}" for number in range(100)])
        urns = [f"tel:+25078800{number:04d}" for number in range(100)]
        fields = {f"f{number}": "x" for number in range(100)}

        response = api.post(PATH, {"name": "x" * 64, "urns": urns, "groups": groups, "fields": fields})

        made = response.json()
        assert response.status_code == 201
        assert (made["urns"], len(made["groups"]), made["fields"]) == (urns, 100, fields)

    def test_an_address_of_somebody_else_is_named_by_its_place(self, api: Api, amina: str) -> None:
        response = api.post(PATH, {"name": "Chantal", "urns": [BOSCO, AMINA]})

        assert (response.status_code, list(response.json()["urns"])) == (400, ["1"])
        assert api.results(PATH, urn=BOSCO) == []

    def test_an_address_given_twice_counts_once(self, api: Api) -> None:
        assert api.post(PATH, {"urns": ["tel:0788000111", AMINA]}).json()["urns"] == [AMINA]

    @pytest.mark.parametrize(("access", "status"), [("edit", 201), ("view", 400), ("none", 400)])
    def test_agents_write_only_fields_open_to_them(
        self, api: Api, database: Database, workspace: Workspace, access: str, status: int
    ) -> None:
        make_field(database, workspace, "Age", access=access)

        response = api.as_role("agent").post(PATH, {"fields": {"age": "27"}})

        assert response.status_code == status
        assert list(response.json()) == ["fields"] or response.json()["fields"] == {"age": "27"}


class TestChangeContact:
    def test_what_is_not_given_stays(self, api: Api, amina: str, nurses: str) -> None:
        api.post(PATH, {"language": "kin", "groups": [nurses]}, uuid=amina)
        before = record(api, amina)

        after = api.post(PATH, {"name": "Amina W."}, uuid=amina).json()

        assert after | {"name": "Amina", "modified_on": ""} == before | {"modified_on": ""}
        assert after["modified_on"] > before["modified_on"]

    @pytest.mark.together
    @pytest.mark.parametrize(
        "body",
        [{}, {"name": "Amina"}, {"urns": [AMINA]}, {"groups": []}, {"fields": {}}, {"language": None}],
    )
    def test_what_changes_nothing_leaves_the_time_of_change(self, api: Api, amina: str, body: dict[str, Any]) -> None:
        before = record(api, amina)

        response = api.post(PATH, body, uuid=amina)

        assert (response.status_code, response.json()) == (200, before)

    @pytest.mark.parametrize("empty", [None, ""])
    def test_null_and_an_empty_text_clear(self, api: Api, amina: str, empty: str | None) -> None:
        api.post(PATH, {"language": "kin"}, uuid=amina)

        after = api.post(PATH, {"name": empty, "language": None}, uuid=amina).json()

        assert (after["name"], after["language"]) == (None, None)

    def test_addresses_are_replaced_in_the_order_given_and_dropped_ones_are_free(
        self, api: Api, amina: str, bosco: str
    ) -> None:
        urns = ["telegram:5599", AMINA]
        assert api.post(PATH, {"urns": urns}, uuid=amina).json()["urns"] == urns
        assert api.post(PATH, {"urns": urns[:1]}, uuid=amina).json()["urns"] == urns[:1]

        assert api.post(PATH, {"urns": [BOSCO, AMINA]}, uuid=bosco).json()["urns"] == [BOSCO, AMINA]

    def test_an_address_that_stays_is_still_answered_through_its_channel(
        self, api: Api, database: Database, workspace: Workspace
    ) -> None:
        uuid = api.post(PATH, {"urns": [AMINA]}).json()["uuid"]
        first = add_channel(database, workspace, name="First", address="+250733555011")
        add_channel(database, workspace, name="Second", address="+250733555012")
        with database.writing() as tx:
            prefer_channel(tx, workspace.id, [tx.execute(contact_urn.select()).one().id], first)

        api.post(PATH, {"urns": [AMINA, "telegram:5599"]}, uuid=uuid)

        sent = api.post("/api/v2/messages.json", {"contact": uuid, "text": "hello"}).json()
        assert sent["channel"]["name"] == "First"

    def test_groups_are_replaced_and_smart_groups_left(
        self, api: Api, database: Database, workspace: Workspace, amina: str, nurses: str
    ) -> None:
        drivers = make_named(database, workspace, group, ["Drivers"])[0]
        api.post(PATH, {"groups": [nurses]}, uuid=amina)

        after = api.post(PATH, {"groups": ["drivers"]}, uuid=amina).json()

        assert after["groups"] == [{"uuid": drivers, "name": "Drivers"}]
        counts = {one["name"]: one["count"] for one in api.results(GROUPS)}
        assert (counts["Nurses"], counts["Drivers"]) == (0, 1)

    def test_a_smart_group_is_refused(self, api: Api, database: Database, workspace: Workspace, amina: str) -> None:
        smart = make_named(database, workspace, group, ["Adults"], query='name = "Amina"')[0]

        response = api.post(PATH, {"groups": [smart]}, uuid=amina)

        assert (response.status_code, list(response.json())) == (400, ["groups"])

    def test_a_blocked_contact_joins_no_group(self, api: Api, amina: str, nurses: str) -> None:
        api.post("/api/v2/contact_actions.json", {"contacts": [amina], "action": "block"})

        response = api.post(PATH, {"name": "Else", "groups": [nurses]}, uuid=amina)

        assert (response.status_code, list(response.json())) == (400, ["groups"])
        assert record(api, amina)["name"] == "Amina"
        assert api.post(PATH, {"groups": []}, uuid=amina).status_code == 200

    @pytest.mark.parametrize(
        ("kind", "given", "shown"),
        [
            ("text", "Gisozi", "Gisozi"),
            ("text", "x" * 640, "x" * 640),
            ("number", "27", "27"),
            ("number", "27.50", "27.5"),
            ("number", "many", None),
            ("datetime", "2026-06-20", "2026-06-20T00:00:00+02:00"),
            ("datetime", "20-06-2026 14:30", "2026-06-20T14:30:00+02:00"),
            ("datetime", "soon", None),
        ],
    )
    def test_a_value_shows_as_what_its_type_reads_in_it(
        self, api: Api, database: Database, workspace: Workspace, amina: str, kind: str, given: str, shown: str | None
    ) -> None:
        make_field(database, workspace, "Answer", kind)

        after = api.post(PATH, {"fields": {"answer": given}}, uuid=amina).json()

        found = after["fields"]["answer"]
        assert found == shown or (kind == "datetime" and shown and found.startswith(shown[:10]))

    @pytest.mark.parametrize("empty", [None, ""])
    def test_an_empty_value_clears_the_field(
        self, api: Api, database: Database, workspace: Workspace, amina: str, empty: str | None
    ) -> None:
        make_field(database, workspace, "Age", "number")
        api.post(PATH, {"fields": {"age": "27"}}, uuid=amina)

        assert api.post(PATH, {"fields": {"age": empty}}, uuid=amina).json()["fields"] == {"age": None}

    def test_urns_and_groups_are_added_to_those_that_there_are(
        self, api: Api, database: Database, workspace: Workspace, amina: str, nurses: str
    ) -> None:
        mothers, drivers = make_named(database, workspace, group, ["Mothers", "Drivers"])
        api.post(PATH, {"groups": [nurses, drivers]}, uuid=amina)

        body = {"add_urns": ["telegram:5599", AMINA], "add_groups": ["mothers"], "remove_groups": [drivers]}
        after = api.post(PATH, body, uuid=amina).json()
        again = api.post(PATH, body, uuid=amina).json()

        assert after["urns"] == [AMINA, "telegram:5599"]
        assert {each["uuid"] for each in after["groups"]} == {nurses, mothers}
        assert again == after
        assert {each["uuid"]: each["count"] for each in api.results(GROUPS)}[drivers] == 0

    def test_a_contact_found_by_a_urn_or_made_with_it_gets_more(self, api: Api, nurses: str) -> None:
        body = {"add_urns": ["telegram:5599"], "add_groups": [nurses], "remove_groups": []}

        made = api.post(PATH, body, urn=AMINA)
        found = api.post(PATH, {"add_urns": ["telegram:5600"], "remove_groups": [nurses]}, urn="telegram:5599")

        assert (made.status_code, made.json()["urns"]) == (201, [AMINA, "telegram:5599"])
        assert [each["uuid"] for each in made.json()["groups"]] == [nurses]
        assert (found.status_code, found.json()["groups"]) == (200, [])
        assert found.json()["urns"] == [AMINA, "telegram:5599", "telegram:5600"]

    @pytest.mark.together
    @pytest.mark.parametrize(
        ("body", "field"),
        [
            ({"add_urns": [BOSCO]}, "add_urns"),
            ({"add_urns": [f"ext:{number}" for number in range(100)]}, "add_urns"),
            ({"add_urns": ["tel:1"]}, "add_urns"),
            ({"add_groups": ["Nobody"]}, "add_groups"),
            ({"add_groups": ["Nurses"], "remove_groups": ["nurses"]}, "remove_groups"),
        ],
    )
    def test_what_cannot_be_added_changes_nothing(
        self, api: Api, amina: str, bosco: str, nurses: str, body: dict[str, Any], field: str
    ) -> None:
        before = record(api, amina)

        refused = api.post(PATH, {"name": "Other", **body}, uuid=amina)
        refused_too = api.post(PATH, {"name": "Other", **body}, urn="ext:new") if field != "add_urns" else refused

        assert (refused.status_code, list(refused.json())[:1]) == (400, [field])
        assert refused_too.status_code == 400
        assert record(api, amina) == before
        assert len(api.results(PATH)) == 2

    def test_a_blocked_contact_is_added_to_no_group(self, api: Api, amina: str, nurses: str) -> None:
        api.post("/api/v2/contact_actions.json", {"contacts": [amina], "action": "block"})

        refused = api.post(PATH, {"add_groups": [nurses]}, uuid=amina)

        assert refused.json()["add_groups"] == ["Only active contacts can be in groups."]

    @pytest.mark.together
    @pytest.mark.parametrize("query", [{"uuid": UNKNOWN}, {"uuid": "x"}, {"uuid": UNKNOWN, "urn": AMINA}])
    def test_what_names_no_single_contact_changes_none(self, api: Api, query: dict[str, Any]) -> None:
        response = api.post(PATH, {"name": "X"}, **query)

        assert response.status_code == (404 if query == {"uuid": UNKNOWN} else 400)
        assert list(response.json()) == ["detail"]
        assert api.results(PATH) == []

    def test_a_deleted_contact_is_not_changed(self, api: Api, amina: str) -> None:
        api.delete(PATH, uuid=amina)

        assert api.post(PATH, {"name": "Again"}, uuid=amina).status_code in (400, 404)
        assert api.results(PATH, deleted="true")[0]["name"] is None


class TestDeleteContact:
    @pytest.mark.parametrize("query", [{"uuid": True}, {"urn": "tel:0788000111"}])
    def test_a_deleted_contact_takes_all_that_it_said_with_it(
        self, api: Api, database: Database, workspace: Workspace, amina: str, nurses: str, query: dict[str, Any]
    ) -> None:
        query = {"uuid": amina} if "uuid" in query else query
        api.post(PATH, {"groups": [nurses]}, uuid=amina)
        make_messages(database, workspace, amina, 2)

        response = api.delete(PATH, **query)

        assert (response.status_code, response.content) == (204, b"")
        assert api.results(PATH) == api.results("/api/v2/messages.json") == []
        assert api.results(GROUPS, uuid=nurses)[0]["count"] == 0
        assert api.post(PATH, {"urns": [AMINA]}).status_code == 201

    @pytest.mark.together
    @pytest.mark.parametrize(
        ("query", "status"),
        [({"uuid": UNKNOWN}, 404), ({"urn": BOSCO}, 404), ({}, 400), ({"uuid": "x"}, 400), ({"urn": "tel:1"}, 400)],
    )
    def test_what_names_nobody_deletes_nobody(self, api: Api, amina: str, query: dict[str, str], status: int) -> None:
        assert api.delete(PATH, **query).status_code == status
        assert len(api.results(PATH)) == 1

    def test_a_contact_is_deleted_once(self, api: Api, amina: str) -> None:
        assert [api.delete(PATH, uuid=amina).status_code for _ in range(2)] == [204, 404]
