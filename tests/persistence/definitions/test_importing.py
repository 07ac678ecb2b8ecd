"""Importing export files."""

from typing import Any

import pytest
from sqlalchemy import func, select

from persistence.database import Database
from persistence.definitions.importing import ImportRefused
from persistence.errors import LimitReached
from persistence.fields import create_field
from persistence.flows.records import archive_flow, find_flow
from persistence.flows.writes import read_revision
from persistence.groups.groups import create_group
from persistence.labels import create_label
from persistence.resthooks import find_resthook
from persistence.sql.columns import new_uuid
from persistence.tables.campaigns import campaign_event, trigger
from persistence.tables.contacts import field, group, topic
from persistence.tables.flows import flow, flow_revision
from persistence.tables.messages import label
from persistence.tables.service import global_value
from persistence.workspaces.records import Workspace
from tests.definition_files import bring_in, make_definition, make_file, read_registration, say

CHANGES = ("flows", "campaigns", "triggers")


def changes(report: Any) -> list[str]:
    return [one["change"] for part in CHANGES for one in getattr(report, part)]


def count(database: Database, table: Any) -> int:
    with database.reading() as tx:
        number: int = tx.execute(select(func.count()).select_from(table)).scalar_one()
        return number


def column(database: Database, table: Any, name: str) -> list[Any]:
    with database.reading() as tx:
        return list(tx.execute(select(table.c[name]).order_by(table.c.id)).scalars())


def newest(database: Database, workspace: Workspace, uuid: str) -> dict[str, Any]:
    """The newest definition of a flow."""
    with database.reading() as tx:
        flow_id = find_flow(tx, workspace.id, uuid)
        assert flow_id is not None
        number = tx.execute(select(flow.c.definition_revision).where(flow.c.id == flow_id)).scalar_one()
        return read_revision(tx, workspace.id, flow_id, number)


def actions_of(definition: dict[str, Any]) -> list[dict[str, Any]]:
    return [action for node in definition["nodes"] for action in node["actions"]]


class TestImport:
    def test_a_file_brings_its_flows_and_all_they_need(self, database: Database, workspace: Workspace) -> None:
        report = bring_in(database, workspace, read_registration())

        assert changes(report) == ["created"] * 6
        assert column(database, flow, "name") == ["Registration", "Consent", "Checkup Reminder"]
        assert column(database, field, "key") == ["age", "due_date", "consent_date"]
        assert column(database, group, "name") == ["Open Tickets", "Registered", "Adults"]
        assert column(database, group, "query")[1:] == [None, "fields.age >= 18"]
        assert column(database, label, "name") == ["Consent given"]
        assert column(database, topic, "name") == ["General", "Registrations"]
        assert column(database, global_value, "key") == ["clinic_phone"]
        assert column(database, global_value, "value") == [""]
        with database.reading() as tx:
            assert find_resthook(tx, workspace.id, "new-registration") is not None

    def test_the_same_file_again_changes_nothing(self, database: Database, workspace: Workspace) -> None:
        bring_in(database, workspace, read_registration())
        tables = (flow, flow_revision, trigger, campaign_event, group, field, label, topic, global_value)
        before = [column(database, table, "id") for table in tables], column(database, flow, "modified_on")

        report = bring_in(database, workspace, read_registration())

        assert changes(report) == ["unchanged"] * 6
        assert not any(report.made.values())
        assert ([column(database, table, "id") for table in tables], column(database, flow, "modified_on")) == before

    def test_flows_keep_their_uuids(self, database: Database, workspace: Workspace) -> None:
        document = read_registration()

        bring_in(database, workspace, document)

        assert column(database, flow, "uuid") == [one["uuid"] for one in document["flows"]]

    def test_a_second_workspace_gets_flows_of_its_own_that_enter_each_other(
        self, database: Database, workspace: Workspace, other_workspace: Workspace
    ) -> None:
        bring_in(database, workspace, read_registration())

        report = bring_in(database, other_workspace, read_registration())

        registration, consent, _ = (one["uuid"] for one in report.flows)
        assert len(set(column(database, flow, "uuid"))) == 6
        definition = newest(database, other_workspace, registration)
        entered = [action["flow"] for action in actions_of(definition) if action["type"] == "enter_flow"]
        assert entered == [{"uuid": consent, "name": "Consent"}]
        assert definition["uuid"] == registration

    def test_a_changed_flow_gets_another_revision(self, database: Database, workspace: Workspace) -> None:
        given = make_definition(say("Hello"))
        bring_in(database, workspace, make_file(given))
        given["nodes"][0]["actions"][0]["text"] = "Hello again"

        report = bring_in(database, workspace, make_file(given))

        assert changes(report) == ["updated"]
        assert column(database, flow_revision, "number") == [1, 2]
        assert newest(database, workspace, given["uuid"])["revision"] == 2
        assert actions_of(newest(database, workspace, given["uuid"]))[0]["text"] == "Hello again"

    def test_a_flow_of_another_server_is_found_by_its_name(self, database: Database, workspace: Workspace) -> None:
        known = make_definition(say("Hello"))
        bring_in(database, workspace, make_file(known))

        report = bring_in(database, workspace, make_file(make_definition(say("Hi"), name="wELCOME")))

        assert [one["uuid"] for one in report.flows] == [known["uuid"]]
        assert column(database, flow, "name") == ["wELCOME"]

    def test_long_names_are_cut_numbered_and_reported(self, database: Database, workspace: Workspace) -> None:
        long, cut = "x" * 70, "x" * 64
        group_action = {"type": "add_contact_groups", "groups": [{"uuid": new_uuid(), "name": long}]}
        second = make_definition(name=long + "2")
        entering = {"type": "enter_flow", "flow": {"uuid": second["uuid"], "name": long + "2"}}
        document = make_file(make_definition(group_action, entering, name=long + "1"), second)

        report = bring_in(database, workspace, document)

        assert [each["name"] for each in report.flows] == [cut, f"{cut[:62]} 2"]
        assert [(each["name"], each["new_name"]) for each in report.renamed] == [
            (long + "1", cut),
            (long + "2", cut),
            (cut, f"{cut[:62]} 2"),
        ]
        assert cut in column(database, group, "name")
        assert report.flows[0]["issues"] == []

    def test_a_name_that_another_flow_has_gets_a_number(self, database: Database, workspace: Workspace) -> None:
        first, second = make_definition(name="Welcome"), make_definition(name="Goodbye")
        bring_in(database, workspace, make_file(first, second))

        bring_in(database, workspace, make_file({**second, "name": "Welcome"}))

        assert column(database, flow, "name") == ["Welcome", "Welcome 2"]

    def test_flows_may_exchange_their_names(self, database: Database, workspace: Workspace) -> None:
        first, second = make_definition(name="One"), make_definition(name="Two")
        bring_in(database, workspace, make_file(first, second))

        bring_in(database, workspace, make_file({**first, "name": "Two"}, {**second, "name": "One"}))

        assert column(database, flow, "name") == ["Two", "One"]

    def test_an_archived_flow_comes_back(self, database: Database, workspace: Workspace) -> None:
        given = make_definition(say("Hello"))
        bring_in(database, workspace, make_file(given))
        with database.writing() as tx:
            flow_id = find_flow(tx, workspace.id, given["uuid"])
        assert flow_id is not None
        archive_flow(database, workspace.id, flow_id)

        report = bring_in(database, workspace, make_file(given))

        assert changes(report) == ["updated"]
        assert column(database, flow, "is_archived") == [False]

    def test_flows_are_brought_to_the_version_that_is_run(self, database: Database, workspace: Workspace) -> None:
        given = make_definition(say("Hello"), spec_version="13.0.0")

        bring_in(database, workspace, make_file(given))

        assert newest(database, workspace, given["uuid"])["spec_version"] == "14.4.2"
        assert column(database, flow_revision, "spec_version") == ["14.4.2"]

    @pytest.mark.parametrize(
        ("kind", "given", "stored", "minutes"),
        [("messaging", 0, "message", 4320), ("voice", 0, "voice", 5), ("messaging_offline", 0, "survey", 0)],
    )
    def test_flows_expire_after_what_their_type_says(
        self, database: Database, workspace: Workspace, kind: str, given: int, stored: str, minutes: int
    ) -> None:
        bring_in(database, workspace, make_file(make_definition(type=kind, expire_after_minutes=given)))

        assert column(database, flow, "type") == [stored]
        assert column(database, flow, "expires_after_minutes") == [minutes]


class TestReferences:
    def test_groups_and_labels_are_found_by_name(self, database: Database, workspace: Workspace) -> None:
        with database.writing() as tx:
            create_group(tx, workspace.id, "Mothers")
            create_label(tx, workspace.id, "Praise")
        given = make_definition(
            {"type": "add_contact_groups", "groups": [{"uuid": new_uuid(), "name": "MOTHERS"}]},
            {"type": "add_input_labels", "labels": [{"name_match": "praise"}]},
        )

        bring_in(database, workspace, make_file(given))

        groups, labels = actions_of(newest(database, workspace, given["uuid"]))
        assert groups["groups"] == [{"uuid": column(database, group, "uuid")[1], "name": "Mothers"}]
        assert labels["labels"] == [{"uuid": column(database, label, "uuid")[0], "name": "Praise"}]

    def test_a_field_that_the_workspace_has_keeps_its_type(self, database: Database, workspace: Workspace) -> None:
        with database.writing() as tx:
            create_field(tx, workspace.id, "Age", "text")

        bring_in(database, workspace, make_file(fields=[{"key": "age", "name": "Years", "type": "number"}]))

        assert column(database, field, "type") == ["text"]

    def test_a_field_whose_name_is_taken_gets_another(self, database: Database, workspace: Workspace) -> None:
        with database.writing() as tx:
            create_field(tx, workspace.id, "Age", "number")

        bring_in(database, workspace, make_file(fields=[{"key": "age_in_years", "name": "age", "type": "number"}]))

        assert column(database, field, "name") == ["Age", "Age In Years"]

    def test_what_cannot_be_made_is_an_issue_of_the_flow(self, database: Database, workspace: Workspace) -> None:
        entering = {"type": "enter_flow", "flow": {"uuid": new_uuid(), "name": "Nowhere"}}

        report = bring_in(database, workspace, make_file(make_definition(entering)))

        assert [issue["type"] for issue in report.flows[0]["issues"]] == ["missing_dependency"]
        assert column(database, flow, "issues")[0] == report.flows[0]["issues"]


class TestRefusal:
    @pytest.mark.together
    @pytest.mark.parametrize(
        ("document", "place"),
        [
            (make_file(make_definition(name="")), "flows[0]"),
            (make_file(make_definition(say("zero \0 byte"))), "NUL"),
            (make_file(make_definition(_ui=10**30)), "stored"),
            (make_file(fields=[{"key": "1st", "name": "First", "type": "text"}]), "fields[0].key"),
            (make_file(groups=[{"uuid": None, "name": "Adults", "query": "age >"}]), "groups[0]"),
        ],
    )
    def test_a_bad_file_is_refused_by_place(
        self, database: Database, workspace: Workspace, document: Any, place: str
    ) -> None:
        with pytest.raises(ImportRefused) as caught:
            bring_in(database, workspace, document)

        assert place in str(caught.value)

    def test_nothing_is_changed_by_a_file_that_is_bad_at_its_end(
        self, database: Database, workspace: Workspace
    ) -> None:
        document = read_registration()
        document["campaigns"][0]["events"][0] |= {"event_type": "F", "flow": {"uuid": new_uuid(), "name": "Nowhere"}}

        with pytest.raises(ImportRefused) as caught:
            bring_in(database, workspace, document)

        assert str(caught.value).startswith("campaigns[0].events[0].flow: ")
        assert [count(database, table) for table in (flow, field, label, trigger)] == [0, 0, 0, 0]

    def test_a_backslash_before_the_word_of_an_escape_is_text(self, database: Database, workspace: Workspace) -> None:
        given = make_definition(say("C:\\u0000"))

        bring_in(database, workspace, make_file(given))

        assert actions_of(newest(database, workspace, given["uuid"]))[0]["text"] == "C:\\u0000"

    def test_what_there_is_no_room_for_is_named(self, database: Database, workspace: Workspace) -> None:
        with database.writing() as tx:
            for number in range(250):
                create_label(tx, workspace.id, f"Label {number}")
        given = make_definition({"type": "add_input_labels", "labels": [{"uuid": new_uuid(), "name": "Last"}]})

        with pytest.raises(LimitReached, match='label "Last"'):
            bring_in(database, workspace, make_file(given))

    def test_two_flows_of_one_uuid_are_refused(self, database: Database, workspace: Workspace) -> None:
        given = make_definition()

        with pytest.raises(ImportRefused, match=r"flows\[1\]\.uuid"):
            bring_in(database, workspace, make_file(given, {**given, "name": "Other"}))
