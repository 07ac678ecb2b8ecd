"""The channel by which a message of a flow goes."""

import pytest
from sqlalchemy import select

from persistence.database import Database
from persistence.sessions.replies import FlowMessage, send_replies
from persistence.tables.channels import channel
from persistence.tables.messages import message
from persistence.workspaces import Workspace
from tests.channel_rows import add_channel, add_contact
from tests.run_rows import uuid_of

NUMBER = "+254722000111"


@pytest.mark.parametrize("chosen", [0, 1])
def test_a_message_goes_by_the_channel_that_the_engine_chose(
    database: Database, workspace: Workspace, chosen: int
) -> None:
    ids = [add_channel(database, workspace, name=name) for name in ("First", "Second")]
    contact_id = add_contact(database, workspace, NUMBER)
    channel_uuid = uuid_of(database, channel, ids[chosen])
    content = {"text": "Hi", "urn": f"tel:{NUMBER}", "channel": {"uuid": channel_uuid}}
    with database.writing() as tx:
        send_replies(tx, workspace.id, [FlowMessage(contact_id, None, content)])

        assert tx.execute(select(message.c.channel_id)).scalars().all() == [ids[chosen]]
