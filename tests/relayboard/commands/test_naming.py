"""Options that name a record take its name, whatever the command."""

import pytest
from sqlalchemy import select

from persistence.channels.channels import find_channels_named
from persistence.contacts.owners import find_contacts_called
from persistence.database import Database
from persistence.fields import create_field
from persistence.resthooks import create_subscriber, ensure_resthook
from persistence.tables.accounts import user
from persistence.users import add_member, remove_member
from persistence.workspaces.records import Workspace
from relayboard.commands.naming import resolve_name
from relayboard.commands.output import CommandFailed
from tests.api import Api
from tests.channel_rows import add_channel


@pytest.fixture
def amina(api: Api) -> str:
    uuid: str = api.post("/api/v2/contacts.json", {"name": "Amina", "urns": ["tel:+250788000111"]}).json()["uuid"]
    return uuid


@pytest.mark.parametrize("text", ["tel:+250788000111", "+250788000111", "Amina"])
def test_a_contact_is_named_by_its_address_or_its_name(
    database: Database, workspace: Workspace, amina: str, text: str
) -> None:
    with database.reading() as tx:
        assert find_contacts_called(tx, workspace, text) == [amina]


def test_a_group_and_a_topic_are_named_by_their_names(api: Api, database: Database, workspace: Workspace) -> None:
    group = api.post("/api/v2/groups.json", {"name": "Mothers"}).json()["uuid"]
    topic = api.post("/api/v2/topics.json", {"name": "Billing"}).json()["uuid"]

    with database.reading() as tx:
        assert resolve_name(tx, [workspace], "group", "mothers") == group
        assert resolve_name(tx, [workspace], "topic", "Billing") == topic
        assert resolve_name(tx, [workspace], "topic", topic) == topic


def test_a_name_of_nothing_and_a_name_of_several_are_refused(
    api: Api, database: Database, workspace: Workspace, amina: str
) -> None:
    api.post("/api/v2/contacts.json", {"name": "Amina"})

    with database.reading() as tx:
        with pytest.raises(CommandFailed, match='there is no flow "Nothing"'):
            resolve_name(tx, [workspace], "flow", "Nothing")
        with pytest.raises(CommandFailed, match="several have the name"):
            resolve_name(tx, [workspace], "contact", "Amina")


def test_a_channel_is_named_by_its_name_in_its_workspace(
    database: Database, workspace: Workspace, other_workspace: Workspace
) -> None:
    add_channel(database, workspace, name="Front desk")

    with database.reading() as tx:
        assert len(find_channels_named(tx, workspace.id, "Front desk")) == 1
        assert find_channels_named(tx, other_workspace.id, "Front desk") == []


def test_a_user_is_named_by_address_uuid_or_name(database: Database, workspace: Workspace) -> None:
    with database.writing() as tx:
        add_member(tx, workspace.id, "Ann.Lee@example.org", "agent", first_name="Ann", last_name="Lee")
        add_member(tx, workspace.id, "former@example.org", "agent")
        remove_member(tx, workspace.id, "former@example.org")
        uuid = tx.execute(select(user.c.uuid).where(user.c.email_key == "ann.lee@example.org")).scalar_one()

    with database.reading() as tx:
        for text in ("ann.lee@EXAMPLE.org", uuid, "ann  lee"):
            assert resolve_name(tx, [workspace], "user", text) == "Ann.Lee@example.org"
        assert resolve_name(tx, [workspace], "user", "former@example.org") == "former@example.org"
        for text in ("nobody@example.org", "Nobody", "", " ", "00000000-0000-4000-8000-000000000000"):
            with pytest.raises(CommandFailed, match="there is no user"):
                resolve_name(tx, [workspace], "user", text)


def test_a_field_is_named_by_its_key_or_its_name(database: Database, workspace: Workspace) -> None:
    with database.writing() as tx:
        create_field(tx, workspace.id, "Year of birth", "number")

    with database.reading() as tx:
        for text in ("year_of_birth", "year of Birth"):
            assert resolve_name(tx, [workspace], "field", text) == "year_of_birth"
        with pytest.raises(CommandFailed, match='there is no field "age"'):
            resolve_name(tx, [workspace], "field", "age")


def test_a_receiver_is_a_channel_or_a_subscriber_of_the_workspace(
    database: Database, workspace: Workspace, other_workspace: Workspace
) -> None:
    add_channel(database, workspace, name="Front desk")
    with database.writing() as tx:
        ensure_resthook(tx, workspace.id, "new-report")
        number = str(create_subscriber(tx, workspace.id, "new-report", "https://hooks.example.org/x"))

    with database.reading() as tx:
        (uuid,) = find_channels_named(tx, workspace.id, "Front desk")
        for text, found in (("front desk", uuid), (uuid, uuid), (number, number)):
            assert resolve_name(tx, [workspace], "receiver", text, must_exist=True) == found
        for text in ("9" * 30, "4711", "Back desk"):
            with pytest.raises(CommandFailed, match="there is no receiver"):
                resolve_name(tx, [workspace], "receiver", text)
        with pytest.raises(CommandFailed, match="there is no receiver"):
            resolve_name(tx, [other_workspace], "receiver", uuid, must_exist=True)
        with pytest.raises(CommandFailed, match="name it by its UUID"):
            resolve_name(tx, [workspace], "broadcast", "Clinic closed")
