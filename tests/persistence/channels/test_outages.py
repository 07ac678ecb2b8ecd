"""Channels that have failed for long: others are used instead, messages tell it, and they are used again."""

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import select

from channels.calls import Later, Sent
from persistence.channels.gateway_leases import SendOutcome, begin_sends, lease_sends, record_sends
from persistence.channels.outages import check_outages, note_answers
from persistence.database import Database
from persistence.sessions.replies import FlowMessage, send_replies
from persistence.tables.channels import channel
from persistence.tables.messages import message
from persistence.workspaces.records import Workspace
from testbed.gateways import add_gateway, queue_messages
from tests.api import Api
from tests.conftest import Clock
from tests.factories import id_of
from tests.phones import claimed_phone

MESSAGES, CHANNELS = "/api/v2/messages.json", "/api/v2/channels.json"
URL = "http://127.0.0.1:1/"
LEASE = timedelta(minutes=5)
NUMBER = "+250788000111"


def down_of(api: Api) -> dict[str, bool]:
    return {each["name"] or "phone": each["down_since"] is not None for each in api.results(CHANNELS)}


def say(api: Api, contact: str) -> tuple[str | None, bool]:
    """By which channel a message goes, and whether it tells that this is not the usual one."""
    told = api.post(MESSAGES, {"contact": contact, "text": "Hello"}).json()
    return told["channel"]["name"], told["fallback"]


def test_messages_go_by_another_channel_while_a_phone_is_silent(api: Api, clock: Clock) -> None:
    phone = claimed_phone(api)
    add_gateway(api.database, api.workspace, URL)
    phone.receive_sms(NUMBER, "Hello", int(clock.moment.timestamp() * 1000))
    phone.sync()
    contact = api.results("/api/v2/contacts.json")[0]["uuid"]
    usual, is_fallback = say(api, contact)
    assert (usual != "Gateway", is_fallback) == (True, False)

    clock.advance(minutes=59)
    api.database.write(check_outages)
    assert say(api, contact) == (usual, False)
    clock.advance(minutes=2)
    api.database.write(check_outages)
    assert (say(api, contact), down_of(api)["Gateway"]) == (("Gateway", True), False)
    assert sum(down_of(api).values()) == 1

    phone.sync()
    assert (say(api, contact), set(down_of(api).values())) == ((usual, False), {False})


def test_messages_wait_for_a_silent_phone_if_no_other_channel_can_serve(api: Api, clock: Clock) -> None:
    claimed_phone(api)
    contact = api.post("/api/v2/contacts.json", {"urns": [f"tel:{NUMBER}"]}).json()["uuid"]
    clock.advance(hours=2)
    api.database.write(check_outages)

    told = api.post(MESSAGES, {"contact": contact, "text": "Hello"}).json()

    assert (told["status"], told["fallback"], set(down_of(api).values())) == ("queued", False, {True})


def test_flows_tell_it_too(api: Api, clock: Clock) -> None:
    phone = claimed_phone(api)
    gateway = add_gateway(api.database, api.workspace, URL)
    phone.receive_sms(NUMBER, "Hello", int(clock.moment.timestamp() * 1000))
    phone.sync()
    contact_id = id_of(api.database, api.results("/api/v2/contacts.json")[0]["uuid"])
    clock.advance(hours=2)
    api.database.write(check_outages)
    uuids = [each["uuid"] for each in api.results(CHANNELS)]
    contents = [{"text": "Hi", "urn": f"tel:{NUMBER}", "channel": {"uuid": each}} for each in uuids]

    with api.database.writing() as tx:
        send_replies(tx, api.workspace.id, [FlowMessage(contact_id, None, each) for each in contents])
        sent = select(message.c.channel_id == gateway, message.c.is_fallback).where(message.c.direction == "out")
        found = {tuple(row) for row in tx.execute(sent)}

    assert found == {(True, True), (False, None)}


def answer(database: Database, gateway: int, failures: int) -> bool:
    """The gateway fails so many times, or accepts one message if none; returns whether it is down then."""
    with database.writing() as tx:
        note_answers(tx, [] if failures else [gateway], {gateway: failures} if failures else {})
        return tx.execute(select(channel.c.down_since).where(channel.c.id == gateway)).scalar_one() is not None


@pytest.mark.parametrize(
    ("answers", "minutes", "expected"),
    [([9, 1], 61, True), ([9, 1], 59, False), ([8, 1], 61, False), ([9, 0, 9], 61, False), ([50], 61, False)],
)
def test_a_gateway_is_down_after_ten_failures_in_a_row_during_an_hour(
    database: Database, workspace: Workspace, clock: Clock, answers: list[int], minutes: int, expected: bool
) -> None:
    gateway = add_gateway(database, workspace, URL)
    for failures in answers[:-1]:
        assert not answer(database, gateway, failures)
    clock.advance(minutes=minutes)

    assert answer(database, gateway, answers[-1]) == expected


def test_a_gateway_that_is_down_is_tried_again_and_used_as_before_once_it_accepts_something(
    database: Database, workspace: Workspace, clock: Clock
) -> None:
    gateway = add_gateway(database, workspace, URL)
    answer(database, gateway, 10)
    clock.advance(hours=2)
    assert answer(database, gateway, 1)
    for minutes, is_still_down in ((29, True), (2, False)):
        clock.advance(minutes=minutes)
        database.write(check_outages)
        with database.reading() as tx:
            is_down = channel.c.down_since.is_not(None)
            assert bool(tx.execute(select(is_down).where(channel.c.id == gateway)).scalar_one()) == is_still_down

    assert answer(database, gateway, 1), "one failure is enough if nothing was accepted meanwhile"
    assert not answer(database, gateway, 0)
    clock.advance(hours=2)
    assert not answer(database, gateway, 9)


def test_what_gateways_answer_is_counted_and_an_accepted_part_ends_it(database: Database, workspace: Workspace) -> None:
    gateway = add_gateway(database, workspace, URL)
    queue_messages(database, workspace, gateway, 3)
    for is_accepted, failures in ((False, 1), (False, 2), (True, 0)):
        with database.writing() as tx:
            (send,) = lease_sends(tx, {gateway: 1}, LEASE).sends
        with database.writing() as tx:
            until = begin_sends(tx, [send], LEASE)[send.id]
        with database.writing() as tx:
            result = Sent() if is_accepted else Later("away")
            record_sends(tx, [SendOutcome(replace(send, due_on=until), result)])
            assert tx.execute(select(channel.c.failures).where(channel.c.id == gateway)).scalar_one() == failures
