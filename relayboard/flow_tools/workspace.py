"""What a workspace lends to a flow that is played in the terminal; nothing of it is changed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flows import Environment
from persistence.contacts.values import environment_of
from persistence.database import Transaction
from persistence.flows.assets import AssetRows, load_asset_rows
from persistence.workspaces import Workspace


@dataclass(frozen=True, slots=True)
class Lent:
    """Assets of a workspace by kind, as the format's tools exchange them, and its formats and languages."""

    assets: dict[str, list[dict[str, Any]]]
    environment: Environment


def lend(tx: Transaction, workspace: Workspace) -> Lent:
    """The fields, groups, globals, labels, topics and users of a workspace."""
    return Lent(_describe(load_asset_rows(tx, workspace.id)), environment_of(workspace))


def _describe(rows: AssetRows) -> dict[str, list[dict[str, Any]]]:
    named = {"labels": rows.labels, "topics": rows.topics}
    return {
        "fields": [{**each.reference, "type": each.type, "uuid": each.uuid} for each in rows.fields],
        "groups": [{**each.reference, "query": each.query} for each in rows.groups],
        "globals": [{"key": each.key, "name": each.name, "value": each.value} for each in rows.globals],
        "users": [{**each.reference, "email": each.email} for each in rows.users],
        **{kind: [dict(each.reference) for each in items] for kind, items in named.items()},
    }


def overlay(made: Mapping[str, Any], lent: Mapping[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """The assets a file asks for with what the workspace has in their place, and everything else it has.

    Fields and globals are the same by key, all others by name in any case; those of the file keep their UUIDs, by which
    its flows refer to them.
    """
    merged = dict(made)
    for kind, items in lent.items():
        name = "key" if kind in ("fields", "globals") else "name"
        known = {str(each[name]).lower(): each for each in made.get(kind) or ()}
        theirs = {str(each[name]).lower(): each for each in items}
        kept = [
            {**each, **theirs.get(key, {}), **({"uuid": each["uuid"]} if each.get("uuid") else {})}
            for key, each in known.items()
        ]
        merged[kind] = kept + [each for key, each in theirs.items() if key not in known]
    return merged
