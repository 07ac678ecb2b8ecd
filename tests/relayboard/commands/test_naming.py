"""Options that name a record take its name, whatever the command."""

import pytest

from persistence.channels.channels import find_channels_named
from persistence.contacts.finding import find_contacts_called
from persistence.database import Database
from persistence.workspaces import Workspace
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
