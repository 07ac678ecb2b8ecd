"""Reads do not wait for writes, not even on SQLite, which has one lock for all writers."""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest

from handlers.contract.operations import load_contract, only_reads
from persistence.tokens import list_tokens
from testbed.running import wait_until
from testbed.tokens import make_token
from tests.api import Api
from tests.contract.documents import token_operations

Locked = Callable[[], AbstractContextManager[None]]

GETS = [
    f"/api/{each.generation}{each.path}"
    for each in token_operations()
    if each.method == "get"
    and each.generation in ("v1", "v2")
    and not each.body.get("x-tells-reading")
    and not any(part.get("required") for part in each.parameters())
]
"""All that need no parameter. Who reads a secret writes: the audit log is told in the same unit of work."""


def test_every_get_is_answered_while_another_process_writes(api: Api, locked: Locked) -> None:
    with locked():
        statuses = {path: api.get(path).status_code for path in GETS}

    assert len(GETS) > 40
    assert set(statuses.values()) == {200}, statuses


def test_a_request_that_only_tells_what_it_would_do_is_answered_while_another_process_writes(
    api: Api, locked: Locked
) -> None:
    """The examples of the contract; the import that one of them names is not there."""
    said = {}
    with locked():
        for name, rules in load_contract("v2").items():
            if not rules.may_be_dry:
                continue
            bodies = [each["value"] for each in examples_of(rules.path) if only_reads(rules, each["value"])]
            assert bodies, f"{name} has no example of a request that only reads"
            said |= {(rules.path, str(body)): api.post(rules.path, body).status_code for body in bodies}

    by_path = {path: status for (path, _), status in said.items()}
    assert by_path == {
        "/api/v2/contact_doubles.json": 200,
        "/api/v2/contact_renumberings.json": 200,
        "/api/v2/contact_import_actions.json": 400,
    }, said


def examples_of(path: str) -> list[dict[str, Any]]:
    (found,) = (
        each.body["requestBody"]["content"]["application/json"]["examples"]
        for each in token_operations()
        if each.method == "post" and f"/api/{each.generation}{each.path}" == path
    )
    return list(found.values())


def test_the_first_use_of_a_token_is_noted_once_the_writer_has_ended(api: Api, locked: Locked) -> None:
    new = api.with_token(make_token(api.database, api.workspace, "viewer"))
    with locked():
        assert new.get("/api/v2/labels.json").status_code == 200
        assert last_use(api) is None or api.database.sqlite is False

    wait_until(lambda: last_use(api) is not None, "the note")


@pytest.mark.parametrize("writes", [1, 5])
def test_requests_that_wait_for_the_lock_do_not_keep_reading_ones_waiting(
    api: Api, locked: Locked, writes: int
) -> None:
    written: list[int] = []

    def write(name: str) -> None:
        written.append(api.post("/api/v2/labels.json", {"name": name}).status_code)

    threads = [threading.Thread(target=write, args=(f"Label {number}",)) for number in range(writes)]
    with locked():
        for thread in threads:
            thread.start()
        if api.database.sqlite:
            statuses = [api.get("/api/v2/labels.json").status_code for _ in range(20)]
            assert (set(statuses), written) == ({200}, [])
    for thread in threads:
        thread.join()

    assert written == [201] * writes


def last_use(api: Api) -> object:
    with api.database.reading() as tx:
        return list_tokens(tx, api.workspace.id)[0]["last_used_on"]
