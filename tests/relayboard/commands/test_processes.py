import subprocess
import sys

import pytest
from sqlalchemy import select

from persistence.database import Database
from persistence.secrets.encryption import KeyRing
from persistence.tables.channels import channel
from testbed.patience import PATIENCE_SECONDS
from testbed.tokens import SECRET_KEY
from tests.channel_rows import add_channel

NEW = "the-key-of-this-year"


@pytest.fixture
def run(command, monkeypatch):
    """Runs a command under a secret key; returns its status, the JSON that it prints, and its errors."""

    def run_command(key, *arguments, former=""):
        monkeypatch.setenv("RELAYBOARD_SECRET_KEY", key)
        monkeypatch.setenv("RELAYBOARD_SECRET_KEY_FALLBACKS", former)
        return *command(*arguments), command.complaint

    return run_command


def test_a_changed_key_is_told_before_anything_is_done(run, workspace):
    assert run(SECRET_KEY, "workspace", "list")[0] == 0

    status, printed, error = run(NEW, "workspace", "list")

    assert (status, printed) == (1, None)
    assert "stored under another RELAYBOARD_SECRET_KEY" in error and "Traceback" not in error


@pytest.mark.parametrize("words", [("serve", "--port", "0"), ("worker",)])
def test_nothing_is_started_under_a_changed_key(run, workspace, words, monkeypatch):
    run(SECRET_KEY, "workspace", "list")
    monkeypatch.setenv("RELAYBOARD_SECRET_KEY", NEW)
    python = [sys.executable, "-m", "relayboard"]

    ended = subprocess.run([*python, *words], capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)

    assert ended.returncode == 1 and "stored under another RELAYBOARD_SECRET_KEY" in ended.stderr


def test_a_key_is_changed_in_two_steps(run, database, workspace, database_url):
    run(SECRET_KEY, "workspace", "list")
    add_channel(database, workspace, secret="hidden")

    assert run(NEW, "secrets", "renew", former=SECRET_KEY)[:2] == (0, {"renewed": 2, "dropped": 0})

    assert run(NEW, "workspace", "list")[0] == 0
    renewed = Database(database_url, keys=KeyRing(NEW))
    with renewed.reading() as tx:
        assert tx.execute(select(channel.c.secret)).scalar_one() == "hidden"
    renewed.close()


def test_a_lost_key_is_given_up_only_on_demand(run, database, workspace):
    run(SECRET_KEY, "workspace", "list")
    add_channel(database, workspace, secret="hidden")

    assert run(NEW, "secrets", "renew")[0] == 1
    assert run(NEW, "secrets", "renew", "--drop-unreadable")[:2] == (0, {"renewed": 0, "dropped": 2})
    assert run(NEW, "workspace", "list")[0] == 0
