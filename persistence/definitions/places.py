"""Which flow of a workspace each flow of an export file is, and what it is called there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select, update

from flows.definition.exports import ExportError
from persistence.database import Transaction
from persistence.definitions.assets import ImportedAssets
from persistence.flows.writes import make_flow_uuid
from persistence.sql.names import name_key
from persistence.stamps import touch
from persistence.tables.contacts import contact
from persistence.tables.flows import FLOW_NAME_LENGTH as NAME_LENGTH
from persistence.tables.flows import flow


@dataclass(frozen=True, slots=True)
class PlacedFlow:
    """A definition of a file with the UUID and name it has here; `flow_id` is None for a flow still to be made."""

    definition: Mapping[str, Any]
    uuid: str
    name: str
    flow_id: int | None


def place_flows(
    tx: Transaction, workspace_id: int, assets: ImportedAssets, definitions: Sequence[Mapping[str, Any]]
) -> list[PlacedFlow]:
    """Finds each flow by UUID, else by name; a name that another flow has gets a number. Raises ExportError.

    From now on `assets` know the flows of the file.
    """
    rows = tx.execute(select(flow.c.id, flow.c.uuid, flow.c.name_key).where(flow.c.workspace_id == workspace_id)).all()
    ids = {row.uuid: row.id for row in rows}
    uuids = {row.name_key: row.uuid for row in rows}
    _check_uuids(definitions)
    matched: dict[int, str] = {
        index: uuid for index, given in enumerate(definitions) if (uuid := str(given["uuid"]).lower()) in ids
    }
    for index, given in enumerate(definitions):
        found = uuids.get(name_key(given["name"].strip()))
        if index not in matched and found is not None and found not in matched.values():
            matched[index] = found
    taken = {key for key, uuid in uuids.items() if uuid not in matched.values()}
    placed = []
    for index, given in enumerate(definitions):
        name = number_name(given["name"].strip(), taken)
        taken.add(name_key(name))
        uuid = matched.get(index) or make_flow_uuid(tx, given["uuid"])
        assets.add_flow(given["uuid"], (uuid, name))
        placed.append(PlacedFlow(given, uuid, name, ids.get(uuid)))
    return placed


def free_old_names(tx: Transaction, workspace_id: int, placed: Sequence[PlacedFlow]) -> None:
    """Takes away the names of flows that get others, so that new ones and each other can have them at once.

    Contacts who are in such flows show other names from now on. All flows of the file are held, in the order of ids, as
    the workers hold those whose runs they count.
    """
    names = {one.flow_id: one.name for one in placed if one.flow_id is not None}
    mine = (flow.c.workspace_id == workspace_id) & flow.c.id.in_(sorted(names))
    known = tx.execute(select(flow.c.id, flow.c.name).where(mine)).all()
    renamed_ids = [row.id for row in known if names[row.id] != row.name]
    if renamed_ids:
        touch(tx, contact, workspace_id, contact.c.current_flow_id.in_(renamed_ids))
    tx.execute(select(flow.c.id).where(mine).order_by(flow.c.id).with_for_update(key_share=True))
    for one in placed:
        mine = (flow.c.workspace_id == workspace_id) & (flow.c.id == one.flow_id)
        if one.flow_id is not None:
            renamed = update(flow).where(mine, flow.c.name_key != name_key(one.name))
            tx.execute(renamed.values(name_key=f"was {one.uuid}"))


def number_name(name: str, taken: set[str]) -> str:
    """The name, or with the first number that makes it a name nobody has: `Registration 2`."""
    number, free = 1, name
    while name_key(free) in taken:
        number += 1
        free = f"{name[: NAME_LENGTH - len(str(number)) - 1]} {number}"
    return free


def _check_uuids(definitions: Sequence[Mapping[str, Any]]) -> None:
    seen: set[str] = set()
    for index, given in enumerate(definitions):
        uuid = str(given["uuid"]).lower()
        if uuid in seen:
            raise ExportError(f"{uuid} is used twice", f"flows[{index}].uuid")
        seen.add(uuid)
