from zoneinfo import ZoneInfo

import pytest

from flows.environment import Environment, EnvironmentSettingError, NumberFormat


def test_an_environment_survives_being_stored():
    environment = Environment(
        date_format="DD-MM-YYYY",
        timezone="Africa/Kigali",
        allowed_languages=("eng", "fra"),
        default_country="RW",
        number_format=NumberFormat(",", "."),
        redaction_policy="urns",
    )

    assert Environment.from_json(environment.to_json()) == environment


def test_missing_settings_take_their_defaults():
    assert Environment.from_json({}) == Environment()


def test_null_settings_take_their_defaults():
    assert Environment.from_json({"default_country": None, "number_format": None}) == Environment()


def test_languages_and_country_are_left_out_of_storage_when_there_are_none():
    assert {"allowed_languages", "default_country"}.isdisjoint(Environment().to_json())


def test_the_first_allowed_language_is_the_default():
    assert Environment(allowed_languages=("spa", "eng")).default_language == "spa"


def test_without_languages_the_default_language_is_empty():
    assert Environment().default_language == ""


def test_the_zone_has_the_name_of_the_timezone():
    assert Environment(timezone="America/Guayaquil").zone == ZoneInfo("America/Guayaquil")


@pytest.mark.parametrize(("policy", "redacts"), [("none", False), ("urns", True)])
def test_addresses_are_redacted_only_by_the_policy_for_them(policy, redacts):
    assert Environment(redaction_policy=policy).redacts_urns is redacts


@pytest.mark.parametrize("setting", ["date_format", "input_collation", "redaction_policy"])
def test_a_setting_outside_its_list_is_refused(setting):
    with pytest.raises(EnvironmentSettingError, match=setting):
        Environment(**{setting: "nonsense"})


def test_time_layouts_of_older_hosts_are_kept():
    assert Environment(time_format="hh:mm").time_format == "hh:mm"
