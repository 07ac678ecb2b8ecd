"""What the references of imported definitions mean in a workspace, and making what is missing there."""

import uuid as uuid_module
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Table, select, update

from flows.definition.exports import clean_name
from persistence.database import Transaction
from persistence.errors import InvalidInput, LimitReached
from persistence.fields import RESERVED_KEYS, create_field
from persistence.groups.groups import create_group
from persistence.groups.smart_groups import create_query_group
from persistence.labels import create_label
from persistence.sql.columns import is_uuid, new_uuid
from persistence.sql.names import check_room, name_key
from persistence.stamps import stamped
from persistence.tables.accounts import membership, user
from persistence.tables.channels import channel
from persistence.tables.contacts import FIELD_KEY as KEY
from persistence.tables.contacts import FIELD_KEY_LENGTH as KEY_LENGTH
from persistence.tables.contacts import FIELD_NAME_LENGTH as NAME_LENGTH
from persistence.tables.contacts import field, group
from persistence.tables.flows import flow
from persistence.tables.messages import label, optin, template
from persistence.tables.service import classifier, global_value
from persistence.tables.tickets import ticketer, topic
from persistence.topics import create_topic
from persistence.workspaces import Workspace

TABLES = {
    "channel": channel,
    "classifier": classifier,
    "flow": flow,
    "group": group,
    "label": label,
    "optin": optin,
    "template": template,
    "ticketer": ticketer,
    "topic": topic,
}
MAKERS = {"group": create_group, "label": create_label, "topic": create_topic}
"""The kinds of things that an import makes when it finds none of the name."""

Known = tuple[str, str]
"""UUID and name."""


class ImportedAssets:
    """The things of a workspace by UUID and by name, and those that an import has made."""

    def __init__(self, tx: Transaction, workspace: Workspace) -> None:
        self._tx = tx
        self._workspace = workspace
        self._by_uuid: dict[str, dict[str, Known]] = {}
        self._by_name: dict[str, dict[str, Known]] = {}
        for kind, table in TABLES.items():
            self._load(kind, table)
        self._field_keys = self._load_column(field, field.c.key)
        self._global_keys = self._load_column(global_value, global_value.c.key)
        self._users = self._load_users()
        self.made: dict[str, list[str]] = {"fields": [], "globals": [], "groups": [], "labels": [], "topics": []}

    def find(self, kind: str, uuid: str, name: str) -> Known | None:
        """What is meant by a UUID, else by a name in any case."""
        found = self._by_uuid[kind].get(uuid.lower()) if uuid else None
        return found or (self._by_name[kind].get(name_key(clean_name(name))) if name else None)

    def resolve(self, kind: str, uuid: str, name: str) -> Known | None:
        """`find`, and for groups, labels and topics a new one when there is none. What has a name only, and is not
        there, gets a UUID of its own, so that the flow can be read and tells what it lacks."""
        if kind not in TABLES:
            return None
        name = clean_name(name)
        found = self.find(kind, uuid, name)
        if found is None and name and kind in MAKERS:
            found = self._make(kind, uuid, name)
        elif found is not None and is_uuid(uuid):
            self._by_uuid[kind][uuid.lower()] = found
        if found is None and name and not is_uuid(uuid):
            return str(uuid_module.uuid5(uuid_module.UUID(self._workspace.uuid), f"{kind} {name_key(name)}")), name
        return found

    def add_flow(self, uuid: str, known: Known) -> None:
        """Notes that a flow of the file has another UUID and name here."""
        if is_uuid(uuid):
            self._by_uuid["flow"][uuid.lower()] = known
        self._note("flow", known)

    def ensure_group(self, uuid: str, name: str, query: str) -> None:
        """The group with this UUID or name, made when there is none. Raises InvalidInput or LimitReached."""
        found = self.find("group", uuid, name)
        if found is not None:
            if is_uuid(uuid):
                self._by_uuid["group"][uuid.lower()] = found
            return
        with naming_limit("group", name):
            if query:
                made_id = create_query_group(self._tx, self._workspace, name, query)
            else:
                made_id = create_group(self._tx, self._workspace.id, name)
        self._keep("group", group, made_id, uuid, name.strip())

    def ensure_field(self, key: str, name: str, kind: str) -> bool:
        """The field with this key, made when there is none; false if no field can have it. Raises LimitReached."""
        if key in self._field_keys:
            return True
        if not KEY.match(key) or len(key) > KEY_LENGTH or key in RESERVED_KEYS:
            return False
        numbered = f"{_spell(key)[: KEY_LENGTH - 5]} {len(self._field_keys) + 1}"
        for each in (clean_name(name, NAME_LENGTH), _spell(key), numbered):
            try:
                with naming_limit("field", key):
                    create_field(self._tx, self._workspace.id, each, kind, key=key)
            except InvalidInput:
                continue
            self._field_keys.add(key)
            self.made["fields"].append(key)
            return True
        return False

    def ensure_global(self, key: str) -> None:
        """The global with this key; one that is made is blank, for people to fill in. Raises LimitReached."""
        if key in self._global_keys or not KEY.match(key) or len(key) > KEY_LENGTH:
            return
        with naming_limit("global", key):
            check_room(self._tx, self._workspace.id, global_value)
        name = key.replace("_", " ")
        values = {"uuid": new_uuid(), "key": key, "name": name, "name_key": name_key(name), "value": ""}
        times = {"created_on": self._tx.now, "modified_on": stamped(self._tx, global_value, self._workspace.id)}
        self._tx.execute(global_value.insert().values(workspace_id=self._workspace.id, **values, **times))
        self._global_keys.add(key)
        self.made["globals"].append(key)

    def knows(self, kind: str, identity: str) -> bool:
        """Whether the workspace has what a flow refers to."""
        if kind == "field":
            return identity in self._field_keys
        if kind == "global":
            return identity in self._global_keys
        if kind == "user":
            return identity.lower() in self._users
        return identity.lower() in self._by_uuid.get(kind, {})

    def _load(self, kind: str, table: Table) -> None:
        rows = table.c
        statement = select(rows.uuid, rows.name).where(rows.workspace_id == self._workspace.id).order_by(rows.id.desc())
        if kind == "channel":
            statement = statement.where(rows.is_active)
        self._by_uuid[kind], self._by_name[kind] = {}, {}
        for uuid, name in self._tx.execute(statement):
            self._note(kind, (uuid, name or ""))

    def _load_column(self, table: Table, column: Any) -> set[str]:
        return set(self._tx.execute(select(column).where(table.c.workspace_id == self._workspace.id)).scalars())

    def _load_users(self) -> set[str]:
        members = membership.c.user_id == user.c.id
        statement = select(user.c.uuid, user.c.email_key).join(membership, members)
        rows = self._tx.execute(statement.where(membership.c.workspace_id == self._workspace.id))
        return {text for row in rows for text in row}

    def _make(self, kind: str, uuid: str, name: str) -> Known | None:
        try:
            with naming_limit(kind, name):
                made_id = MAKERS[kind](self._tx, self._workspace.id, name)
        except InvalidInput:
            # A name that nothing can have: the flow lacks it, which its inspection says.
            return None
        return self._keep(kind, TABLES[kind], made_id, uuid, name.strip())

    def _keep(self, kind: str, table: Table, made_id: int, uuid: str, name: str) -> Known:
        known = (adopt_uuid(self._tx, table, made_id, uuid), name)
        self._note(kind, known)
        self.made[f"{kind}s"].append(name)
        return known

    def _note(self, kind: str, known: Known) -> None:
        self._by_uuid[kind][known[0]] = known
        self._by_name[kind][name_key(known[1])] = known


@contextmanager
def naming_limit(kind: str, name: str) -> Iterator[None]:
    """Lets LimitReached say what there is no room for."""
    try:
        yield
    except LimitReached as error:
        raise LimitReached(f'There is no room for the {kind} "{name}": {error}') from error


def adopt_uuid(tx: Transaction, table: Table, record_id: int, uuid: str) -> str:
    """Gives a record just made the UUID it had elsewhere, if nothing on this server has it; returns the one it has."""
    if is_uuid(uuid) and tx.execute(select(table.c.id).where(table.c.uuid == uuid)).first() is None:
        tx.execute(update(table).where(table.c.id == record_id).values(uuid=uuid))
    kept: str = tx.execute(select(table.c.uuid).where(table.c.id == record_id)).scalar_one()
    return kept


def _spell(key: str) -> str:
    return key.replace("_", " ").strip().title()
