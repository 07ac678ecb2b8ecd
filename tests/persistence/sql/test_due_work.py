"""Processes divide due work: one takes it from those who have little of it, another from those who have much."""

from collections.abc import Callable

import pytest

from persistence import statements
from persistence.channels.gateway_leases import list_due_gateways
from persistence.database import Database, Transaction
from persistence.leases import MUCH, Share
from persistence.messages.incoming import list_receiving_workspaces
from persistence.workspaces.records import Workspace
from persistence.workspaces.writes import create_workspace
from testbed.gateways import add_gateway, queue_messages
from tests.channel_rows import receive_messages


def list_receiving(tx: Transaction, share: Share) -> list[int]:
    return list_receiving_workspaces(tx, share)


@pytest.mark.parametrize("share", Share)
@pytest.mark.parametrize("list_due", [list_receiving_workspaces, list_due_gateways])
def test_each_share_is_found_by_prepared_statements_too(
    database: Database, list_due: Callable[[Transaction, Share], list[object]], share: Share
) -> None:
    with database.reading() as tx:
        found = [list_due(tx, share) for _ in range(statements.PREPARED_AFTER + 2)]

    assert found == [[]] * len(found)


def queue_replies(database: Database, workspace: Workspace, count: int) -> None:
    queue_messages(database, workspace, add_gateway(database, workspace, "http://one.example/send"), count)


def queue_broadcast(database: Database, workspace: Workspace, count: int) -> None:
    gateway = add_gateway(database, workspace, "http://one.example/send")
    queue_messages(database, workspace, gateway, count, is_bulk=True)


def list_owners_of_gateways(tx: Transaction, share: Share) -> list[int]:
    return [workspace_id for workspace_id, _ in list_due_gateways(tx, share)]


@pytest.mark.parametrize(
    ("fill", "list_due"),
    [
        (receive_messages, list_receiving),
        (queue_replies, list_owners_of_gateways),
        (queue_broadcast, list_owners_of_gateways),
    ],
)
def test_each_queue_is_in_one_share_by_how_much_waits_in_it(
    database: Database,
    workspace: Workspace,
    fill: Callable[[Database, Workspace, int], None],
    list_due: Callable[[Transaction, Share], list[int]],
) -> None:
    with database.writing() as tx:
        other = create_workspace(tx, "Mountain School", country="RW", timezone="Africa/Kigali")
        create_workspace(tx, "Nothing To Do", country="RW", timezone="Africa/Kigali")
    fill(database, workspace, MUCH)
    fill(database, other, MUCH - 1)

    with database.reading() as tx:
        shares = {share: sorted(list_due(tx, share)) for share in Share}

    assert shares == {
        Share.ALL: sorted([workspace.id, other.id]),
        Share.LITTLE: [other.id],
        Share.MUCH: [workspace.id],
    }
