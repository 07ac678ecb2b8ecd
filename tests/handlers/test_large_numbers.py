"""Ids that no record can have find nothing, in all parameters and fields."""

from typing import Any

import pytest

from tests.api import Api

LARGE = ["2147483648", "9223372036854775807"]
FILTERS = [
    ("v1/relayers", "relayer"),
    *(("v1/messages", name) for name in ("id", "flow", "broadcast", "relayer", "channel")),
    ("v1/broadcasts", "id"),
    ("v1/calls", "call"),
    ("v1/calls", "relayer"),
    ("v1/flows", "flow"),
    ("v1/runs", "run"),
    ("v2/messages", "id"),
    ("v2/messages", "broadcast"),
    ("v2/broadcasts", "id"),
    ("v2/channel_events", "id"),
    ("v2/flow_starts", "id"),
    ("v2/runs", "id"),
    ("v2/resthook_subscribers", "id"),
]


@pytest.mark.together
@pytest.mark.parametrize("number", LARGE)
@pytest.mark.parametrize(("path", "name"), FILTERS)
def test_a_filter_gives_an_empty_list(api: Api, path: str, name: str, number: str) -> None:
    assert api.results(f"/api/{path}.json", **{name: number}) == []


@pytest.mark.together
@pytest.mark.parametrize("number", LARGE)
@pytest.mark.parametrize(("path", "name"), [("v1/relayers", "relayer"), ("v2/resthook_subscribers", "id")])
def test_there_is_nothing_to_delete(api: Api, path: str, name: str, number: str) -> None:
    assert api.delete(f"/api/{path}.json", **{name: number}).status_code == 404


@pytest.mark.together
@pytest.mark.parametrize("number", [int(number) for number in LARGE])
def test_actions_pass_over_messages_that_cannot_be(api: Api, number: int) -> None:
    body: dict[str, Any] = {"messages": [number], "action": "archive"}

    newer = api.post("/api/v2/message_actions.json", body)

    assert api.post("/api/v1/message_actions.json", body).status_code == 204
    assert (newer.status_code, newer.json()) == (200, {"failures": [number]})


@pytest.mark.together
@pytest.mark.parametrize("number", ["-1", "1.5", "one", "9223372036854775808"])
def test_what_is_no_number_of_a_record_is_refused(api: Api, number: str) -> None:
    assert api.get("/api/v1/runs.json", run=number).status_code == 400
    assert api.get("/api/v2/runs.json", id=number).status_code == 400
