"""Secrets and settings of gateways.

New gateways.

The settings of gateways: from texts to what is stored, and back.
"""

import json
import re
from typing import Any

import pytest

from channels.types import DEFAULT_GATEWAY, GATEWAYS
from persistence.channels import settings
from persistence.channels.settings import (
    add_gateway,
    describe_types,
    new_gateway_secret,
    read_channel_settings,
    read_config,
    show_config,
)
from persistence.database import Database
from persistence.errors import InvalidInput, LimitReached, RecordMissing
from persistence.workspaces.records import Workspace


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


def test_a_workspace_that_has_more_gateways_than_it_may_gets_no_other(
    database: Database, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = {"type": DEFAULT_GATEWAY, "name": "SMS", "settings": {"send_url": "https://sms.example.org/"}}
    with database.writing() as tx:
        for number in range(3):
            add_gateway(tx, workspace.id, {**new, "address": f"+25078800{number}"})
        for most in (3, 2):
            monkeypatch.setattr(settings, "OBJECTS_PER_WORKSPACE", most)
            with pytest.raises(LimitReached, match=f"at most {most} gateways"):
                add_gateway(tx, workspace.id, {**new, "address": "+25078810"})


URL = "https://sms.example.org/send?to={{to}}"
STORED = {"send_url": URL, "method": "POST", "content_type": "urlencoded", "max_length": 160}


def test_what_is_not_given_gets_the_defaults_of_the_type() -> None:
    assert read_config(DEFAULT_GATEWAY, {"send_url": f" {URL} "}) == STORED


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ({"max_length": "300", "method": "GET"}, STORED | {"max_length": 300, "method": "GET"}),
        ({"recognizes_repeats": "true"}, STORED | {"recognizes_repeats": True}),
        ({"recognizes_repeats": "False"}, STORED | {"recognizes_repeats": False}),
        ({"max_length": None}, STORED),
        ({"send_authorization": "***"}, STORED | {"send_authorization": "Bearer one"}),
        ({"send_authorization": None}, STORED),
        ({"send_authorization": "Bearer two"}, STORED | {"send_authorization": "Bearer two"}),
        ({"send_url": "***", "body": ""}, STORED),
    ],
)
def test_a_change_leaves_what_it_does_not_name(given: dict[str, Any], stored: dict[str, Any]) -> None:
    former = STORED | {"send_authorization": "Bearer one", "headers": {"X-Own": "1"}}
    kept = {"headers": {"X-Own": "1"}} | ({} if "send_authorization" in given else {"send_authorization": "Bearer one"})

    assert read_config(DEFAULT_GATEWAY, given, former) == stored | kept


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({}, "send_url"),
        ({"send_url": None}, "send_url"),
        ({"send_url": "ftp://sms.example.org/"}, "send_url"),
        ({"send_url": "https://user:word@sms.example.org/"}, "send_url"),
        ({"send_url": URL, "nonsense": "1"}, "nonsense"),
        ({"send_url": URL, "method": "DELETE"}, "method"),
        ({"send_url": URL, "max_length": "59"}, "max_length"),
        ({"send_url": URL, "max_length": "6401"}, "max_length"),
        ({"send_url": URL, "max_length": "1.5"}, "max_length"),
        ({"send_url": URL, "max_length": "٣٠٠"}, "max_length"),
        ({"send_url": URL, "recognizes_repeats": "yes"}, "recognizes_repeats"),
        ({"send_url": URL, "send_authorization": "one\r\nX-Two: 2"}, "send_authorization"),
        ({"send_url": URL, "content_type": "text/plain\n"}, "content_type"),
        ({"send_url": URL, "content_type": "x" * 256}, "content_type"),
        ({"send_url": URL, "body": "x" * 10_001}, "body"),
        ({"send_url": URL, "body": "\x00"}, "body"),
    ],
)
def test_a_wrong_setting_is_named(given: dict[str, Any], name: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_config(DEFAULT_GATEWAY, given)

    assert list(refused.value.errors) == ["settings"]
    assert list(refused.value.errors["settings"]) == [name]


def test_secrets_are_told_as_set_only_and_other_values_as_people_write_them() -> None:
    stored = STORED | {"send_authorization": "Bearer one", "recognizes_repeats": True, "headers": {"X-Own": "1"}}
    shown = {"send_url": URL, "method": "POST", "content_type": "urlencoded", "max_length": "160"}

    assert show_config(DEFAULT_GATEWAY, stored) == shown | {"send_authorization": "***", "recognizes_repeats": "true"}
    assert read_config(DEFAULT_GATEWAY, show_config(DEFAULT_GATEWAY, stored), stored) == stored


def test_each_type_says_what_can_be_set() -> None:
    described = {each["type"]: each for each in describe_types()}

    assert {name for name, each in described.items() if not each["is_phone"]} == set(GATEWAYS)
    secrets = [each["name"] for each in described[DEFAULT_GATEWAY]["settings"] if each["is_secret"]]
    assert secrets == ["send_authorization"]
    assert all(each["settings"] == [] for each in described.values() if each["is_phone"])
