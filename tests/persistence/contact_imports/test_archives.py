"""Old messages and runs come in from archives and are found by the same API."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from persistence.tables.flows import flow
from relayboard.commands.archives import _import, _read_chunks
from relayboard.refusal import CommandFailed
from tests.api import Api
from tests.factories import make_contact
from tests.run_rows import add_flow, uuid_of

IDA, AMINA = "0d3f7a1c-9a01-4c2f-a1d1-2f4c5b6a7081", "1645eab3-a5ad-4f7d-8418-a2a8cf951904"


NODE, MOMENT = "9f02473a-2cd8-46f5-8bda-e65aee997ddf", "2024-01-30T10:00:00.000000Z"


def message(number: int, contact: str, name: str, phone: str, **more: Any) -> dict[str, Any]:
    return {
        "id": number,
        "broadcast": None,
        "contact": {"uuid": contact, "name": name},
        "urn": f"tel:{phone}",
        "channel": {"uuid": "6bf1eb72-ef02-483c-a39e-abae7d0ee3d8", "name": "Old phone"},
        "direction": "in",
        "type": "text",
        "status": "handled",
        "visibility": "visible",
        "text": f"message {number}",
        "labels": [],
        "flow": None,
        "attachments": [],
        "created_on": "2024-01-31T23:59:28.464000Z",
        "sent_on": None,
        **more,
    }


def write(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_bytes(gzip.compress("".join(json.dumps(each) + "\n" for each in records).encode()))
    return path


def bring_in(api: Api, path: Path) -> dict[str, Any]:
    return _import(api.database, api.workspace, path, lambda _done, _count: None)


def test_messages_of_an_archive_are_found_by_the_same_filters_and_only_once(api: Api, tmp_path: Path) -> None:
    known = make_contact(api.database, api.workspace, "+250788000001", "Amina Wanjiru")
    urgent = {"uuid": "93ee9b0c-0b31-4247-813f-c016688dcbbf", "name": "Urgent"}
    records = [
        message(1, IDA, "Ida", "+250788000777", labels=[urgent], text="the river rises"),
        message(2, AMINA, "Amina", "+250788000001"),
        message(3, IDA, "Ida", "+250788000777", direction="out", status="queued", text="are you well?"),
        message(4, known, "Another name", "+250788000001"),
    ]
    path = write(tmp_path / "2024-01-message.jsonl.gz", records)

    first, second = bring_in(api, path), bring_in(api, path)

    contacts = {each["name"]: each for each in api.results("/api/v2/contacts.json")}
    messages = {each["text"]: each for each in api.results("/api/v2/messages.json")}
    assert [first[name] for name in ("new", "present", "lost")] == [4, 0, 0]
    assert [second[name] for name in ("new", "present", "lost")] == [0, 4, 0]
    assert sorted(contacts) == ["Amina Wanjiru", "Ida"] and contacts["Ida"]["urns"] == ["tel:+250788000777"]
    assert contacts["Ida"]["uuid"] == IDA
    assert (messages["are you well?"]["status"], len(messages)) == ("failed", 4)
    assert messages["message 2"]["contact"]["uuid"] == known
    assert messages["the river rises"]["created_on"] == "2024-01-31T23:59:28.464000Z"
    texts = {each["text"] for each in api.results("/api/v2/messages.json", label="Urgent", before="2024-02-01")}
    assert texts == {"the river rises"}
    assert len(api.results("/api/v2/messages.json", contact=known)) == 2
    assert api.results("/api/v2/conversations.json", unread="true") == []


def test_runs_of_an_archive_need_their_flow(api: Api, tmp_path: Path) -> None:
    flow_uuid = uuid_of(api.database, flow, add_flow(api.database, api.workspace, "Survey"))
    run = {
        "id": 9,
        "uuid": "6c28f509-7561-4e43-82d2-02a40c1df1df",
        "flow": {"uuid": flow_uuid, "name": "Survey"},
        "contact": {"uuid": IDA, "name": "Ida", "urn": "tel:+250788000777"},
        "start": None,
        "responded": True,
        "path": [{"node": NODE, "time": MOMENT}],
        "values": {"color": {"value": "blue", "category": "Blue", "node": NODE, "time": MOMENT}},
        "created_on": "2024-01-30T10:00:00.000000Z",
        "modified_on": "2024-01-30T10:05:00.000000Z",
        "exited_on": "2024-01-30T10:05:00.000000Z",
        "exit_type": "completed",
    }
    lost = {**run, "uuid": "5533428a-65f5-4593-80c6-924813852a38", "flow": {"uuid": AMINA, "name": "Gone"}}

    done = bring_in(api, write(tmp_path / "2024-01-run.jsonl.gz", [run, lost]))

    (found,) = api.results("/api/v2/runs.json", flow=flow_uuid)
    assert [done[name] for name in ("new", "present", "lost")] == [1, 0, 1]
    assert (found["uuid"], found["exit_type"]) == (run["uuid"], "completed")
    assert found["values"]["color"]["category"] == "Blue"


@pytest.mark.together
@pytest.mark.parametrize(
    "content",
    [b"text", gzip.compress(b"{"), gzip.compress(b"[]\n"), gzip.compress(b"{}")[:-9]],
    ids=["not compressed", "no JSON", "a list", "cut off"],
)
def test_a_file_that_is_no_archive_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(content)

    with pytest.raises(CommandFailed):
        list(_read_chunks(path))
