"""The other server limits, fails, is slow and changes while it is read."""

import threading
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from persistence.contacts.records import CONTACTS
from persistence.messages.records import MESSAGES
from persistence.move.moves import CONTACT, MESSAGE, find_moved, list_notes
from relayboard.move.source import ATTEMPTS, Source, SourceFailed
from relayboard.refusal import CommandFailed
from testbed.patience import PATIENCE_SECONDS
from tests.relayboard.move.listing import listed
from tests.relayboard.move.other_server import TOKEN, OtherServer
from tests.relayboard.move.other_workspace import contact, fill, message, uid


def source(other: OtherServer, waits: list[float]) -> Source:
    return Source(other.url, TOKEN, wait=waits.append)


def test_a_limit_is_waited_out_for_as_long_as_it_says(other: OtherServer) -> None:
    waits: list[float] = []
    in_an_hour = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    other.faults = [(429, {"Retry-After": "17"})] * (ATTEMPTS + 3) + [(429, {"Retry-After": in_an_hour}), (429, {})]

    assert source(other, waits).read("/api/v2/workspace.json")["name"] == "Bench"

    assert waits[: ATTEMPTS + 3] == [17] * (ATTEMPTS + 3)
    assert 3500 < waits[-2] <= 3600
    assert waits[-1] == 60


def test_failures_are_waited_out_longer_and_longer_until_it_is_too_often(other: OtherServer) -> None:
    waits: list[float] = []
    other.faults = [(500, {}), (503, {"Retry-After": "9"}), (200, {})]

    assert source(other, waits).read("/api/v2/workspace.json")["name"] == "Bench"
    assert waits == [1, 9, 18]

    other.faults = [(502, {})] * ATTEMPTS
    with pytest.raises(SourceFailed, match=f"answers 502, {ATTEMPTS} times in a row"):
        source(other, waits).read("/api/v2/workspace.json")


def test_a_server_that_was_never_there_is_told_soon_and_one_that_goes_away_is_waited_for(other: OtherServer) -> None:
    nowhere, waits = "http://127.0.0.1:1", list[float]()
    with pytest.raises(SourceFailed, match=f"{nowhere} cannot be reached: look at its address"):
        Source(nowhere, TOKEN, wait=waits.append).read("/api/v2/workspace.json")
    assert sum(waits) <= 5

    waits.clear()
    asking = source(other, waits)
    asking.read("/api/v2/workspace.json")
    asking.url = nowhere
    with pytest.raises(SourceFailed, match=f"cannot be reached, {ATTEMPTS} times in a row"):
        asking.read("/api/v2/workspace.json")
    assert sum(waits) > 600


def test_a_half_of_a_character_is_replaced_because_no_database_stores_it(other: OtherServer) -> None:
    other.workspace["name"] = "Bench \ud83d, \U0001f600"

    assert source(other, []).read("/api/v2/workspace.json")["name"] == "Bench ?, \U0001f600"


def test_a_page_that_is_too_slow_is_asked_for_again(other: OtherServer, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    is_over = threading.Event()
    slow = [True]

    def stall(_path: str) -> None:
        if slow:
            slow.pop()
            is_over.wait(PATIENCE_SECONDS)

    other.before = stall
    monkeypatch.setattr("relayboard.move.source.READ_SECONDS", 0.3)
    asking = source(other, waits)

    assert asking.read("/api/v2/workspace.json")["name"] == "Bench"

    is_over.set()
    assert waits[0] == 1


def test_a_wrong_token_is_told_at_once_and_no_other_server_sees_it(other: OtherServer) -> None:
    waits: list[float] = []
    with pytest.raises(SourceFailed, match="does not accept the token: Invalid token"):
        Source(other.url, "wrong", wait=waits.append).read_workspace()
    with OtherServer().running() as elsewhere:
        other.faults = [(302, {"Location": f"{elsewhere.url}/api/v2/workspace.json"})]
        with pytest.raises(SourceFailed, match="is elsewhere"):
            source(other, waits).read("/api/v2/workspace.json")
        assert elsewhere.asked == []
    assert waits == []


@pytest.mark.parametrize("text", ["example.org", "ftp://example.org", ""])
def test_what_is_no_url_of_a_server_is_refused(text: str) -> None:
    with pytest.raises(CommandFailed, match="is not the URL of a server"):
        Source(text, TOKEN)


@pytest.mark.parametrize("path", ["", "/", "/api/v2/", "/api/v2"])
def test_the_url_may_end_in_the_path_of_the_api(path: str) -> None:
    assert Source(f"https://old.example.org{path}", TOKEN).url == "https://old.example.org"


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_failures_everywhere_change_nothing_of_what_arrives(moving: Any) -> None:
    fill(moving.other)
    answers = iter(range(10_000))
    kinds = ((429, {"Retry-After": "3"}), (500, {}), (502, {}), (200, {}))

    def fail(_path: str) -> None:
        number = next(answers)
        if number % 3 == 0:
            moving.other.faults.append(kinds[number // 3 % 4])

    moving.other.before = fail

    moving.run()

    assert (len(listed(moving, CONTACTS)), len(listed(moving, MESSAGES))) == (5, 8)
    assert {round(each) for each in moving.waits} >= {1, 3}


def test_what_changes_while_it_is_read_arrives_in_this_pass_or_the_next(moving: Any) -> None:
    """The first page has been read when the last contact of the list changes, and so jumps before it; another appears,
    writes at once, and one is deleted."""
    fill(moving.other, people=7, messages=7)
    lists = moving.other.lists

    def change(path: str) -> None:
        if "contacts.json?cursor" in path and len(lists["contacts"]) == 7:
            lists["contacts"][0] |= {"modified_on": "2099-01-01T00:00:00Z", "name": "Jumped"}
            lists["contacts"].append(contact(8, modified_on="2099-01-01T00:00:01Z"))
            lists["messages"].append(message(20, 8))
            lists["contacts"][:] = [each for each in lists["contacts"] if each["uuid"] != uid(10, 1)]

    moving.other.before = change
    move = moving.run()
    texts = listed(moving, MESSAGES, "text")
    assert texts["text 20"]["contact"]["uuid"] == uid(10, 8), "a contact that its message needs is fetched"
    assert "text 1" not in texts
    with moving.database.reading() as tx:
        assert find_moved(tx, move, CONTACT, [uid(10, 1)]) == {uid(10, 1): None}
        assert next(iter(list_notes(tx, move, MESSAGE, 9))).note == "its contact was deleted there"

    moving.run()

    people = listed(moving, CONTACTS)
    assert (len(people), people[uid(10, 0)]["name"]) == (7, "Jumped")


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_lists_that_the_other_server_lacks_or_refuses_are_told_and_one_whose_position_it_forgot_begins_again(
    moving: Any,
) -> None:
    """Also of an old server, which calls a workspace otherwise."""
    fill(moving.other)
    del moving.other.lists["optins"]
    moving.other.refused = {"templates"}
    moving.other.workspace_path = "org"
    forgotten = [True]

    def forget(path: str) -> None:
        if "messages.json?cursor" in path and forgotten:
            forgotten.pop()
            moving.other.faults.append((404, {}))

    moving.other.before = forget

    move = moving.run()

    assert forgotten == []
    assert move.state["kinds"]["optin"]["is_missing"] and move.state["kinds"]["template"]["is_missing"]
    assert "opt-ins: the other server has no such list" in moving.said
    assert (move.state["workspace"]["name"], len(listed(moving, MESSAGES))) == ("Bench", 8)


@pytest.mark.parametrize("filters", [None, False])
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_servers_that_cannot_limit_lists_by_time_are_read_no_further_than_needed(
    moving: Any, filters: bool | None
) -> None:
    fill(moving.other, messages=15)
    moving.other.filters = filters
    moving.run()
    moving.other.lists["messages"].append(message(15, created_on="2099-01-01T00:00:00.000000Z"))
    before = len(moving.other.asked)

    moving.run()

    assert len(listed(moving, MESSAGES)) == 16
    assert len([path for path in moving.other.asked[before:] if "messages.json" in path]) <= 3


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_token_that_is_revoked_on_the_way_ends_the_move(moving: Any) -> None:
    fill(moving.other)

    def revoke(path: str) -> None:
        if "templates.json" in path:
            moving.other.refused = {"templates", "workspace"}

    moving.other.before = revoke

    with pytest.raises(SourceFailed, match="does not accept the token"):
        moving.run()
