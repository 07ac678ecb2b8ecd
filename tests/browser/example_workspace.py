"""The workspace of the contract's examples: every record that they name exists."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from sqlalchemy import insert, update

from persistence.database import Database
from persistence.relayers.relayers import PhoneIdentity, register_phone
from persistence.sql.names import name_key
from persistence.tables.channels import channel
from persistence.tables.complete import metadata
from persistence.tables.contacts import group
from persistence.tables.messages import message
from persistence.tokens import Origin
from persistence.users import add_member
from persistence.workspaces.records import Workspace
from tests.contract.filled_workspace import Filled, fill_workspace
from tests.factories import make_field, make_named

NAMED: Mapping[str, tuple[str, ...]] = {
    "app_user": ("1f2e3d4c-5b6a-4798-8071-625344352617",),
    "broadcast": ("0197a6c1-52d0-7a0e-9f57-5d0c1b7e2a11",),
    "campaign": ("2e0d9d2f-6b0a-4f0c-8f2e-b7d3c5a91c44",),
    "contact": (
        "6d1f0a52-5f0e-4a4e-8d09-3d0c0a1f7b21",
        "0c7b6a59-4838-4726-9516-05f4e3d2c1b0",
        "09d23a05-47fe-41e4-bfe9-b8f6b119e9ab",
    ),
    "contact_group": ("9a3c5b1e-1c7d-4e9b-a5a0-0d1e2f3a4b5c",),
    "contact_import": ("0197a6e4-9a01-7c2f-a1d1-2f4c5b6a7081",),
    "contact_job": ("0197a6e4-9a03-7c2f-a1d1-2f4c5b6a7091",),
    "delivery": ("0197a6e4-77aa-7c2f-a1d1-2f4c5b6a7081",),
    "flow": ("c2a7b6f0-3f19-4d53-9f39-77a0f4a1a111",),
    "label": ("51a0c0a4-8a6b-4a0c-9b0e-6f2d1c3b4a5f",),
    "media": ("0f9e8d7c-6b5a-4c3d-8e2f-1a0b9c8d7e6f",),
    "ticket": ("0197a700-1111-7222-8333-944455566677",),
    "topic": ("d0a1b2c3-d4e5-4f60-8718-293a4b5c6d7e",),
}
"""The UUIDs of the first records of each table."""
MESSAGES = (90301, 90355, 90357)
UNUSED_GROUP = "8d2b4a0d-0b6c-4d8a-94bf-1c2d3e4f5a6b"
"""A group that nothing needs."""
CLAIM_CODE = "K7QW3ZP9M"


def fill_as_in_examples(database: Database, workspace: Workspace, generation: str) -> Filled:
    """Rows in every table, including those that the examples of this generation name."""
    filled = fill_workspace(database, workspace, count=4)
    for name in ("Age", "District"):
        make_field(database, workspace, name)
    if generation == "v2":  # v1 makes it in an example
        make_field(database, workspace, "Due Date", "datetime")
    make_named(database, workspace, group, ["Old list"], uuid=UNUSED_GROUP)
    with database.writing() as tx:
        add_member(tx, workspace.id, "joel@example.org", "editor", first_name="Joel", last_name="Otieno")
        for table_name, uuids in NAMED.items():
            table = metadata.tables[table_name]
            for row, uuid in zip(filled.rows[table_name], uuids, strict=False):
                tx.execute(update(table).where(table.c.id == row.id).values(uuid=uuid))
        # A contact has one open ticket: the one that is opened in an example must have none.
        ticket = metadata.tables["ticket"]
        named = ticket.c.contact_id == filled.rows["contact"][2].id
        tx.execute(update(ticket).where(named).values(status="closed", closed_on=tx.now))
        if generation == "v1":  # which knows groups by name and cannot make them
            known = {"name": "Expecting mothers", "name_key": name_key("Expecting mothers")}
            tx.execute(update(group).where(group.c.id == filled.first("contact_group").id).values(known))
        gateway = filled.rows["channel"][1].id
        tx.execute(update(channel).where(channel.c.id == gateway).values(type="external"))
        resthook = metadata.tables["resthook"]
        tx.execute(update(resthook).where(resthook.c.id == filled.first("resthook").id).values(slug="new-registration"))
        tx.execute(insert(message).values([_copy(filled.first("message"), id=number) for number in MESSAGES]))
        phone = PhoneIdentity("3f0c1a52-8b7e-4d19-9a60-5c2f7be0d411", "tok-A1", "KE", "SM-A135F", "13")
        registered = register_phone(tx, phone, Origin("127.0.0.1", 100, timedelta(hours=1)))
        tx.execute(update(channel).where(channel.c.id == registered.channel_id).values(claim_code=CLAIM_CODE))
    return filled


def _copy(row: Any, **values: Any) -> dict[str, Any]:
    """Another row like this one."""
    computed = {column.name for column in message.c if column.computed is not None}
    given = {name: value for name, value in row._mapping.items() if name not in ("uuid", *computed)}
    return given | values
