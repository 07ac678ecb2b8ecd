"""New gateways."""

import pytest

from persistence.channels import gateways
from persistence.channels.gateways import add_gateway
from persistence.channels.types import DEFAULT_GATEWAY
from persistence.database import Database
from persistence.errors import LimitReached
from persistence.workspaces import Workspace


def test_a_workspace_that_has_more_gateways_than_it_may_gets_no_other(
    database: Database, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = {"type": DEFAULT_GATEWAY, "name": "SMS", "settings": {"send_url": "https://sms.example.org/"}}
    with database.writing() as tx:
        for number in range(3):
            add_gateway(tx, workspace.id, {**new, "address": f"+25078800{number}"})
        for most in (3, 2):
            monkeypatch.setattr(gateways, "OBJECTS_PER_WORKSPACE", most)
            with pytest.raises(LimitReached, match=f"at most {most} gateways"):
                add_gateway(tx, workspace.id, {**new, "address": "+25078810"})
