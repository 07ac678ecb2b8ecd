"""Archiving flows, and refusing to delete what flows use."""

import pytest
from sqlalchemy import select

from persistence.database import Database
from persistence.errors import Refused
from persistence.flows.records import archive_flow, find_flow
from persistence.tables.campaigns import campaign
from persistence.tables.flows import flow, flow_run, flow_session
from persistence.triggers.matching import load_triggers
from persistence.triggers.records import CATCH_ALL, NewTrigger, create_trigger
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.definition_files import bring_in, make_definition, make_file, read_registration
from tests.run_rows import add_flow, add_people, add_waiting


def archive(database: Database, workspace: Workspace, flow_id: int | None) -> None:
    assert flow_id is not None
    archive_flow(database, workspace.id, flow_id)


def named(database: Database, workspace: Workspace, uuid: str) -> int | None:
    with database.reading() as tx:
        return find_flow(tx, workspace.id, uuid)


class TestArchiveFlow:
    def test_its_sessions_are_interrupted_and_those_of_other_flows_are_not(
        self, database: Database, workspace: Workspace
    ) -> None:
        leaving, staying = (add_flow(database, workspace, name) for name in ("Leaving", "Staying"))
        first, second = add_people(database, workspace, 2)
        add_waiting(database, workspace, leaving, first)
        add_waiting(database, workspace, staying, second)

        archive(database, workspace, leaving)

        with database.reading() as tx:
            sessions = tx.execute(select(flow_session.c.status).order_by(flow_session.c.id)).scalars().all()
            runs = tx.execute(select(flow_run.c.status).order_by(flow_run.c.id)).scalars().all()
        assert (sessions, runs) == (["interrupted", "waiting"], ["interrupted", "waiting"])

    def test_its_triggers_are_archived(self, database: Database, workspace: Workspace) -> None:
        flow_id = add_flow(database, workspace)
        with database.writing() as tx:
            create_trigger(tx, workspace.id, NewTrigger(CATCH_ALL, flow_id))

        archive(database, workspace, flow_id)

        with database.reading() as tx:
            assert load_triggers(tx, workspace.id) == []

    def test_a_flow_that_a_campaign_starts_stays_until_the_campaign_is_archived(
        self, database: Database, workspace: Workspace
    ) -> None:
        document = read_registration()
        bring_in(database, workspace, document)
        reminder = named(database, workspace, document["flows"][2]["uuid"])
        with pytest.raises(Refused):
            archive(database, workspace, reminder)
        with database.writing() as tx:
            tx.execute(campaign.update().values(is_archived=True))

        archive(database, workspace, reminder)

        with database.reading() as tx:
            assert tx.execute(select(flow.c.is_archived).where(flow.c.id == reminder)).scalar_one()


class TestWhatFlowsUse:
    @pytest.mark.parametrize(("path", "key"), [("globals", "clinic_phone"), ("fields", "consent_date")])
    def test_it_stays_while_a_flow_that_is_not_archived_uses_it(
        self, api: Api, database: Database, workspace: Workspace, path: str, key: str
    ) -> None:
        using = make_definition(
            {"type": "send_msg", "text": "@globals.clinic_phone @fields.consent_date"}, name="Letters"
        )
        bring_in(database, workspace, make_file(using))

        refused = api.delete(f"/api/v2/{path}.json", key=key)
        archive(database, workspace, named(database, workspace, using["uuid"]))
        done = api.delete(f"/api/v2/{path}.json", key=key)

        assert refused.status_code == 400
        assert 'is used by the flow "Letters"' in refused.json()["detail"]
        assert done.status_code == 204

    def test_a_group_stays_while_triggers_or_campaigns_use_it(
        self, api: Api, database: Database, workspace: Workspace
    ) -> None:
        document = read_registration()
        bring_in(database, workspace, document)
        uuid = document["groups"][0]["uuid"]

        assert api.delete("/api/v2/groups.json", uuid=uuid).status_code == 400
