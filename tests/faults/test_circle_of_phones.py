"""Two phones whose flows answer everything send SMS to each other, through a real service and worker."""

from pathlib import Path
from typing import Any

import pytest
import requests
from sqlalchemy import select

from persistence.tables.flows import flow
from persistence.triggers.records import CATCH_ALL, NewTrigger, create_trigger
from relayboard.phone.phone import Phone, PhoneState
from relayboard.phone.wire import HttpTransport
from testbed.flow_rows import definition, node, say, store_flow
from testbed.patience import PATIENCE_SECONDS
from testbed.running import RunningService, forked_service, wait_until

NUMBERS = ("+250788000001", "+250788000002")
LIMIT = 4
CHANNELS = "/api/v1/relayers.json"


def claim(service: RunningService, number: str) -> Phone:
    phone = Phone(HttpTransport(service.url), PhoneState())
    phone.register()
    service.post(CHANNELS, {"claim_code": phone.state.claim_code, "phone": number, "name": number})
    phone.sync()
    phone.sync()
    return phone


def carry(phones: dict[str, Phone], number: str) -> int:
    """The SMS that one phone sends arrive at the other one; their number."""
    (other,) = set(phones) - {number}
    mine, theirs = phones[number], phones[other]
    mine.sync()
    sent = mine.send_waiting()
    for _ in sent:
        theirs.receive_sms(number, "We are closed.")
    mine.sync()
    theirs.sync()
    return len(sent)


def failed(service: RunningService) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = service.get("/api/v2/messages.json", folder="failed")["results"]
    return [each for each in found if each.get("failed_reason") == "circle"]


def go_round(service: RunningService, phones: dict[str, Phone], more_than: int) -> int:
    """Carries SMS until another answer fails as a circle; how many were sent meanwhile."""
    sent = 0

    def is_stopped() -> bool:
        nonlocal sent
        sent += sum(carry(phones, number) for number in phones)
        return len(failed(service)) > more_than

    wait_until(is_stopped, "an answer that fails as a circle", pause_seconds=0.2)  # each look is many requests
    return sent


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_circle_of_two_phones_is_stopped_and_goes_on_only_as_often_as_somebody_says(
    database_url: str, tmp_path: Path
) -> None:
    with forked_service(database_url, tmp_path) as service:
        service.post("/api/v2/workspace_settings.json", {"answer_limit": LIMIT})
        uuid = store_flow(service.database, service.workspace, definition("Closed", [node("closed", [say("Closed.")])]))
        with service.database.writing() as tx:
            flow_id = tx.execute(select(flow.c.id).where(flow.c.uuid == uuid)).scalar_one()
            create_trigger(tx, service.workspace.id, NewTrigger(CATCH_ALL, flow_id))
        phones = {number: claim(service, number) for number in NUMBERS}
        phones[NUMBERS[0]].receive_sms(NUMBERS[1], "Hello?")

        assert LIMIT <= go_round(service, phones, 0) <= 2 * LIMIT
        (alarm,) = [each for each in service.get("/api/v2/channel_alarms.json")["results"] if each["kind"] == "circle"]
        assert alarm["closed_on"] is None
        people = service.get("/api/v2/contacts.json")["results"]
        assert len(people) == 2
        assert any(each["answers_stopped_on"] for each in people)

        headers = {"Authorization": f"Token {service.token}"}
        body = {"contacts": [each["uuid"] for each in people], "action": "answer_again"}
        again = requests.post(
            f"{service.url}/api/v2/contact_actions.json", json=body, headers=headers, timeout=PATIENCE_SECONDS
        )
        assert again.status_code == 204, again.text
        phones[NUMBERS[0]].receive_sms(NUMBERS[1], "Hello again?")
        assert LIMIT <= go_round(service, phones, len(failed(service))) <= 2 * LIMIT
