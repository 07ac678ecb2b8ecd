"""What the queue's messages look like, and which are refused."""

import json
from datetime import UTC, datetime

import pytest
from huey.registry import Message

from relayboard.base.tracing import MOST_CAUSES
from worker.queue_messages import JsonMessages, NoMessage

CAUSE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
WAKE = {"id": "7", "task": "run_work", "kind": "webhooks", "expires": None}
SWEEP = {"id": "8", "task": "sweep_webhooks", "kind": None, "expires": "2026-03-02T08:00:00+00:00"}


def read(given: object) -> Message:
    return JsonMessages().deserialize(json.dumps(given).encode())


def written(message: Message) -> object:
    return json.loads(JsonMessages().serialize(message))


@pytest.mark.parametrize(
    ("given", "name", "arguments"),
    [
        (WAKE, "worker.app.run_work", ("webhooks", ())),
        ({**WAKE, "causes": [CAUSE]}, "worker.app.run_work", ("webhooks", (CAUSE,))),
        ({**WAKE, "causes": [CAUSE] * MOST_CAUSES}, "worker.app.run_work", ("webhooks", (CAUSE,) * MOST_CAUSES)),
        (SWEEP, "worker.app.sweep_webhooks", ()),
    ],
)
def test_a_message_comes_out_as_it_went_in(given: dict[str, object], name: str, arguments: tuple[object, ...]) -> None:
    message = read(given)

    assert (message.id, message.name, message.args, message.kwargs) == (given["id"], name, arguments, {})
    expires = datetime(2026, 3, 2, 8, tzinfo=UTC) if given is SWEEP else None
    assert (message.expires, message.expires_resolved) == (expires, expires)
    assert (message.retries, message.retry_delay) == (0, 0)
    assert written(message) == given


@pytest.mark.parametrize("absent", ["id", "task", "kind", "expires"])
def test_a_message_has_all_its_parts(absent: str) -> None:
    with pytest.raises(NoMessage):
        read({name: value for name, value in WAKE.items() if name != absent})


@pytest.mark.parametrize(
    "changed",
    [
        {"id": ""},
        {"id": 7},
        {"id": "7\n"},
        {"task": "run_works"},
        {"task": "sweep_"},
        {"kind": None},
        {"kind": "a b"},
        {"expires": 5},
        {"expires": "soon"},
        {"causes": CAUSE},
        {"causes": ["x"]},
        {"causes": [CAUSE] * (MOST_CAUSES + 1)},
    ],
)
def test_a_message_with_a_part_of_another_form_is_refused(changed: dict[str, object]) -> None:
    with pytest.raises(NoMessage):
        read({**WAKE, **changed})


@pytest.mark.parametrize("data", [b"", b"[]", b"null", b"5", b"\xff", b"[" * 100_000, b'{"id": "7"'])
def test_what_is_no_json_object_is_refused(data: bytes) -> None:
    with pytest.raises(NoMessage):
        JsonMessages().deserialize(data)
