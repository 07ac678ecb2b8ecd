"""The connections that channels keep to providers, as commands and the doctor tell of them."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import insert, select

from persistence.channels.health import list_connections
from persistence.database import Database
from persistence.sql.columns import new_uuid
from persistence.tables.channels import channel, channel_connection
from persistence.workspaces.records import Workspace
from relayboard.doctor.database import judge_connections
from tests.channel_rows import add_channel

REASON = "The SMS centre refused the bind with 0x0E."
ON = "2026-03-02T08:00:00"


@pytest.mark.parametrize(
    ("state", "is_held", "told", "sentence"),
    [
        ("bound", True, "bound", "channels keep 1 to providers, and all stand"),
        ("connecting", True, "connecting", None),
        ("failed", True, "failed", f"has failed at {ON}Z: {REASON} Correct its settings"),
        ("bound", False, "ended", f"has ended at {ON}Z, and no worker has it: start one"),
    ],
)
def test_the_state_of_a_connection_is_told_with_its_begin_and_its_reason(
    database: Database,
    workspace: Workspace,
    run: Callable[..., tuple[int, Any]],
    command: Callable[..., tuple[int, Any]],
    state: str,
    is_held: bool,
    told: str,
    sentence: str | None,
) -> None:
    channel_id = add_channel(database, workspace, type="smpp")
    reason = REASON if state == "failed" else None
    with database.writing() as tx:
        held = {"holder": new_uuid(), "leased_until": tx.now + timedelta(days=9000 if is_held else -1)}
        values = {"workspace_id": workspace.id, "channel_id": channel_id, "remembered": {}, "changed_on": tx.now}
        tx.execute(insert(channel_connection).values(**values, **held, state=state, reason=reason))
        uuid = tx.execute(select(channel.c.uuid)).scalar_one()

    _, (listed,) = run("channel", "list")
    _, shown = command("channel", "show", "--channel", uuid)
    with database.reading() as tx:
        found = list(judge_connections(list_connections(tx)))

    changed_on = listed["connection"].pop("changed_on")
    assert changed_on.startswith(ON)
    assert listed["connection"] == {"state": told, "reason": reason}
    assert shown["connection"] == {"state": told, "reason": reason, "changed_on": changed_on}
    assert [sentence is not None and sentence in each.sentence for each in found] == [True] * (sentence is not None)
    assert [each.status for each in found] == (["ok" if told == "bound" else "warning"] if sentence else [])
