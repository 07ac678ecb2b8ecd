"""Importing the campaigns and triggers of export files."""

from typing import Any

import pytest
from sqlalchemy import select

from persistence.database import Database
from persistence.definitions.importing import ImportRefused
from persistence.fields import create_field
from persistence.sql.columns import new_uuid
from persistence.tables.campaigns import campaign, campaign_event, trigger, trigger_group
from persistence.tables.channels import channel
from persistence.tables.contacts import group
from persistence.tables.flows import flow
from persistence.triggers.matching import load_triggers
from persistence.triggers.records import CATCH_ALL, NewTrigger, create_trigger
from persistence.workspaces.records import Workspace
from tests.channel_rows import add_channel
from tests.definition_files import bring_in, make_definition, make_file, read_registration
from tests.run_rows import add_flow

DUE = {"key": "due_date", "label": "Due Date"}


def rows(database: Database, table: Any) -> list[Any]:
    with database.reading() as tx:
        return list(tx.execute(select(table).order_by(table.c.id)).all())


def make_event(**values: Any) -> dict[str, Any]:
    event = {"offset": 1, "unit": "D", "event_type": "M", "delivery_hour": -1, "relative_to": DUE, "start_mode": "I"}
    return event | {"message": {"eng": "Hello"}, "base_language": "eng"} | values


def make_campaign(*events: dict[str, Any], **values: Any) -> dict[str, Any]:
    return {"uuid": new_uuid(), "name": "Visits", "group": {"name": "Mothers"}, "events": list(events), **values}


def make_trigger(definition: dict[str, Any], kind: str = "K", **values: Any) -> dict[str, Any]:
    words = {"keywords": ["join"], "match_type": "F"} if kind == "K" else {}
    named = {"uuid": definition["uuid"], "name": definition["name"]}
    parts: dict[str, Any] = {"channel": None, "groups": [], "exclude_groups": []}
    return {"trigger_type": kind, "flow": named, **parts, **words, **values}


class TestCampaigns:
    def test_events_send_messages_and_start_flows(self, database: Database, workspace: Workspace) -> None:
        bring_in(database, workspace, read_registration())

        first, second = rows(database, campaign_event)
        assert (first.relative_to, first.offset, first.unit, first.delivery_hour) == ("due_date", -1, "days", 9)
        assert first.flow_id == rows(database, flow)[2].id
        assert (second.offset, second.unit, second.base_language) == (2, "weeks", "eng")
        assert second.message["kin"].startswith("Isuzuma")

    def test_a_changed_event_keeps_its_row_and_one_that_is_gone_is_deleted(
        self, database: Database, workspace: Workspace
    ) -> None:
        given = make_campaign(make_event())
        bring_in(database, workspace, make_file(campaigns=[given]))

        report = bring_in(database, workspace, make_file(campaigns=[{**given, "events": [make_event(offset=3)]}]))

        assert [one["change"] for one in report.campaigns] == ["updated"]
        assert [(row.offset, row.is_deleted) for row in rows(database, campaign_event)] == [(3, False)]
        bring_in(
            database, workspace, make_file(campaigns=[{**given, "events": [{**make_event(), "uuid": new_uuid()}]}])
        )
        assert [(row.offset, row.is_deleted) for row in rows(database, campaign_event)] == [(3, True), (1, False)]
        assert [row.uuid for row in rows(database, campaign)] == [given["uuid"]]

    @pytest.mark.parametrize(("given", "base"), [("Hello", ""), ({"base": "Hello"}, "base"), ({"und": "Hello"}, "und")])
    def test_texts_of_no_language_are_in_that_of_the_workspace(
        self, database: Database, workspace: Workspace, given: Any, base: str
    ) -> None:
        document = make_file(campaigns=[make_campaign(make_event(message=given, base_language=base))])
        bring_in(database, workspace, document)

        report = bring_in(database, workspace, document)

        assert [one["change"] for one in report.campaigns] == ["unchanged"]
        assert [(row.message, row.base_language) for row in rows(database, campaign_event)] == [
            ({"eng": "Hello"}, "eng")
        ]

    def test_a_date_that_only_a_campaign_names_becomes_a_field_of_dates(
        self, database: Database, workspace: Workspace
    ) -> None:
        reading = make_definition({"type": "send_msg", "text": "Due on @fields.due_date"})

        bring_in(database, workspace, make_file(reading, campaigns=[make_campaign(make_event())]))

        assert rows(database, campaign_event)[0].relative_to == "due_date"

    def test_a_campaign_on_a_field_without_dates_is_refused(self, database: Database, workspace: Workspace) -> None:
        with database.writing() as tx:
            create_field(tx, workspace.id, "Due Date", "text")

        with pytest.raises(ImportRefused, match=r"^campaigns\[0\]: relative_to: This field is not a date field"):
            bring_in(database, workspace, make_file(campaigns=[make_campaign(make_event())]))


class TestTriggers:
    def test_triggers_start_the_flows_of_the_file(self, database: Database, workspace: Workspace) -> None:
        bring_in(database, workspace, read_registration())

        with database.reading() as tx:
            keyword, missed = load_triggers(tx, workspace.id)
        registered = rows(database, group)[1].uuid
        assert (keyword.type, keyword.flow_name, keyword.keywords) == ("keyword", "Registration", ["join", "register"])
        assert (keyword.group_uuids, keyword.excluded_group_uuids) == ((), (registered,))
        assert (missed.type, missed.flow_name, missed.group_uuids) == (
            "missed_call",
            "Checkup Reminder",
            (registered,),
        )

    @pytest.mark.parametrize(
        ("letter", "kind"), [("C", "catch_all"), ("M", "missed_call"), ("N", "new_conversation"), ("T", "ticket")]
    )
    def test_letters_stand_for_types(self, database: Database, workspace: Workspace, letter: str, kind: str) -> None:
        given = make_definition()

        bring_in(database, workspace, make_file(given, triggers=[make_trigger(given, letter)]))

        assert [row.type for row in rows(database, trigger)] == [kind]

    def test_the_keyword_of_an_old_file_is_one_of_one(self, database: Database, workspace: Workspace) -> None:
        given = make_definition()
        old = make_trigger(given)
        del old["keywords"], old["match_type"]

        bring_in(database, workspace, make_file(given, triggers=[{**old, "keyword": "JOIN"}]))

        assert [(row.keywords, row.match) for row in rows(database, trigger)] == [(["join"], "first")]

    def test_triggers_of_types_there_are_not_are_named_and_left_out(
        self, database: Database, workspace: Workspace
    ) -> None:
        given = make_definition()

        report = bring_in(database, workspace, make_file(given, triggers=[make_trigger(given, "R")]))

        assert [one["trigger_type"] for one in report.skipped] == ["R"]
        assert rows(database, trigger) == []

    def test_an_archived_trigger_comes_back(self, database: Database, workspace: Workspace) -> None:
        given = make_definition()
        document = make_file(given, triggers=[make_trigger(given)])
        bring_in(database, workspace, document)
        with database.writing() as tx:
            tx.execute(trigger.update().values(is_archived=True))

        report = bring_in(database, workspace, document)

        assert [one["change"] for one in report.triggers] == ["updated"]
        assert [row.is_archived for row in rows(database, trigger)] == [False]

    def test_a_trigger_that_claims_the_same_is_archived(self, database: Database, workspace: Workspace) -> None:
        flow_id = add_flow(database, workspace, "Old")
        with database.writing() as tx:
            create_trigger(tx, workspace.id, NewTrigger(CATCH_ALL, flow_id))
        given = make_definition()

        bring_in(database, workspace, make_file(given, triggers=[make_trigger(given, "C")]))

        assert [(row.flow_id, row.is_archived) for row in rows(database, trigger)] == [
            (flow_id, True),
            (rows(database, flow)[1].id, False),
        ]

    def test_groups_that_only_a_trigger_names_are_made(self, database: Database, workspace: Workspace) -> None:
        given = make_definition()
        named: dict[str, Any] = {"groups": [{"uuid": new_uuid(), "name": "Mothers"}]}

        bring_in(database, workspace, make_file(given, triggers=[make_trigger(given, **named)]))

        with database.reading() as tx:
            linked = tx.execute(select(trigger_group.c.group_id)).scalars().all()
        assert linked == [rows(database, group)[1].id]

    def test_a_channel_is_kept_where_there_is_one_of_its_uuid(self, database: Database, workspace: Workspace) -> None:
        channel_id = add_channel(database, workspace)
        with database.reading() as tx:
            uuid = tx.execute(select(channel.c.uuid)).scalar_one()
        given = make_definition()
        triggers = [
            make_trigger(given, channel={"uuid": uuid, "name": "Any"}),
            make_trigger(given, "C", channel={"uuid": new_uuid(), "name": "Elsewhere"}),
        ]

        bring_in(database, workspace, make_file(given, triggers=triggers))

        assert [row.channel_id for row in rows(database, trigger)] == [channel_id, None]

    def test_a_trigger_that_cannot_be_is_skipped_and_the_rest_comes_in(
        self, database: Database, workspace: Workspace
    ) -> None:
        given = make_definition()
        impossible = make_trigger(given, keywords=["join us"])
        lost = {**make_trigger(given), "flow": {"uuid": new_uuid(), "name": "Nowhere"}}
        unknown = {**make_trigger(given), "trigger_type": "Z"}

        triggers = [impossible, lost, unknown, make_trigger(given, keywords=["join"])]
        report = bring_in(database, workspace, make_file(given, triggers=triggers))

        assert [each["keywords"] for each in report.triggers] == [["join"]]
        assert [(each["trigger_type"], each["problem"].split(":")[0]) for each in report.skipped] == [
            ("Z", "triggers[2].trigger_type"),
            ("K", "keywords"),
            ("K", "flow"),
        ]
