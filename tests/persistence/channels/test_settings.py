"""Secrets and settings of gateways.

New gateways.

The settings of gateways: from texts to what is stored, and back.
"""

import json
import re
from ipaddress import ip_network
from typing import Any

import pytest
from sqlalchemy import select

from channels.types import DEFAULT_GATEWAY, GATEWAYS
from persistence.channels import settings
from persistence.channels.settings import (
    add_gateway,
    change_channel_settings,
    describe_types,
    new_gateway_secret,
    read_channel_settings,
    read_config,
    show_config,
)
from persistence.database import Database, Transaction
from persistence.errors import InvalidInput, LimitReached, RecordMissing
from persistence.secrets.encryption import open_sealed, sealed_text
from persistence.tables.channels import channel
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
STORED = {"send_url": URL, "method": "POST", "content_type": "urlencoded", "max_length": 160, "split": "length"}


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
        ({"send_url": URL, "headers": "no colon"}, "headers"),
        ({"send_url": URL, "headers": "X-One: 1\nHost: other.example.org"}, "headers"),
        ({"send_url": URL, "status_words": "DELIVRD"}, "status_words"),
        ({"send_url": URL, "status_words": "DELIVRD=arrived"}, "status_words"),
        ({"send_url": URL, "event_words": "in=receive, out="}, "event_words"),
        ({"send_url": URL, "mt_status_words": "101=sent"}, "mt_status_words"),
        ({"send_url": URL, "callback_check": "md5"}, "callback_check"),
    ],
)
def test_a_wrong_setting_is_named(given: dict[str, Any], name: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_config(DEFAULT_GATEWAY, given)

    assert list(refused.value.errors) == ["settings"]
    assert list(refused.value.errors["settings"]) == [name]


def test_secrets_are_told_as_set_only_and_other_values_as_people_write_them() -> None:
    stored = STORED | {"send_authorization": "Bearer one", "recognizes_repeats": True, "headers": {"X-Own": "1"}}
    shown = {
        "send_url": URL,
        "method": "POST",
        "content_type": "urlencoded",
        "max_length": "160",
        "split": "length",
        "headers": "***",
    }

    assert show_config(DEFAULT_GATEWAY, stored) == shown | {"send_authorization": "***", "recognizes_repeats": "true"}
    assert read_config(DEFAULT_GATEWAY, show_config(DEFAULT_GATEWAY, stored), stored) == stored


NEW = {"preset": "capcom6-local", "name": "SMSGate", "address": "+250788000001"}
FIELDS = {"url": "http://192.168.1.10:8080/", "username": "sms", "password": "one", "signing_key": "key"}


class TestPresets:
    def config_of(self, tx: Transaction, uuid: str) -> dict[str, Any]:
        sealed = tx.execute(select(sealed_text(channel.c.config)).where(channel.c.uuid == uuid)).scalar_one()
        return dict(open_sealed(tx.dialect, channel.c.config, sealed))

    def test_a_channel_has_the_settings_that_a_preset_makes_of_its_fields(
        self, database: Database, workspace: Workspace
    ) -> None:
        with database.writing() as tx:
            uuid, _ = add_gateway(tx, workspace.id, {**NEW, "fields": FIELDS, "settings": {"max_length": "70"}})
            read, config = json.loads(read_channel_settings(tx, workspace.id, uuid)), self.config_of(tx, uuid)

        assert (read["type"], read["preset"], read["fields"]) == (
            "external",
            "capcom6-local",
            dict.fromkeys(FIELDS, "***"),
        )
        expected = {"send_url": "http://192.168.1.10:8080/messages", "password": "one", "max_length": 70}
        assert {name: config[name] for name in expected} == expected

    def test_a_changed_field_changes_the_settings_that_depend_on_it_and_no_other(
        self, database: Database, workspace: Workspace
    ) -> None:
        with database.writing() as tx:
            uuid, _ = add_gateway(tx, workspace.id, {**NEW, "fields": FIELDS})
            change_channel_settings(tx, workspace.id, uuid, {"settings": {"username": "other", "mt_id_field": "uid"}})
            fields = {"password": "two", "signing_key": "***"}
            change_channel_settings(tx, workspace.id, uuid, {"fields": fields})
            config = self.config_of(tx, uuid)

        expected = {"username": "other", "password": "two", "callback_secret": "key", "mt_id_field": "uid"}
        assert {name: config[name] for name in expected} == expected

    @pytest.mark.together
    @pytest.mark.parametrize(
        ("new", "place"),
        [
            ({"preset": "nonsense"}, ("preset",)),
            ({"preset": "httpsms", "type": "telegram", "scheme": "telegram"}, ("preset",)),
            ({"preset": "httpsms", "fields": {"api_key": "1"}}, ("fields", "signing_key")),
            (
                {"preset": "httpsms", "fields": {"api_key": "1", "signing_key": "2", "colour": "red"}},
                ("fields", "colour"),
            ),
            ({"preset": "textbee", "fields": {"device_id": "1", "api_key": "1\r\nX-Other: 2"}}, ("fields", "api_key")),
            ({"preset": "kannel", "fields": {"url": "ftp://x", "username": "1", "password": "2"}}, ("fields", "url")),
            ({"type": "external", "settings": {"send_url": URL}, "fields": {"api_key": "1"}}, ("fields", "api_key")),
        ],
    )
    def test_what_is_wrong_about_a_preset_is_named(
        self, database: Database, workspace: Workspace, new: dict[str, Any], place: tuple[str, ...]
    ) -> None:
        with database.writing() as tx, pytest.raises(InvalidInput) as refused:
            add_gateway(tx, workspace.id, {"name": "SMS", "address": "8181", **new})

        errors: Any = refused.value.errors
        for name in place:
            assert list(errors) == [name]
            errors = errors[name]

    def test_a_gateway_in_the_local_network_is_told_which_setting_it_needs(
        self, database: Database, workspace: Workspace
    ) -> None:
        for url in ("http://192.168.1.10:8080", "http://phone.local:8080", "http://localhost:8080", "http://[fd00::1]"):
            with database.writing() as tx, pytest.raises(InvalidInput) as refused:
                add_gateway(tx, workspace.id, {**NEW, "fields": FIELDS | {"url": url}}, ())
            assert "RELAYBOARD_WEBHOOK_ALLOWED_NETWORKS" in refused.value.errors["fields"]["url"][0]
        with database.writing() as tx:
            add_gateway(tx, workspace.id, {**NEW, "fields": FIELDS}, (ip_network("192.168.1.0/24"),))

    def test_a_channel_of_no_preset_has_no_fields_to_change(self, database: Database, workspace: Workspace) -> None:
        new = {"type": "external", "name": "SMS", "address": "8181", "settings": {"send_url": URL}}
        with database.writing() as tx:
            uuid, _ = add_gateway(tx, workspace.id, new)
            with pytest.raises(InvalidInput) as refused:
                change_channel_settings(tx, workspace.id, uuid, {"fields": {"password": "two"}})

        assert list(refused.value.errors) == ["fields"]


def test_each_type_says_what_can_be_set() -> None:
    described = {each["type"]: each for each in describe_types()}

    assert {name for name, each in described.items() if not each["is_phone"]} == set(GATEWAYS)
    secrets = [each["name"] for each in described[DEFAULT_GATEWAY]["settings"] if each["is_secret"]]
    assert secrets == ["send_authorization", "password", "headers", "callback_secret"]
    assert all(each["settings"] == [] for each in described.values() if each["is_phone"])
    assert all(each["title"] and each["help"] for each in described.values())
    assert {each["callback"] for each in described.values()} == {"none", "copied", "told"}
