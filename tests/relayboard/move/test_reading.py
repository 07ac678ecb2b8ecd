"""What servers say in different words is read the same; what is missing or unknown becomes something harmless."""

from typing import Any

import pytest

from relayboard.move.kinds import KINDS, Kind
from relayboard.move.reading import (
    NO_NODE,
    read_archive,
    read_contact,
    read_event,
    read_field,
    read_message,
    read_moment,
    read_run,
    read_start,
    read_template,
    read_ticket,
)

BEGAN, LATER = "2026-03-02T08:00:00.000000Z", "2026-03-02T08:00:01.000000Z"
UUID = "f8abfcc6-2e55-44bd-8ebd-c7732935b746"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_record_of_which_nothing_is_known_is_still_read(kind: Kind) -> None:
    assert kind.read({})["reference"] is not None
    assert kind.read(dict.fromkeys(("uuid", "id", "name", "key", "labels", "groups", "fields", "channel", "text")))


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({"status": "archived"}, {"status": "archived"}),
        ({"blocked": True}, {"status": "blocked"}),
        ({"stopped": True, "blocked": False}, {"status": "stopped"}),
        ({"status": "unheard"}, {"status": "active"}),
        ({"language": "base"}, {"language": None, "bad_language": "base"}),
        ({"fields": {"age": 27, "gone": None, "empty": "", "is": "x\x00y"}}, {"fields": {"age": "27", "is": "xy"}}),
        ({"groups": [{"uuid": UUID.upper()}, "other", None, {}]}, {"groups": [UUID, "other"]}),
    ],
)
def test_contacts(raw: dict[str, Any], expected: dict[str, Any]) -> None:
    read = read_contact({"uuid": UUID, **raw})

    assert {name: read[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (
            {"direction": "incoming", "status": "queued"},
            {"direction": "in", "status": "handled", "is_left_there": False},
        ),
        ({"direction": "out", "status": "queued"}, {"direction": "out", "status": "failed", "is_left_there": True}),
        ({"direction": "outgoing", "status": "errored"}, {"direction": "out", "status": "failed"}),
        ({"direction": "out", "status": "wired"}, {"status": "sent"}),
        ({"direction": "out", "status": "read"}, {"status": "read"}),
        ({"archived": True}, {"visibility": "archived"}),
        ({"visibility": "deleted_by_sender"}, {"visibility": "deleted"}),
        ({"type": "ivr"}, {"type": "voice"}),
        ({"type": "inbox"}, {"type": "text"}),
        ({"broadcast": {"id": 7}}, {"broadcast": "7"}),
        ({"attachments": ["image:https://x/1", {"content_type": "a/b", "url": "u"}, 3]},
         {"attachments": [{"content_type": "image", "url": "https://x/1"}, {"content_type": "a/b", "url": "u"}]}),
        ({"quick_replies": ["Yes", {"text": "No"}, {}]}, {"quick_replies": [{"text": "Yes"}, {"text": "No"}]}),
        ({"created_on": "2025-12-31T23:59:28.464000Z", "sent_on": "nonsense"}, {"sent_on": None}),
    ],
)  # fmt: skip
def test_messages(raw: dict[str, Any], expected: dict[str, Any]) -> None:
    read = read_message({"id": 1, **raw})

    assert {name: read[name] for name in expected} == expected


def test_fields_by_their_old_and_new_names() -> None:
    old = read_field({"key": "age", "label": "Age", "value_type": "numeric"})
    new = read_field({"key": "age", "name": "Age", "type": "number", "featured": False, "priority": 0})

    assert old == new
    assert read_field({"key": "x", "type": "blob"})["type"] == "text"


def test_archives_by_their_old_and_new_names() -> None:
    shared = {"period": "daily", "start_date": "2025-10-01", "hash": "h", "download_url": "u"}

    assert read_archive({"type": "message", **shared}) == read_archive({"archive_type": "message", **shared})


def test_runs_starts_and_events() -> None:
    waiting = read_run({"id": 3, "exit_type": None, "values": {"x": {"value": "1"}, "bad": 3}, "path": [{}, 4]})
    assert (waiting["reference"], waiting["status"], waiting["is_open"]) == ("3", "interrupted", True)
    assert (waiting["values"]["x"]["name"], list(waiting["values"]), waiting["path"]) == ("x", ["x"], [])
    assert read_run({"exit_type": "failed"})["status"] == "failed"
    assert read_start({"extra": {"k": 1}, "status": "queued"})["params"] == {"k": 1}
    assert read_start({"params": {}, "extra": {"k": 1}, "status": "failed"})["status"] == "failed"
    assert [read_event({"type": kind})["type"] for kind in ("mo_miss", "call-in", "optin")] == [
        "call-in-missed",
        "call-in",
        "optin",
    ]


@pytest.mark.parametrize(
    ("raw", "path", "time", "node", "value"),
    [
        ({"path": [{"node": UUID.upper()}], "values": {"x": {"value": 3}}}, [(UUID, BEGAN)], BEGAN, UUID, "3"),
        ({"values": {"x": {"value": "a", "node": UUID, "time": "2026-03-02T08:00:01Z"}}}, [], LATER, UUID, "a"),
        ({"values": {"x": {"value": None, "node": None, "time": "soon"}}}, [], BEGAN, NO_NODE, None),
        ({"path": [{"node": UUID, "time": "2026-03-02T10:00:01+02:00"}, {"time": BEGAN}]}, [(UUID, LATER)], "", "", ""),
    ],
)
def test_results_and_steps_of_runs_have_all_that_ours_have(
    raw: dict[str, Any], path: list[tuple[str, str]], time: str, node: str, value: str | None
) -> None:
    run = read_run({"created_on": "2026-03-02T08:00:00Z", **raw})

    assert [(step["node"], step["time"]) for step in run["path"]] == path
    found = [(each["time"], each["node"], each["value"]) for each in run["values"].values()]
    assert found == ([(time, node, value)] if "values" in raw else [])


def test_tickets_and_templates_of_current_servers() -> None:
    ticket = read_ticket({"uuid": UUID, "assignee": {"email": "a@example.org"}, "opened_by": None, "status": "open"})
    parts = [{"type": "header/text", "content": "Hi"}, {"type": "body/text", "content": "{{1}}, come"}]
    template = read_template({"uuid": UUID, "translations": [{"locale": "eng", "components": parts}]})

    assert (ticket["assignee"], ticket["opened_by"], ticket["status"]) == ("a@example.org", None, "open")
    assert template["translations"][0]["content"] == "Hi\n{{1}}, come"


@pytest.mark.parametrize("text", ["9999-12-31T23:59:59-05:00", "0001-01-01T00:00:00+05:00", "yesterday", "", None])
def test_what_is_no_time_of_the_calendar_is_none(text: str | None) -> None:
    assert read_moment(text) is None
