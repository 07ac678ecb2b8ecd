"""What a flow in the terminal uses of a workspace; nothing of it is changed."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from flows import Environment
from persistence.contacts.values import environment_of
from persistence.database import Transaction
from persistence.flows.assets import load_asset_rows
from persistence.workspaces import Workspace

LENT = ("fields", "groups", "globals", "users", "labels", "topics")


@dataclass(frozen=True, slots=True)
class Lent:
    """Assets of a workspace by kind, in the form that tools of the format exchange, and its formats and languages."""

    assets: dict[str, list[dict[str, Any]]]
    environment: Environment


def lend(tx: Transaction, workspace: Workspace) -> Lent:
    """The fields, groups, globals, labels, topics and users of a workspace."""
    lists = load_asset_rows(tx, workspace.id).lists
    return Lent({kind: [asdict(each) for each in lists[kind]] for kind in LENT}, environment_of(workspace))


def overlay(made: Mapping[str, Any], lent: Mapping[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """The assets of a file, replaced by those of the workspace where it has them, and all other assets of the
    workspace. Fields and globals are matched by key, all others by name in any case. Assets of the file keep their
    UUIDs, because its flows refer to them.
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
