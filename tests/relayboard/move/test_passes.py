"""A move is run again and again, and interrupted anywhere."""

import json
from datetime import datetime
from typing import Any

import pytest

from persistence.broadcasts.records import BROADCASTS
from persistence.contacts.records import CONTACTS
from persistence.fields import FIELDS
from persistence.flow_starts.flow_starts import STARTS
from persistence.flows.records import FLOWS
from persistence.globals import GLOBALS
from persistence.groups.groups import GROUPS
from persistence.labels import LABELS
from persistence.lists import ListQuery, read_list
from persistence.messages.records import MESSAGES
from persistence.runs.records import RUNS
from persistence.tables.flows import flow
from persistence.templates import TEMPLATES
from persistence.tickets.records import TICKETS
from tests.relayboard.move.listing import listed
from tests.relayboard.move.other_workspace import IMPORTANT, contact, definition, fill, message, time, uid


def test_a_second_pass_brings_what_changed_and_repeats_nothing(moving: Any) -> None:
    fill(moving.other)
    lists = moving.other.lists
    texts = lists["templates"][0]["translations"]
    texts.append({**texts[0], "locale": "spa"})
    moving.run()
    texts.pop(0)
    urns = lists["contacts"][0]["urns"]
    lists["contacts"][0] |= {"urns": [], "modified_on": "2099-01-01T00:00:00Z"}
    lists["contacts"][1] |= {
        "name": "Renamed",
        "urns": urns,
        "modified_on": "2099-01-01T00:00:01Z",
        "groups": lists["contacts"][0]["groups"],
    }
    lists["globals"][0] |= {"value": ""}
    lists["fields"][0] |= {"name": "Years"}
    lists["fields"][1] |= {"value_type": "number"}
    lists["contacts"].append(contact(6, modified_on="2099-01-01T00:00:01Z"))
    lists["messages"].append(message(9, 6, created_on="2099-01-01T00:00:00Z"))
    lists["runs"][1] |= {"exit_type": "expired", "exited_on": time(4000), "modified_on": "2099-01-01T00:00:00Z"}
    lists["tickets"][0] |= {"status": "closed", "closed_on": time(4000), "modified_on": time(4000)}
    before = len(moving.other.asked)

    moving.run()

    again = [path for path in moving.other.asked[before:] if "contacts.json" in path]
    assert again and all("after=" in path or "uuid=" in path for path in again)
    people = listed(moving, CONTACTS)
    assert (len(people), people[uid(10, 1)]["name"]) == (6, "Renamed")
    assert (people[uid(10, 0)]["urns"], people[uid(10, 1)]["urns"]) == ([], urns)
    assert listed(moving, GROUPS, "name")["Reporters"]["count"] == 5
    assert len(listed(moving, MESSAGES, "text")) == 9
    runs = listed(moving, RUNS)
    assert (len(runs), runs[uid(20, 1)]["exit_type"], runs[uid(20, 1)]["exited_on"]) == (4, "expired", time(4000))
    assert listed(moving, TICKETS)[uid(11, 1)]["status"] == "closed"
    assert listed(moving, GLOBALS, "key")["org_name"]["value"] == ""
    fields = listed(moving, FIELDS, "key")
    assert (fields["age"]["name"], fields["district"]["type"]) == ("Years", "number")
    (template,) = listed(moving, TEMPLATES).values()
    assert [each["locale"] for each in template["translations"]] == ["spa"]


class Killed(Exception):
    """The process ends here."""


def test_a_move_that_is_interrupted_at_any_page_goes_on_where_it_was(moving: Any) -> None:
    """Each run is killed after a few more answers, with nothing but the database left of it."""
    fill(moving.other, people=7, messages=12, runs=7)
    runs = 0
    while True:
        runs += 1
        asked = len(moving.other.asked)
        mover = moving.mover()
        read_page = mover.source.read_page

        def read(path: str, asked: int = asked, read_page: Any = read_page) -> Any:
            if len(moving.other.asked) - asked > 6:
                raise Killed
            return read_page(path)

        mover.source.read_page = read
        try:
            mover.run()
            break
        except Killed:
            continue

    assert runs > 8
    assert (len(listed(moving, CONTACTS)), len(listed(moving, MESSAGES)), len(listed(moving, RUNS))) == (7, 12, 7)
    assert listed(moving, GROUPS, "name")["Adults"]["count"] == 5
    read = [path for path in moving.other.asked if "messages.json" in path]
    assert len(read) <= len(set(read)) + runs, "what was written is not read again"


def test_all_is_read_again_if_asked_for_and_what_changes_gets_our_time_so_that_mirrors_see_it(
    moving: Any,
) -> None:
    fill(moving.other)
    lists = moving.other.lists
    lists["broadcasts"][0] |= {"status": "queued"}
    lists["flow_starts"][0] |= {"status": "started"}
    moving.run()
    before = listed(moving, MESSAGES, "text")
    with moving.database.reading() as tx:
        since = tx.now
    assert changed_since(moving, since) == {"messages": set(), "broadcasts": set(), "flow_starts": set()}
    lists["messages"][0] |= {"labels": []}
    lists["messages"][2] |= {"labels": [IMPORTANT]}
    lists["messages"][3] |= {"visibility": "archived", "archived": True}
    lists["messages"][4] |= {"labels": []}
    moving.run()
    assert listed(moving, MESSAGES, "text") == before, "they were created too long ago"
    lists["broadcasts"][0] |= {"status": "sent"}
    lists["flow_starts"][0] |= {"status": "completed"}

    moving.run(reads_all=True)

    after = listed(moving, MESSAGES, "text")
    moved = {name for name, each in after.items() if each["modified_on"] > before[name]["modified_on"]}
    changed = {lists["messages"][number]["text"] for number in (0, 2, 3, 4)}
    assert moved == changed
    assert after["text 3"]["visibility"] == "archived"
    assert listed(moving, LABELS, "name")["Important"]["count"] == 1
    assert all(datetime.fromisoformat(after[name]["modified_on"]) >= since for name in moved)
    assert changed_since(moving, since) == {
        "messages": {after[name]["uuid"] for name in changed},
        "broadcasts": set(listed(moving, BROADCASTS)),
        "flow_starts": set(listed(moving, STARTS)),
    }


def changed_since(moving: Any, moment: datetime) -> dict[str, set[str]]:
    """What a client finds that asks for changes."""
    specs = {"messages": MESSAGES, "broadcasts": BROADCASTS, "flow_starts": STARTS}
    with moving.database.reading() as tx:
        asked = {
            name: ListQuery(tx, moving.workspace, {"after" if spec is STARTS else "modified_after": moment})
            for name, spec in specs.items()
        }
        return {name: {json.loads(each)["uuid"] for each in read_list(asked[name], specs[name])} for name in specs}


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_flow_that_did_not_change_there_keeps_what_was_changed_here(moving: Any) -> None:
    fill(moving.other)
    moving.run()
    other = {"uuid": uid(4, 2), "name": "Second"}
    there = moving.other.lists["flows"]
    there.append({**there[0], **other, "modified_on": "2099-01-01T00:00:00.000000Z"})
    node = {**definition()["nodes"][0], "uuid": uid(5, 9), "actions": []}
    moving.other.definitions[uid(4, 2)] = {"flows": [{**definition(), **other, "nodes": [node]}, definition()]}
    with moving.database.writing() as tx:
        tx.execute(flow.update().values(name="Changed here", name_key="changed here"))

    moving.run()

    assert sorted(listed(moving, FLOWS, "name")) == ["Changed here", "Second"]
