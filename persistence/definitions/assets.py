"""Resolves the references of imported definitions in a workspace, creates what is missing there, and says in one line
which rule a part of a file violates.
"""

import uuid as uuid_module
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import ColumnElement, Table, select, update

from flows.asset_kinds import FLOW, KINDS, is_relinked
from flows.definition.exports import clean_name
from persistence.database import Transaction
from persistence.errors import InvalidInput, LimitReached
from persistence.field_writes import RESERVED_KEYS, create_field
from persistence.flows.assets import STORED
from persistence.groups.groups import create_group
from persistence.groups.smart_groups import create_query_group
from persistence.sql.columns import is_uuid, new_uuid
from persistence.sql.names import check_room, name_key
from persistence.stamps import stamped
from persistence.tables.accounts import membership, user
from persistence.tables.channels import channel
from persistence.tables.contacts import FIELD_KEY as KEY
from persistence.tables.contacts import FIELD_KEY_LENGTH as KEY_LENGTH
from persistence.tables.contacts import FIELD_NAME_LENGTH as NAME_LENGTH
from persistence.tables.flows import flow
from persistence.tables.service import global_value
from persistence.workspaces import Workspace

LOADED_OTHERWISE = ("channel", "resthook", "user")
"""Only active channels; users also by e-mail address; resthooks only if a flow needs one."""

Known = tuple[str, str]
"""UUID, or key, and name."""


class ImportedAssets:
    """The assets of a workspace by UUID or key and by name, and those that an import has created."""

    def __init__(self, tx: Transaction, workspace: Workspace) -> None:
        self._tx = tx
        self._workspace = workspace
        self._known: dict[str, dict[str, Known]] = {}
        self._by_name: dict[str, dict[str, Known]] = {}
        self._load(FLOW, flow.c.uuid, flow.c.name)
        for kind, stored in STORED.items():
            if kind not in LOADED_OTHERWISE:
                self._load(kind, stored.table.c[KINDS[kind].identity], stored.table.c.name)
        self._load("channel", channel.c.uuid, channel.c.name, channel.c.is_active)
        self._load_users()
        kinds = ("field", "global", *(kind for kind, stored in STORED.items() if stored.make))
        self.made: dict[str, list[str]] = {KINDS[kind].plural: [] for kind in kinds}

    def find(self, kind: str, uuid: str, name: str) -> Known | None:
        """The asset with a UUID, otherwise with a name in any case."""
        found = self._known[kind].get(uuid.lower()) if uuid else None
        return found or (self._by_name[kind].get(name_key(clean_name(name))) if name else None)

    def resolve(self, kind: str, uuid: str, name: str) -> Known | None:
        """Like `find`, but creates missing groups, labels and topics. Another missing asset that has only a name
        gets a new UUID, so that the flow can be read and reports what it lacks."""
        if kind not in self._by_name or not is_relinked(kind):
            return None
        name = clean_name(name)
        found = self.find(kind, uuid, name)
        if found is None and name:
            found = self._make(kind, uuid, name)
        elif found is not None and is_uuid(uuid):
            self._known[kind][uuid.lower()] = found
        if found is None and name and not is_uuid(uuid):
            return str(uuid_module.uuid5(uuid_module.UUID(self._workspace.uuid), f"{kind} {name_key(name)}")), name
        return found

    def add_flow(self, uuid: str, known: Known) -> None:
        """Records that a flow of the file has another UUID and name here."""
        if is_uuid(uuid):
            self._known[FLOW][uuid.lower()] = known
        self._note(FLOW, known)

    def ensure_group(self, uuid: str, name: str, query: str) -> None:
        """The group with this UUID or name, created if there is none. Raises InvalidInput or LimitReached."""
        found = self.find("group", uuid, name)
        if found is not None:
            if is_uuid(uuid):
                self._known["group"][uuid.lower()] = found
            return
        with naming_limit("group", name):
            if query:
                made_id = create_query_group(self._tx, self._workspace, name, query)
            else:
                made_id = create_group(self._tx, self._workspace.id, name)
        self._keep("group", made_id, uuid, name.strip())

    def ensure_field(self, key: str, name: str, kind: str) -> bool:
        """Ensures that there is a field with this key; returns False if no field can have it. Raises LimitReached."""
        if key in self._known["field"]:
            return True
        if not KEY.match(key) or len(key) > KEY_LENGTH or key in RESERVED_KEYS:
            return False
        numbered = f"{_spell(key)[: KEY_LENGTH - 5]} {len(self._known['field']) + 1}"
        for each in (clean_name(name, NAME_LENGTH), _spell(key), numbered):
            try:
                with naming_limit("field", key):
                    create_field(self._tx, self._workspace.id, each, kind, key=key)
            except InvalidInput:
                continue
            self._note("field", (key, each))
            self.made["fields"].append(key)
            return True
        return False

    def ensure_global(self, key: str) -> None:
        """Ensures that there is a global with this key; a new one is blank, for users to fill in. Raises
        LimitReached."""
        if key in self._known["global"] or not KEY.match(key) or len(key) > KEY_LENGTH:
            return
        with naming_limit("global", key):
            check_room(self._tx, self._workspace.id, global_value)
        name = key.replace("_", " ")
        values = {"uuid": new_uuid(), "key": key, "name": name, "name_key": name_key(name), "value": ""}
        times = {"created_on": self._tx.now, "modified_on": stamped(self._tx, global_value, self._workspace.id)}
        self._tx.execute(global_value.insert().values(workspace_id=self._workspace.id, **values, **times))
        self._note("global", (key, name))
        self.made["globals"].append(key)

    def knows(self, kind: str, identity: str) -> bool:
        """Whether the workspace has the asset of a reference. Keys are compared exactly, everything else in any
        case."""
        goes_by_key = kind in KINDS and KINDS[kind].identity == "key"
        return (identity if goes_by_key else identity.lower()) in self._known.get(kind, {})

    def _load(
        self, kind: str, identity: ColumnElement[str], name: ColumnElement[Any], *conditions: ColumnElement[bool]
    ) -> None:
        table = STORED[kind].table if kind in STORED else flow
        mine = select(identity, name).where(table.c.workspace_id == self._workspace.id, *conditions)
        self._known[kind], self._by_name[kind] = {}, {}
        for known, called in self._tx.execute(mine.order_by(table.c.id.desc())):
            self._note(kind, (known, called or ""))

    def _load_users(self) -> None:
        members = membership.c.user_id == user.c.id
        statement = select(user.c.uuid, user.c.email_key).join(membership, members)
        rows = self._tx.execute(statement.where(membership.c.workspace_id == self._workspace.id))
        self._known["user"] = {text: (uuid, email) for uuid, email in rows for text in (uuid, email)}

    def _make(self, kind: str, uuid: str, name: str) -> Known | None:
        make = STORED[kind].make if kind in STORED else None
        if make is None:
            return None
        try:
            with naming_limit(kind, name):
                made_id = make(self._tx, self._workspace.id, name)
        except InvalidInput:
            # A name that no asset can have: the flow lacks it, and its inspection says so.
            return None
        return self._keep(kind, made_id, uuid, name.strip())

    def _keep(self, kind: str, made_id: int, uuid: str, name: str) -> Known:
        known = (adopt_uuid(self._tx, STORED[kind].table, made_id, uuid), name)
        self._note(kind, known)
        self.made[KINDS[kind].plural].append(name)
        return known

    def _note(self, kind: str, known: Known) -> None:
        self._known[kind][known[0]] = known
        self._by_name[kind][name_key(known[1])] = known


@contextmanager
def naming_limit(kind: str, name: str) -> Iterator[None]:
    """Adds to LimitReached which record could not be created."""
    try:
        yield
    except LimitReached as error:
        raise LimitReached(f'The {kind} "{name}" cannot be created: {error}') from error


def adopt_uuid(tx: Transaction, table: Table, record_id: int, uuid: str) -> str:
    """Gives a new record the UUID that it had on another server, if no record here has it; returns its UUID."""
    if is_uuid(uuid) and tx.execute(select(table.c.id).where(table.c.uuid == uuid)).first() is None:
        tx.execute(update(table).where(table.c.id == record_id).values(uuid=uuid))
    kept = tx.execute(select(table.c.uuid).where(table.c.id == record_id)).scalar_one()
    return str(kept)


def read_problem(error: InvalidInput) -> str:
    """The first message of a violated rule, with its field."""
    part: Any = error.errors
    fields: list[str] = []
    while isinstance(part, (dict, list)) and part:
        if isinstance(part, dict):
            key = next(iter(part))
            fields.append(str(key))
            part = part[key]
        else:
            part = part[0]
    named = [name for name in fields if name not in ("non_field_errors", "campaigns") and not name.isdecimal()]
    return f"{'.'.join(named)}: {part}" if named else str(part)


def _spell(key: str) -> str:
    return key.replace("_", " ").strip().title()
