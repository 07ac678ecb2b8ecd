"""Flows built from a few words and stored as an import would."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import orjson
from sqlalchemy import insert

from persistence.database import Database
from persistence.sql.names import name_key
from persistence.tables.flows import flow, flow_revision
from persistence.workspaces.records import Workspace


def uuid_of(word: str) -> str:
    """Always the same UUID for a word."""
    return str(uuid5(NAMESPACE_URL, f"https://example.org/{word}"))


def say(text: str, **fields: Any) -> dict[str, Any]:
    """An action that sends a message."""
    return {"type": "send_msg", "uuid": uuid_of(f"say {text}"), "text": text, **fields}


def node(word: str, actions: Sequence[Mapping[str, Any]] = (), to: str | None = None) -> dict[str, Any]:
    """A node that does something and goes on to the node of another word."""
    leads = {"uuid": uuid_of(f"exit of {word}"), "destination_uuid": uuid_of(to) if to else None}
    return {"uuid": uuid_of(word), "actions": list(actions), "exits": [leads]}


def ask(
    word: str,
    answers: Mapping[str, str | None],
    other: str | None,
    *,
    result: str = "",
    timeout: tuple[int, str] | None = None,
    actions: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """A node that waits for a message: each answer leads to a node, every other answer to `other`."""
    roads: dict[str, str | None] = {**answers, "Other": other, **({"No Response": timeout[1]} if timeout else {})}
    categories = [
        {"uuid": uuid_of(f"{word} {name}"), "name": name, "exit_uuid": uuid_of(f"{word} {name} exit")} for name in roads
    ]
    wait: dict[str, Any] = {"type": "msg"}
    if timeout:
        wait["timeout"] = {"seconds": timeout[0], "category_uuid": uuid_of(f"{word} No Response")}
    router = {
        "type": "switch",
        "operand": "@input.text",
        "wait": wait,
        "categories": categories,
        "cases": [
            {
                "uuid": uuid_of(f"{word} {answer} case"),
                "type": "has_any_word",
                "arguments": [answer],
                "category_uuid": uuid_of(f"{word} {answer}"),
            }
            for answer in answers
        ],
        "default_category_uuid": uuid_of(f"{word} Other"),
        **({"result_name": result} if result else {}),
    }
    exits = [
        {"uuid": uuid_of(f"{word} {name} exit"), "destination_uuid": uuid_of(to) if to else None}
        for name, to in roads.items()
    ]
    return {"uuid": uuid_of(word), "actions": list(actions), "router": router, "exits": exits}


def definition(name: str, nodes: Sequence[Mapping[str, Any]], **fields: Any) -> dict[str, Any]:
    """A flow of version 14.0."""
    head = {"uuid": uuid_of(f"flow {name}"), "name": name, "spec_version": "14.0.0", "language": "eng"}
    rest = {"type": "messaging", "revision": 1, "expire_after_minutes": 60, "localization": {}, "nodes": list(nodes)}
    return {**head, **rest, **fields}


def store_flow(database: Database, workspace: Workspace, flow_definition: Mapping[str, Any]) -> str:
    """The uuid of a flow with one revision."""
    name = flow_definition["name"]
    with database.writing() as tx:
        values = {
            "workspace_id": workspace.id,
            "uuid": flow_definition["uuid"],
            "name": name,
            "name_key": name_key(name),
            "type": "message",
            "base_language": flow_definition["language"],
            "expires_after_minutes": flow_definition["expire_after_minutes"],
            "definition_revision": 1,
            "results": [],
            "parent_refs": [],
            "dependencies": [],
            "issues": [],
            "created_on": tx.now,
            "modified_on": tx.now,
        }
        flow_id = tx.execute(insert(flow).values(values).returning(flow.c.id)).scalar_one()
        revision = {"workspace_id": workspace.id, "flow_id": flow_id, "number": 1, "spec_version": "14.0.0"}
        text = orjson.dumps(flow_definition).decode()
        tx.execute(insert(flow_revision).values(definition=text, created_on=tx.now, **revision))
    return str(flow_definition["uuid"])
