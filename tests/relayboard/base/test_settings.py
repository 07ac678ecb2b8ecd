"""Settings: defaults, types, refusals, and the automatic secret key."""

import ipaddress
import json
import re
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from datetime import timedelta
from pathlib import Path
from typing import ClassVar

import pytest

from relayboard.base.setting_values import SERVICE_ACCOUNT, RateLimit
from relayboard.base.settings import SettingError, Settings, load_settings
from tools.settings_page import render_page

PAGE = Path(__file__).parents[3] / "docs" / "settings.md"
KEY = {"RELAYBOARD_SECRET_KEY": "a-key-that-only-tests-use"}


def test_every_setting_has_a_default_except_the_key():
    settings = load_settings(KEY)

    assert settings.database_url == "sqlite:///var/relayboard.db"
    assert settings.queue_url == "sqlite:///var/queue.db"
    assert settings.base_url == ""
    assert settings.media_url == "file://var/media"
    assert settings.rate_limit == RateLimit(2500, timedelta(hours=1))
    assert (settings.page_size, settings.body_limit_bytes) == (250, 1048576)
    assert settings.webhook_allowed_networks == ()
    assert settings.webhook_retry_delays_seconds == (10.0, 120.0, 900.0)
    assert (settings.webhook_timeout_seconds, settings.webhook_switch_off_days) == (15.0, 5.0)
    assert settings.secret_key_fallbacks == ()
    assert (settings.log_format, settings.metrics) == ("text", True)


@pytest.mark.parametrize(
    ("variable", "hint"),
    [
        ("RELAYBOARD_DATABSE_URL", "; did you mean RELAYBOARD_DATABASE_URL?"),
        ("RELAYBOARD_page_size", "; did you mean RELAYBOARD_PAGE_SIZE?"),
        ("RELAYBOARD_WORKSPCE", "; did you mean RELAYBOARD_WORKSPACE?"),
        ("RELAYBOARD_workspace", "; did you mean RELAYBOARD_WORKSPACE?"),
        ("RELAYBOARD_MOVE_TOKN", "; did you mean RELAYBOARD_MOVE_TOKEN?"),
        ("RELAYBOARD_ELEPHANT", ": docs/settings.md lists those there are"),
    ],
)
def test_a_variable_that_is_no_setting_is_refused_with_the_one_that_was_meant(variable, hint):
    with pytest.raises(SettingError, match=f"^{variable} is not a setting{re.escape(hint)}$"):
        load_settings({**KEY, variable: "x"})


def test_variables_that_kubernetes_makes_for_a_service_of_our_name_are_nobodys_slip():
    made = {
        "SERVICE_HOST": "10.0.0.1",
        "SERVICE_PORT": "8080",
        "SERVICE_PORT_HTTP": "8080",
        "PORT": "tcp://10.0.0.1:8080",
        "PORT_8080_TCP": "tcp://10.0.0.1:8080",
        "PORT_8080_TCP_PROTO": "tcp",
        "PORT_8080_TCP_PORT": "8080",
        "PORT_8080_TCP_ADDR": "fd00::1",
    }

    assert load_settings({**KEY, **{f"RELAYBOARD_{name}": value for name, value in made.items()}})


@pytest.mark.parametrize(("name", "value"), [("PORT", "abc"), ("PORT", "8081"), ("HOST", "0.0.0.0"), ("WORKERS", "4")])
def test_an_option_of_serve_that_is_given_as_a_variable_is_refused_with_the_option(name, value):
    sentence = f"^RELAYBOARD_{name} is not a setting: give `relayboard serve` the option --{name.lower()}$"

    with pytest.raises(SettingError, match=sentence):
        load_settings({**KEY, f"RELAYBOARD_{name}": value})


@pytest.mark.parametrize("name", ["SERVICE_HOST", "SERVICE_PORT", "PORT_8080_TCP"])
def test_a_variable_with_the_name_of_a_link_and_another_value_is_no_link(name):
    with pytest.raises(SettingError, match=f"^RELAYBOARD_{name} is not a setting"):
        load_settings({**KEY, f"RELAYBOARD_{name}": "some words"})


def test_a_typing_error_in_the_env_file_is_refused_too(tmp_path, monkeypatch):
    (tmp_path / ".env").write_text("RELAYBOARD_PAGE_SISE=9\n")
    monkeypatch.chdir(tmp_path)

    with pytest.raises(SettingError, match="RELAYBOARD_PAGE_SISE is not a setting; did you mean RELAYBOARD_PAGE_SIZE"):
        load_settings()


def test_values_are_read_into_types_and_blanks_around_them_do_not_matter():
    settings = load_settings(
        {
            **KEY,
            "RELAYBOARD_BASE_URL": " https://sms.example.org/ ",
            "RELAYBOARD_RATE_LIMIT": "10/minute",
            "RELAYBOARD_WEBHOOK_ALLOWED_NETWORKS": "10.0.0.0/8, ::1",
            "RELAYBOARD_WEBHOOK_RETRY_DELAYS_SECONDS": "0.5, 2",
            "RELAYBOARD_SECRET_KEY_FALLBACKS": "the-key-of-last-year, the-key-of-before,",
            "RELAYBOARD_WEBHOOK_SWITCH_OFF_DAYS": "0.5",
            "RELAYBOARD_WEBHOOK_ALLOWED_PORTS": "80, 443,",
            "RELAYBOARD_FLOW_BLOCKED_DOMAINS": "Graph.Example.com., .example.org,",
            "RELAYBOARD_METRICS": "Off",
            "RELAYBOARD_PAGE_SIZE": "",
        }
    )

    assert settings.base_url == "https://sms.example.org"
    assert settings.rate_limit == RateLimit(10, timedelta(minutes=1))
    assert settings.webhook_allowed_networks == (ipaddress.ip_network("10.0.0.0/8"), ipaddress.ip_network("::1"))
    assert settings.webhook_retry_delays_seconds == (0.5, 2.0)
    assert settings.secret_key_fallbacks == ("the-key-of-last-year", "the-key-of-before")
    assert (settings.webhook_switch_off_days, settings.webhook_allowed_ports) == (0.5, {80, 443})
    assert settings.flow_blocked_domains == {"graph.example.com", "example.org"}
    assert (settings.metrics, settings.page_size) == (False, 250)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DATABASE_URL", "relayboard.db"),
        ("DATABASE_URL", "mysql://host/name"),
        ("DATABASE_URL", "postgresql://user:hidden@host:port/name"),
        ("QUEUE_URL", "amqp://user:hidden@host"),
        ("MEDIA_URL", "ftp://host"),
        ("BASE_URL", "sms.example.org"),
        ("SECRET_KEY", "hidden"),
        ("SECRET_KEY", "hidden-hidden,hidden"),
        ("SECRET_KEY_FALLBACKS", "hidden-hidden-hidden,hidden"),
        ("RATE_LIMIT", "2500"),
        ("RATE_LIMIT", "2500/fortnight"),
        ("RATE_LIMIT", "0/hour"),
        ("PAGE_SIZE", "many"),
        ("PAGE_SIZE", "-1"),
        ("PAGE_SIZE", "²"),
        ("BODY_LIMIT_BYTES", "0"),
        ("WEBHOOK_ALLOWED_NETWORKS", "10.0.0.1/8"),
        ("WEBHOOK_ALLOWED_PORTS", "80,0"),
        ("WEBHOOK_ALLOWED_PORTS", "65536"),
        ("WEBHOOK_RETRY_DELAYS_SECONDS", "1,-1"),
        ("WEBHOOK_RETRY_DELAYS_SECONDS", "1,nan"),
        ("SYNC_HOLD_SECONDS", "51"),
        ("SYNC_HOLD_SECONDS", "-1"),
        ("WEBHOOK_TIMEOUT_SECONDS", "0"),
        ("WEBHOOK_TIMEOUT_SECONDS", "soon"),
        ("WEBHOOK_SWITCH_OFF_DAYS", "-1"),
        ("WEBHOOK_SWITCH_OFF_DAYS", "1e300"),
        ("WEBHOOK_SWITCH_OFF_DAYS", "nan"),
        ("LLM_URL", "models.example.org"),
        ("LLM_KEY", "hidden\u00e9"),
        ("CLASSIFIER_URL", "https://"),
        ("CLASSIFIER_URL", "https://user:hidden@classifier.example.org/"),
        ("CLASSIFIER_KEY", "hidden\nline"),
        ("AIRTIME_URL", "ftp://airtime.example.org/"),
        ("AIRTIME_URL", "https://airtime.example.org:port/"),
        ("AIRTIME_KEY", "hidden\nline"),
        ("LOG_FORMAT", "xml"),
        ("LOG_LEVEL", "loud"),
        ("METRICS", "maybe"),
    ],
)
def test_a_value_that_cannot_be_used_is_refused_by_the_name_of_its_variable(name, value):
    with pytest.raises(SettingError, match=f"RELAYBOARD_{name} cannot be used") as refused:
        load_settings({**KEY, f"RELAYBOARD_{name}": value})

    assert "hidden" not in str(refused.value)


def test_addresses_of_services_are_called_as_they_stand():
    names = ("LLM_URL", "CLASSIFIER_URL", "AIRTIME_URL")

    settings = load_settings({**KEY, **{f"RELAYBOARD_{name}": "https://host/path/?a=b" for name in names}})

    assert {settings.llm_url, settings.classifier_url, settings.airtime_url} == {"https://host/path/?a=b"}


def test_the_environment_wins_over_the_file(tmp_path, monkeypatch):
    (tmp_path / ".env").write_text("RELAYBOARD_PAGE_SIZE=7\nRELAYBOARD_LOG_FORMAT=json\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RELAYBOARD_PAGE_SIZE", "9")

    settings = load_settings()

    assert (settings.page_size, settings.log_format) == (9, "json")


def test_no_secret_shows_when_settings_are_printed():
    names = ("DATABASE_URL", "LLM_URL", "LLM_KEY", "CLASSIFIER_URL", "CLASSIFIER_KEY", "AIRTIME_URL", "AIRTIME_KEY")
    values = {f"RELAYBOARD_{name}": "https://host/hidden" for name in names}
    settings = load_settings({**KEY, **values, "RELAYBOARD_DATABASE_URL": "postgresql://user:hidden@host/name"})

    assert "hidden" not in repr(settings) and KEY["RELAYBOARD_SECRET_KEY"] not in repr(settings)


class TestKeptKey:
    @pytest.fixture
    def environment(self, tmp_path: Path) -> dict[str, str]:
        return {"RELAYBOARD_DATABASE_URL": f"sqlite:///{tmp_path}/var/relayboard.db"}

    def test_a_key_is_made_beside_the_database_once_and_for_its_owner_only(self, environment, tmp_path):
        first = load_settings(environment).secret_key
        second = load_settings(environment).secret_key

        path = tmp_path / "var" / "secret.key"
        assert first == second == path.read_text() and len(first) >= 64
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert [file.name for file in path.parent.iterdir()] == ["secret.key"]

    def test_without_a_database_file_it_is_kept_in_var(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)

        key = load_settings({"RELAYBOARD_DATABASE_URL": "postgresql://localhost/name"}).secret_key

        assert (tmp_path / "var" / "secret.key").read_text() == key

    def test_processes_that_start_together_agree_on_one_key(self, environment):
        program = "from relayboard.base.settings import load_settings; print(load_settings().secret_key)"

        def start(_number: int) -> str:
            command = [sys.executable, "-c", program]
            return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

        with ThreadPoolExecutor(4) as pool:
            keys = set(pool.map(start, range(4)))

        assert len(keys) == 1 and len(keys.pop()) > 64

    def test_an_empty_key_file_is_an_error_not_a_key(self, environment, tmp_path):
        (tmp_path / "var").mkdir()
        (tmp_path / "var" / "secret.key").touch()

        with pytest.raises(SettingError, match="holds no key"):
            load_settings(environment)

    def test_a_folder_that_cannot_be_made_is_an_error_that_names_the_variable(self, environment, tmp_path):
        (tmp_path / "var").write_text("a file where the folder should be")

        with pytest.raises(SettingError, match=r"RELAYBOARD_SECRET_KEY is not set and .* cannot be used"):
            load_settings(environment)


def test_the_page_of_settings_is_current():
    assert PAGE.read_text(encoding="utf-8") == render_page()


def test_the_defaults_on_the_page_are_the_defaults():
    listed = dict(re.findall(r"^\| `(RELAYBOARD_\w+)` \| `([^`]+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE))

    assert len(listed) >= 10
    assert load_settings({**KEY, **listed}) == load_settings(KEY)


class TestFromFile:
    """A secret may stand in a file, which the variable with _FILE names."""

    SECRETS = tuple(each.name.upper() for each in fields(Settings) if each.metadata["is_secret"])
    TEXTS: ClassVar = {
        "URL": "https://host/in-a-file",
        "KEY": "a-key-that-is-in-a-file",
        "FALLBACKS": "a-key-that-is-in-a-file",
        "ACCOUNT": json.dumps({"type": "service_account", **dict.fromkeys(SERVICE_ACCOUNT, "in-a-file")}),
    }
    OTHERS: ClassVar = {
        "DATABASE_URL": "postgresql://user:in-a-file@host/name",
        "DATABASE_POOLED_URL": "postgresql://user:in-a-file@host:6432/name",
        "DATABASE_READ_URL": "postgresql://user:in-a-file@host/name",
        "QUEUE_URL": "redis://:in-a-file@host/0",
        "MEDIA_URL": "file://in-a-file",
        "SMTP_URL": "smtp://user:in-a-file@host:587/?from=flows@example.org",
    }

    @pytest.mark.parametrize("name", SECRETS)
    def test_every_secret_may(self, name, tmp_path):
        text = self.OTHERS.get(name) or self.TEXTS[name.rpartition("_")[2]]
        (tmp_path / "secret").write_text(f"{text}\n")

        settings = load_settings({**KEY, **self.named(name, tmp_path / "secret")})

        assert settings == load_settings({**KEY, f"RELAYBOARD_{name}": text})

    def named(self, name, path):
        key = {"RELAYBOARD_SECRET_KEY": ""} if name == "SECRET_KEY" else {}
        return {**key, f"RELAYBOARD_{name}_FILE": str(path)}

    def test_both_at_once_are_refused(self, tmp_path):
        with pytest.raises(SettingError, match="RELAYBOARD_LLM_KEY and RELAYBOARD_LLM_KEY_FILE are both set: keep one"):
            load_settings({**KEY, "RELAYBOARD_LLM_KEY": "x", **self.named("LLM_KEY", tmp_path)})

    def test_a_file_that_cannot_be_read_is_named_by_its_variable(self, tmp_path):
        with pytest.raises(SettingError, match="_LLM_KEY_FILE names a file that cannot be read: No such file"):
            load_settings({**KEY, **self.named("LLM_KEY", tmp_path / "missing")})

    def test_what_is_no_secret_may_not(self, tmp_path):
        with pytest.raises(SettingError, match="RELAYBOARD_PAGE_SIZE_FILE is not a setting"):
            load_settings({**KEY, **self.named("PAGE_SIZE", tmp_path)})

    def test_its_typing_errors_are_named_too(self, tmp_path):
        with pytest.raises(SettingError, match="did you mean RELAYBOARD_SECRET_KEY_FILE"):
            load_settings({**KEY, **self.named("SECRT_KEY", tmp_path)})

    def test_a_bad_value_does_not_show(self, tmp_path):
        (tmp_path / "secret").write_text("hidden\nline")

        with pytest.raises(SettingError, match="RELAYBOARD_LLM_KEY cannot be used") as refused:
            load_settings({**KEY, **self.named("LLM_KEY", tmp_path / "secret")})
        assert "hidden" not in str(refused.value)


def test_an_env_file_that_is_not_utf8_is_refused(tmp_path, monkeypatch):
    (tmp_path / ".env").write_text("RELAYBOARD_PAGE_SIZE=7\n", encoding="utf-16")
    monkeypatch.chdir(tmp_path)

    with pytest.raises(SettingError, match=r"^the file \.env is not UTF-8: save it as UTF-8$"):
        load_settings()
