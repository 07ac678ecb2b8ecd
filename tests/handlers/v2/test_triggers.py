"""`/api/v2/triggers.json` and `trigger_matches.json` over HTTP."""

from typing import Any

import pytest
from sqlalchemy import update

from persistence.database import Database
from persistence.tables.campaigns import trigger
from persistence.tables.channels import channel
from persistence.tables.contacts import contact
from persistence.tables.flows import flow
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.channel_rows import add_channel
from tests.factories import id_of, make_contact
from tests.run_rows import add_flow, add_waiting, uuid_of

PATH = "/api/v2/triggers.json"
MATCHES = "/api/v2/trigger_matches.json"
FIRST = "2099-03-06T06:30:00Z"
"""A Friday, half past eight in Kigali."""


@pytest.fixture
def flow_id(database: Database, workspace: Workspace) -> int:
    return add_flow(database, workspace)


@pytest.fixture
def registration(database: Database, flow_id: int) -> str:
    return uuid_of(database, flow, flow_id)


def write(api: Api, status: int = 201, uuid: str | None = None, **body: Any) -> dict[str, Any]:
    response = api.post(PATH, body, **({} if uuid is None else {"uuid": uuid}))
    assert response.status_code == status, response.text
    assert status < 400 or response.extensions["code"]
    record: dict[str, Any] = response.json()
    return record


def make_group(api: Api, name: str) -> str:
    uuid: str = api.post("/api/v2/groups.json", {"name": name}).json()["uuid"]
    return uuid


@pytest.fixture
def nurses(api: Api) -> str:
    return make_group(api, "Nurses")


class TestWriteTrigger:
    def test_a_keyword_is_stored_in_lower_case_with_whom_it_is_for(
        self, api: Api, database: Database, workspace: Workspace, registration: str
    ) -> None:
        phone = uuid_of(database, channel, add_channel(database, workspace))
        nurses, away = make_group(api, "Nurses"), make_group(api, "Away")

        made = write(
            api,
            type="keyword",
            flow=registration,
            keywords=["JOIN", "Join", "karibu"],
            match="only",
            channel=phone,
            groups=["nurses"],
            exclude_groups=[away],
        )

        assert (made["keywords"], made["match"], made["channel"]["uuid"]) == (["join", "karibu"], "only", phone)
        assert made["groups"] == [{"uuid": nurses, "name": "Nurses"}]
        assert made["exclude_groups"] == [{"uuid": away, "name": "Away"}]
        assert (made["flow"]["uuid"], made["archived"], made["next_fire_on"]) == (registration, False, None)
        assert api.results(PATH) == [made]

    def test_what_is_not_given_stays_and_null_stands_for_the_default(self, api: Api, registration: str) -> None:
        nurses = make_group(api, "Nurses")
        made = write(api, type="keyword", flow=registration, keywords=["join"], match="only", groups=[nurses])

        changed = write(api, 200, made["uuid"], keywords=["start"])
        cleared = write(api, 200, made["uuid"], groups=None)

        assert changed == {**made, "keywords": ["start"]}
        assert cleared == {**changed, "groups": []}

    @pytest.mark.together
    @pytest.mark.parametrize(
        ("body", "field"),
        [
            ({"type": "catch_all", "flow": None}, "flow"),
            ({"flow": "own"}, "type"),
            ({"type": "referral", "flow": "own"}, "type"),
            ({"type": "keyword", "flow": "own"}, "keywords"),
            ({"type": "catch_all", "flow": "own", "keywords": ["join"]}, "keywords"),
            ({"type": "keyword", "flow": "own", "keywords": ["two words"]}, "keywords"),
            ({"type": "keyword", "flow": "own", "keywords": ["join"], "match": "last"}, "match"),
            ({"type": "catch_all", "flow": "own", "groups": ["Nobody"]}, "groups"),
            ({"type": "catch_all", "flow": "own", "scheduled_on": FIRST}, "type"),
            ({"type": "incoming_call", "flow": "own"}, "flow"),
            ({"type": "schedule", "flow": "own", "groups": ["Nurses"]}, "scheduled_on"),
            ({"type": "schedule", "flow": "own", "scheduled_on": FIRST}, "groups"),
            (
                {"type": "schedule", "flow": "own", "groups": ["Nurses"], "scheduled_on": "2020-01-01T00:00"},
                "scheduled_on",
            ),
            (
                {"type": "schedule", "flow": "own", "groups": ["Nurses"], "scheduled_on": FIRST, "repeat": "weekly"},
                "days",
            ),
        ],
    )
    def test_what_is_wrong_is_named_and_nothing_is_made(
        self, api: Api, registration: str, nurses: str, body: dict[str, Any], field: str
    ) -> None:
        refused = write(api, 400, **{name: registration if value == "own" else value for name, value in body.items()})

        assert list(refused) == [field]
        assert api.results(PATH) == []

    def test_two_active_triggers_are_not_alike_also_not_by_a_change_or_a_restoration(
        self, api: Api, registration: str
    ) -> None:
        first = write(api, type="keyword", flow=registration, keywords=["join", "karibu"])
        other = write(api, type="keyword", flow=registration, keywords=["stop"])

        made = write(api, 400, type="keyword", flow=registration, keywords=["KARIBU"])
        changed = write(api, 400, other["uuid"], keywords=["join"])
        write(api, 200, first["uuid"], archived=True)
        write(api, 200, other["uuid"], keywords=["join"])
        restored = write(api, 400, first["uuid"], archived=False)

        assert [list(each) for each in (made, changed, restored)] == [["keywords"]] * 3
        assert write(api, 200, first["uuid"], archived=False, keywords=["karibu"])["archived"] is False

    def test_a_trigger_keeps_its_type(self, api: Api, registration: str) -> None:
        made = write(api, type="catch_all", flow=registration)

        assert "type" in write(api, 400, made["uuid"], type="missed_call")
        assert write(api, 200, made["uuid"], type="catch_all") == made

    def test_a_trigger_of_an_archived_flow_is_not_restored(
        self, api: Api, database: Database, registration: str
    ) -> None:
        made = write(api, type="catch_all", flow=registration, archived=True)
        database.write(lambda tx: tx.execute(update(flow).values(is_archived=True)))

        assert "flow" in write(api, 400, made["uuid"], archived=False)


class TestSchedules:
    def test_a_schedule_fires_at_its_local_time_and_keeps_it_when_its_audience_changes(
        self, api: Api, registration: str
    ) -> None:
        make_group(api, "Nurses")
        times = {"scheduled_on": FIRST, "repeat": "weekly", "days": "MF"}

        made = write(api, type="schedule", flow=registration, groups=["Nurses"], **times)
        changed = write(api, 200, made["uuid"], exclude_groups=[make_group(api, "Away")])
        daily = write(api, 200, made["uuid"], repeat="daily", days=None)

        assert (made["repeat"], made["days"], made["next_fire_on"]) == ("weekly", "MF", "2099-03-06T06:30:00.000000Z")
        assert {name: changed[name] for name in ("repeat", "days", "next_fire_on")} == {
            name: made[name] for name in ("repeat", "days", "next_fire_on")
        }
        assert (daily["repeat"], daily["days"], daily["next_fire_on"]) == ("daily", None, made["next_fire_on"])

    def test_a_day_of_the_month_that_february_lacks_stays_when_the_repeat_is_named_again(
        self, api: Api, registration: str
    ) -> None:
        make_group(api, "Nurses")
        times = {"scheduled_on": "2099-02-28T06:30:00Z", "repeat": "monthly", "days": "31"}
        made = write(api, type="schedule", flow=registration, groups=["Nurses"], **times)

        changed = write(api, 200, made["uuid"], repeat="monthly")

        assert (changed["days"], changed["next_fire_on"]) == ("31", made["next_fire_on"])
        assert write(api, 200, made["uuid"], repeat="daily")["days"] is None

    @pytest.mark.parametrize(("repeat", "status"), [("daily", 200), ("never", 400)])
    def test_a_restored_schedule_leaves_out_what_it_missed(
        self, api: Api, database: Database, registration: str, repeat: str, status: int
    ) -> None:
        make_group(api, "Nurses")
        made = write(
            api, type="schedule", flow=registration, groups=["Nurses"], scheduled_on=FIRST, repeat=repeat, archived=True
        )
        with database.writing() as tx:
            tx.execute(update(trigger).values(next_fire_on=tx.now.replace(year=2020)))
            now = tx.now

        restored = write(api, status, made["uuid"], archived=False)

        if status == 400:
            assert list(restored) == ["scheduled_on"]
        else:
            assert restored["next_fire_on"][:19] > now.isoformat()[:19]
            assert restored["next_fire_on"][11:16] == "06:30"


class TestListAndDelete:
    def test_each_filter_finds_its_own(
        self, api: Api, database: Database, workspace: Workspace, registration: str
    ) -> None:
        survey = uuid_of(database, flow, add_flow(database, workspace, "Survey"))
        nurses = make_group(api, "Nurses")
        word = write(api, type="keyword", flow=registration, keywords=["join"], groups=[nurses])
        rest = write(api, type="catch_all", flow=survey, exclude_groups=[nurses])
        gone = write(api, type="missed_call", flow=survey, archived=True)

        def found(**query: str) -> list[str]:
            return [each["uuid"] for each in api.results(PATH, **query)]

        assert found() == [each["uuid"] for each in (gone, rest, word)]
        assert found(type="keyword") == [word["uuid"]]
        assert found(flow=survey) == [gone["uuid"], rest["uuid"]]
        assert found(group="nurses") == found(group=nurses) == [rest["uuid"], word["uuid"]]
        assert found(archived="true") == [gone["uuid"]]
        assert found(archived="false") == [rest["uuid"], word["uuid"]]

    def test_a_deleted_trigger_is_gone_with_its_groups(self, api: Api, registration: str) -> None:
        nurses = make_group(api, "Nurses")
        made = write(api, type="catch_all", flow=registration, groups=[nurses])
        assert api.delete("/api/v2/groups.json", uuid=nurses).status_code == 400

        assert api.delete(PATH, uuid=made["uuid"]).status_code == 204

        assert api.results(PATH) == []
        assert api.delete(PATH, uuid=made["uuid"]).status_code == 404
        assert api.delete("/api/v2/groups.json", uuid=nurses).status_code == 204


class TestMatches:
    def test_each_trigger_says_why_it_is_not_pulled(
        self, api: Api, database: Database, workspace: Workspace, registration: str
    ) -> None:
        phone = uuid_of(database, channel, add_channel(database, workspace))
        nurses, away = make_group(api, "Nurses"), make_group(api, "Away")
        amina = make_contact(database, workspace, "+250788123123")
        api.post("/api/v2/contacts.json", {"groups": [nurses, away]}, uuid=amina)
        base: dict[str, Any] = {"flow": registration, "type": "keyword"}
        expected = {
            write(api, **base, keywords=["join"])["uuid"]: "outranked",
            write(api, **base, keywords=["join"], channel=phone)["uuid"]: "other_channel",
            write(api, **base, keywords=["join"], groups=[away], exclude_groups=[nurses])["uuid"]: "in_excluded_group",
            write(api, **base, keywords=["join", "x"], groups=[make_group(api, "Men")])["uuid"]: "not_in_groups",
            write(api, **base, keywords=["stop"])["uuid"]: "other_word",
            write(api, **base, keywords=["join"], match="only", groups=[nurses, away])["uuid"]: "more_words",
            write(api, flow=registration, type="catch_all")["uuid"]: "outranked",
            write(api, flow=registration, type="missed_call")["uuid"]: "other_event",
        }
        pulled = write(api, **base, keywords=["join"], groups=[nurses])

        answer = api.get(MATCHES, text="Join now", urn="tel:+250788123123").json()

        assert (answer["outcome"], answer["keyword"], answer["contact"]) == ("trigger", "join", amina)
        assert answer["trigger"]["uuid"] == pulled["uuid"]
        assert {each["uuid"]: each["reason"] for each in answer["others"]} == expected

    @pytest.mark.parametrize(
        ("ignores", "outcome", "reasons"),
        [(False, "trigger", {"waits_in_flow"}), (True, "flow", {"flow_ignores_triggers"})],
    )
    def test_keywords_alone_come_before_a_flow_that_waits(
        self,
        api: Api,
        database: Database,
        workspace: Workspace,
        flow_id: int,
        registration: str,
        ignores: bool,
        outcome: str,
        reasons: set[str],
    ) -> None:
        amina = make_contact(database, workspace)
        add_waiting(database, workspace, flow_id, id_of(database, amina))
        database.write(lambda tx: tx.execute(update(flow).values(ignores_triggers=ignores)))
        write(api, flow=registration, type="keyword", keywords=["join"])
        write(api, flow=registration, type="catch_all")

        answer = api.get(MATCHES, text="join", contact=amina).json()

        assert answer["outcome"] == outcome
        assert {each["reason"] for each in answer["others"]} == reasons
        assert api.get(MATCHES, text="hello", contact=amina).json()["outcome"] == "flow"

    def test_a_stranger_begins_a_conversation_and_who_is_blocked_pulls_nothing(
        self, api: Api, database: Database, workspace: Workspace, registration: str
    ) -> None:
        first = write(api, flow=registration, type="new_conversation")
        amina = make_contact(database, workspace)
        database.write(lambda tx: tx.execute(update(contact).values(status="blocked")))

        stranger = api.get(MATCHES, text="hello", urn="tel:+250788000111").json()
        blocked = api.get(MATCHES, text="hello", contact=amina).json()

        assert (stranger["trigger"]["uuid"], stranger["contact"]) == (first["uuid"], None)
        assert (blocked["outcome"], blocked["trigger"]) == ("inbox", None)
        assert [each["reason"] for each in blocked["others"]] == ["not_active"]

    def test_an_unknown_contact_is_not_found(self, api: Api) -> None:
        assert api.get(MATCHES, text="join", contact="00000000-0000-4000-8000-000000000000").status_code == 404
