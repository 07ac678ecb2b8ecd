"""Secrets and settings of gateways."""

import json
import re

import pytest

from persistence.channels.gateways import add_gateway
from persistence.channels.settings import new_gateway_secret, read_channel_settings
from persistence.channels.types import DEFAULT_GATEWAY
from persistence.database import Database
from persistence.errors import RecordMissing
from persistence.workspaces import Workspace


def test_a_secret_of_a_gateway_has_192_bits_and_fits_into_a_path() -> None:
    secrets = {new_gateway_secret() for _ in range(100)}

    assert len(secrets) == 100
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{32}", secret) for secret in secrets)


def test_settings_are_those_of_the_channel_with_this_uuid(database: Database, workspace: Workspace) -> None:
    with database.writing() as tx:
        new = {"type": DEFAULT_GATEWAY, "settings": {"send_url": "https://sms.example.org/"}}
        uuids = [add_gateway(tx, workspace.id, {**new, "name": f"{n}", "address": f"+2507880{n}"})[0] for n in range(3)]

        read = [json.loads(read_channel_settings(tx, workspace.id, each)) for each in uuids]
        assert [(each["uuid"], each["name"]) for each in read] == list(zip(uuids, "012", strict=True))
        with pytest.raises(RecordMissing):
            read_channel_settings(tx, workspace.id, "00000000-0000-4000-8000-000000000000")
