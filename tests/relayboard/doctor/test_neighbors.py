"""What the doctor says of push messages and phones."""

import json
from collections.abc import Iterator
from dataclasses import replace
from ipaddress import ip_network

import pytest

from relayboard.base.settings import Settings
from relayboard.doctor.neighbors import PhonesSeen, check_push
from tests.worker.push.providers import DENIED, INVALID, SEND, Providers, error, playing_providers
from tests.worker.receivers import Reply

NOBODY = PhonesSeen(0, 0)


@pytest.fixture
def providers() -> Iterator[Providers]:
    with playing_providers() as playing:
        yield playing


@pytest.fixture
def usual(settings: Settings, providers: Providers) -> Settings:
    """The settings of a service that pushes by Firebase."""
    local = (ip_network("127.0.0.0/8"),)
    return replace(settings, fcm_account=providers.account(), fcm_url=providers.url, webhook_allowed_networks=local)


@pytest.mark.parametrize(
    ("phones", "status", "sentence"),
    [
        (None, "ok", "phones ask by themselves every ten minutes"),
        (NOBODY, "ok", "there is no phone yet"),
        (PhonesSeen(4, 0), "ok", "none of 4 has been silent for 30 minutes"),
        (PhonesSeen(4, 1), "warning", "1 of 4 has not asked for 30 minutes: open the app"),
        (PhonesSeen(4, 3), "warning", "3 of 4 have not asked for 30 minutes: open the app"),
        (
            PhonesSeen(4, 0, 2, "https://ntfy.example.org: The endpoint answered with status 500."),
            "warning",
            "2 of 4 phones could not be pushed in the last day, the last one because https://ntfy.example.org: The end",
        ),
    ],
)
def test_without_an_account_it_is_told_whether_phones_ask_and_which_are_not_pushed(
    settings: Settings, phones: PhonesSeen | None, status: str, sentence: str
) -> None:
    (found,) = check_push(settings, phones)

    assert (found.check, found.status) == ("push", status) and sentence in found.sentence


def test_an_account_is_tried_out_by_a_message_that_is_not_sent(usual: Settings, providers: Providers) -> None:
    providers.refuse = lambda _request: error(INVALID)

    (found,) = check_push(usual, NOBODY)

    assert (found.status, found.sentence) == (
        "ok",
        "Firebase takes messages of the service account; there is no phone yet",
    )
    (asked,) = providers.pushes
    assert asked.path == SEND and json.loads(asked.body)["validate_only"] is True


def test_an_account_that_may_not_send_is_a_problem(usual: Settings, providers: Providers) -> None:
    providers.refuse = lambda _request: error(DENIED)

    (found,) = check_push(usual, NOBODY)

    assert found.status == "problem" and "Permission denied on the project" in found.sentence


def test_an_account_that_google_refuses_is_a_problem(usual: Settings, providers: Providers) -> None:
    said = {"error": "invalid_grant", "error_description": "Invalid JWT Signature."}
    providers.refuse_token = lambda: Reply(400, json.dumps(said).encode())

    (found,) = check_push(usual, NOBODY)

    assert found.status == "problem" and "invalid_grant: Invalid JWT Signature." in found.sentence


def test_a_key_that_cannot_be_read_is_a_problem_and_is_not_shown(usual: Settings, providers: Providers) -> None:
    broken = replace(usual, fcm_account=providers.account(private_key="-----BEGIN PRIVATE KEY-----\nnothing"))

    (found,) = check_push(broken, NOBODY)

    assert found.status == "problem" and "the private key of the service account cannot be read" in found.sentence
    assert "BEGIN" not in found.sentence


def test_a_google_that_cannot_be_reached_is_a_problem(usual: Settings) -> None:
    (found,) = check_push(replace(usual, webhook_allowed_networks=()), NOBODY)

    assert found.status == "problem" and "Firebase cannot be asked" in found.sentence
