"""Presets are settings that their type has, made of fields that are asked for a reason."""

import pytest

from channels.presets import FOLDER, TYPE, Preset, list_presets, read_preset
from channels.types import TYPES
from persistence.channels.settings import read_config

PRESETS = [pytest.param(read_preset(name), id=name) for name in list_presets()]
DECLARED = {setting.name: setting for setting in TYPES[TYPE].settings}
GIVEN = {"url": "https://sms.example.org/api/"}


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_makes_settings_that_its_type_takes(preset: Preset) -> None:
    given = {each.name: GIVEN.get(each.name, "a b") for each in preset.fields}

    config = read_config(TYPE, preset.fill(given))

    assert preset.settings.keys() <= config.keys()
    assert config["send_url"].startswith("https://") and " " not in config["send_url"]


@pytest.mark.parametrize("preset", PRESETS)
def test_each_field_of_a_preset_is_put_somewhere_and_secrets_only_where_nobody_reads_them(preset: Preset) -> None:
    places = {
        each.name: [name for name in preset.settings if each.name in preset.list_fields(name)] for each in preset.fields
    }

    assert all(places.values())
    for each in preset.fields:
        assert not each.is_secret or all(DECLARED[name].is_secret for name in places[each.name])


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_reports_the_statuses_that_its_tables_know(preset: Preset) -> None:
    tables = f"{preset.settings.get('event_words', '')}, {preset.settings.get('status_words', '')}"
    known = {entry.rpartition("=")[2].strip() for entry in tables.split(",")}

    assert set(preset.statuses) == known & {"sent", "delivered", "read", "failed"}
    assert bool(preset.actions) != ("event_field" in preset.settings)


def test_the_address_of_a_provider_may_end_with_a_slash_and_what_follows_is_part_of_a_path() -> None:
    given = {"url": "https://sms.example.org/api/", "device_id": "a/b", "api_key": "1", "signing_secret": "2"}

    filled = read_preset("textbee").fill(given)

    assert filled["send_url"] == "https://sms.example.org/api/gateway/devices/a%2Fb/send-sms"


def test_each_preset_has_its_cases() -> None:
    assert sorted(path.stem for path in (FOLDER / "cases").glob("*.yaml")) == list_presets()
