"""Waits that a time or a callback ends, instead of a message of the contact."""

from __future__ import annotations

from typing import Any

import pytest

from flows.definition import DefinitionError, load
from flows.engine import ResumeError, Services
from flows.simulation import SaidAnswers
from tests.flows.engine.playing import Json, Played, ask, flow, node, play, switch

TIMEOUT = {"type": "wait_timeout"}


def pause(
    number: int, seconds: int | None = 3600, *, to: int | None = None, operand: str = "@input.text", **said: Any
) -> Json:
    """A node that pauses as `said`; its timeout leads to `Late`."""
    router = switch(number, operand, ("has_text", [], "Late"))
    late = router["categories"][0]["uuid"]
    timeout = {} if seconds is None else {"timeout": {"seconds": seconds, "category_uuid": late}}
    return node(number, router={**router, "wait": {"type": "msg", **timeout, "pause": said}}, to=to)


def play_pause(*nodes: Json, **said: Any) -> Played:
    services = SaidAnswers().as_services()
    return play(*(nodes or (pause(1, **said),)), services=services)


def waits_of(played: Played) -> list[Json]:
    return [event for event in played.events if event["type"].endswith("_wait")]


def texts_of(played: Played) -> list[str]:
    return [event["msg"]["text"] for event in played.of("msg_created")]


def say(body: str) -> Json:
    return {"type": "callback", "event": {"type": "callback_received", "callback": {"body": body}}}


def test_a_pause_lasts_as_long_as_its_timeout() -> None:
    played = play_pause(ends_by="time")
    [wait] = waits_of(played)
    assert (wait["type"], wait["timeout_seconds"]) == ("time_wait", 3600)
    # 60 minutes for the time, and as many until the run of this flow would expire.
    assert wait["expires_on"] == "2025-05-04T14:30:00.000000Z"
    assert played.wake(TIMEOUT).session.status == "completed"
    assert played.session.runs[0].results["answer"].category == "Late"


@pytest.mark.parametrize(
    ("until", "moment"),
    [
        ("14:31", "2025-05-04T12:31:00.000000Z"),
        ("14:30", "2025-05-05T12:30:00.000000Z"),
        ("8", "2025-05-05T06:00:00.000000Z"),
        ("8 pm", "2025-05-04T18:00:00.000000Z"),
        ("@(time_from_parts(8, 15, 0))", "2025-05-05T06:15:00.000000Z"),
        ("2025-05-20 09:00", "2025-05-20T07:00:00.000000Z"),
        ('@(datetime_add(now(), 3, "D"))', "2025-05-07T12:30:00.000000Z"),
        ("@(today())", None),
        ("2025-05-04 14:30", None),
    ],
)
def test_a_pause_lasts_until_a_moment_or_the_next_time_that_a_clock_shows_it(until: str, moment: str | None) -> None:
    played = play_pause(ends_by="time", until=until)
    assert [wait["until"] for wait in waits_of(played)] == ([] if moment is None else [moment])
    assert played.session.status == ("completed" if moment is None else "waiting")


def test_an_hour_is_one_of_the_contact_who_has_a_time_zone() -> None:
    contact = {"type": "set_contact_timezone", "timezone": "America/New_York"}
    played = play_pause(node(1, contact, to=2), pause(2, ends_by="time", until="08:00"))
    assert waits_of(played)[0]["until"] == "2025-05-05T12:00:00.000000Z"


@pytest.mark.parametrize(
    ("until", "problem"),
    [
        ("soon", "Can't wait until 'soon': that is no time"),
        ("@fields.nothing", "Can't wait until '@fields.nothing': that is no time"),
        ("2025-09-01 10:00", "Can't wait until '2025-09-01 10:00': that is more than 90 days away"),
    ],
)
def test_a_time_that_cannot_be_waited_for_is_told_and_the_flow_goes_on(until: str, problem: str) -> None:
    played = play_pause(ends_by="time", until=until)
    assert problem in [event["text"] for event in played.events if event["type"] == "error"]
    assert played.session.status == "completed"


@pytest.mark.parametrize("ends_by", ["time", "callback"])
def test_a_message_does_not_end_a_pause(ends_by: str) -> None:
    played = play_pause(ends_by=ends_by)
    with pytest.raises(ResumeError, match=f"a wait for {ends_by} cannot be resumed by msg"):
        played.answer("Hello")
    assert played.session.pause == ends_by


def test_the_message_that_starts_a_flow_does_not_end_its_pause() -> None:
    event = {"uuid": "0", "type": "msg_received", "created_on": "2025-05-04T12:30:00.000000Z", "msg": {"text": "go"}}
    played = play(pause(1, ends_by="time"), trigger={"type": "msg", "event": event})
    assert played.session.status == "waiting"


def test_a_callback_ends_its_pause_and_brings_data() -> None:
    asks = pause(1, None, operand="@resume.json.status", ends_by="callback", to=2)
    tells = {"type": "send_msg", "text": "@resume.type @resume.json.status, @results.answer.extra.amount, @resume.body"}
    played = play_pause(asks, node(2, tells)).wake(say('{"status": "paid", "amount": 12}'))
    assert texts_of(played) == ['callback paid, 12, {"status": "paid", "amount": 12}']
    assert played.session.runs[0].results["answer"].value == "paid"


@pytest.mark.parametrize("body", ["", "paid", "{", '{"status": "\\u0000"}', "[" * 3000])
def test_a_callback_may_bring_anything(body: str) -> None:
    asks = pause(1, None, operand="@resume.json.status", ends_by="callback")
    assert play_pause(asks).wake(say(body)).session.status == "completed"


def test_the_address_is_that_of_the_next_pause() -> None:
    tells = {"type": "send_msg", "text": "@resume.url"}
    played = play_pause(
        node(1, tells, to=2), ask(2, to=3), node(3, tells, to=4), pause(4, ends_by="callback", to=5), node(5, tells)
    )
    [first] = texts_of(played)
    [same] = texts_of(played.answer("yes"))
    [second] = texts_of(played.wake(say("")))
    assert first == same
    assert first.endswith("/0")
    assert second.endswith("/1")


def test_a_pause_that_timed_out_is_over_for_its_address() -> None:
    played = play_pause(pause(1, ends_by="callback", to=2), pause(2, ends_by="callback"))
    assert played.session.callbacks == 0
    assert played.wake(TIMEOUT).session.callbacks == 1


def test_without_a_host_that_gives_addresses_there_is_none() -> None:
    tells = {"type": "send_msg", "text": "(@resume.url)"}
    assert texts_of(play(node(1, tells), services=Services())) == ["()"]


@pytest.mark.parametrize(
    ("said", "more", "field"),
    [
        ({"ends_by": "luck"}, {}, "router.wait.pause.ends_by"),
        ("time", {}, "router.wait.pause.ends_by"),
        ({"ends_by": "time", "until": 8}, {}, "router.wait.pause.until"),
        ({"ends_by": "time", "until": "8" * 1001}, {}, "router.wait.pause.until"),
        ({"ends_by": "time"}, {"type": "voice"}, "router.wait.pause"),
        ({"ends_by": "time"}, {"type": "messaging_offline"}, "router.wait.pause"),
    ],
)
def test_a_pause_that_means_nothing_is_refused(said: Any, more: Json, field: str) -> None:
    definition = flow(pause(1), **more)
    definition["nodes"][0]["router"]["wait"]["pause"] = said
    with pytest.raises(DefinitionError) as failed:
        load(definition)
    assert failed.value.field == field


def test_a_pause_for_a_time_says_by_which_category_it_ends() -> None:
    with pytest.raises(DefinitionError, match="needs a timeout"):
        load(flow(pause(1, None, ends_by="time")))
