"""HTTP gateways: their channels and waiting messages."""

from typing import Any

from sqlalchemy import select

from flows.urns import Urn
from persistence.channels.channels import create_gateway
from persistence.contacts.urns import ensure_owners
from persistence.database import Database
from persistence.messages.outgoing import Draft, create_outgoing
from persistence.tables.channels import channel
from persistence.tables.messages import message
from persistence.workspaces.records import Workspace

GATEWAY_TYPE = "external"
"""The type of channel that stands for all gateways."""

SECRET = "secret-of-the-gateway-in-tests"
THREE_PARTS = " ".join(["one" + "e" * 150, "two" + "o" * 150, "end" + "d" * 150])


def add_gateway(database: Database, workspace: Workspace, url: str, **config: Any) -> int:
    """A gateway that is called at a URL; its id."""
    with database.writing() as tx:
        options: dict[str, Any] = {
            "schemes": ["tel"],
            "country": "RW",
            "config": {"send_url": url, **config},
            "secret": SECRET,
        }
        uuid = create_gateway(tx, workspace.id, GATEWAY_TYPE, name="Gateway", address="+250788000000", **options)
        return int(tx.execute(select(channel.c.id).where(channel.c.uuid == uuid)).scalar_one())


def queue_messages(
    database: Database,
    workspace: Workspace,
    channel_id: int,
    count: int = 1,
    text: str = "Welcome",
    *,
    is_bulk: bool = False,
) -> list[int]:
    """Messages to a contact each, waiting for a gateway; their ids."""
    with database.writing() as tx:
        tx.may_pause()
        urns = [Urn("tel", f"+25078{number:07}") for number in range(count)]
        owners = ensure_owners(tx, workspace.id, urns)
        drafts = [Draft(owners[urn.identity].contact_id, text, is_bulk=is_bulk) for urn in urns]
        return create_outgoing(tx, workspace.id, drafts, channel_id=channel_id)


def states_of(database: Database, message_ids: list[int]) -> list[tuple[str, str | None]]:
    """Status and reason of failure of each message."""
    columns = (message.c.id, message.c.status, message.c.failed_reason)
    with database.reading() as tx:
        rows = tx.execute(select(*columns).where(message.c.id.in_(message_ids)))
        found = {row.id: (row.status, row.failed_reason) for row in rows}
    return [found[message_id] for message_id in message_ids]
