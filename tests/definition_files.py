"""Export files for tests, and bringing them in."""

from pathlib import Path
from typing import Any

import orjson

from persistence.database import Database
from persistence.definitions.importing import ImportReport, import_definitions
from persistence.sql.columns import new_uuid
from persistence.workspaces.records import Workspace

REGISTRATION = Path(__file__).parent / "flows" / "exports" / "registration.json"


def read_registration() -> dict[str, Any]:
    """A file with three flows, a campaign, triggers, fields and groups."""
    document: dict[str, Any] = orjson.loads(REGISTRATION.read_bytes())
    return document


def tested(*tests: dict[str, Any]) -> dict[str, Any]:
    """The file of the registration with these tests, by default one that passes."""
    document = read_registration()
    first, *others = document["flows"]
    asks = {"name": "It asks, and waits", "then": {"status": "waiting"}}
    return {
        **document,
        "flows": [{**first, "_ui": {**first.get("_ui", {}), "tests": list(tests) or [asks]}}, *others],
    }


def bring_in(database: Database, workspace: Workspace, document: Any) -> ImportReport:
    with database.writing() as tx:
        return import_definitions(tx, workspace, document)


def make_file(*flows: dict[str, Any], **parts: Any) -> dict[str, Any]:
    """A file with these flows and nothing else unless `parts` say so."""
    empty: dict[str, Any] = {"campaigns": [], "triggers": [], "fields": [], "groups": []}
    return {"version": "13", "site": "https://elsewhere.example.org", "flows": list(flows), **empty, **parts}


def make_definition(*actions: dict[str, Any], name: str = "Welcome", **values: Any) -> dict[str, Any]:
    """A flow of one node that does this."""
    done = [{"uuid": new_uuid(), **action} for action in actions]
    node = {"uuid": new_uuid(), "actions": done, "exits": [{"uuid": new_uuid(), "destination_uuid": None}]}
    return {
        "uuid": new_uuid(),
        "name": name,
        "spec_version": "13.6.1",
        "language": "eng",
        "type": "messaging",
        "revision": 1,
        "expire_after_minutes": 60,
        "localization": {},
        "nodes": [node],
        **values,
    }


def say(text: str) -> dict[str, Any]:
    """An action that sends a message."""
    return {"type": "send_msg", "text": text}
