"""Resolves the references of imported definitions in a workspace, creates what is missing there, and says in one line
which rule a part of a file violates.
"""

import uuid as uuid_module
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Table, select

from flows.asset_kinds import FLOW, KINDS, is_relinked
from flows.definition.exports import ExportedTrigger, Named, SkippedTrigger, clean_name
from persistence.channels.channels import SEEN_NAME, SEEN_UUID, join_channels
from persistence.database import Transaction
from persistence.errors import InvalidInput, LimitReached
from persistence.fields import create_field
from persistence.flows.assets import STORED
from persistence.groups.groups import create_group
from persistence.groups.smart_groups import create_query_group
from persistence.sql.columns import is_uuid, new_uuid
from persistence.sql.names import RESERVED_KEYS, check_room, name_key
from persistence.stamps import stamped
from persistence.statements import update
from persistence.tables.accounts import membership, user
from persistence.tables.campaigns import FIRST_WORD, ONLY_WORD, trigger, trigger_group
from persistence.tables.channels import channel
from persistence.tables.contacts import FIELD_KEY as KEY
from persistence.tables.contacts import FIELD_KEY_LENGTH as KEY_LENGTH
from persistence.tables.contacts import FIELD_NAME_LENGTH as NAME_LENGTH
from persistence.tables.contacts import group
from persistence.tables.flows import flow
from persistence.tables.service import global_value
from persistence.triggers.forms import find_flow_to_start, read_keywords
from persistence.triggers.records import (
    CATCH_ALL,
    INCOMING_CALL,
    KEYWORD,
    MISSED_CALL,
    NEW_CONVERSATION,
    TICKET,
    NewTrigger,
    create_trigger,
    find_rivals,
    find_same,
    set_archived,
)
from persistence.workspaces.records import Workspace

LOADED_OTHERWISE = ("channel", "resthook", "user")
"""Only active channels; users also by e-mail address; resthooks only if a flow needs one."""

Known = tuple[str, str]
"""UUID, or key, and name."""

MADE = tuple(KINDS[kind].plural for kind in ("field", "global", *(kind for kind in STORED if STORED[kind].make)))
"""What an import creates besides flows, campaigns and triggers."""

TYPES = {
    "K": KEYWORD,
    "C": CATCH_ALL,
    "V": INCOMING_CALL,
    "M": MISSED_CALL,
    "N": NEW_CONVERSATION,
    "T": TICKET,
}
"""The supported types by their letters in files. Referrals, opt-ins and opt-outs belong to channel types that do not
exist here."""
LETTERS = {kind: letter for letter, kind in TYPES.items()}
MATCHES = {"F": FIRST_WORD, "O": ONLY_WORD}
MATCH_LETTERS = {match: letter for letter, match in MATCHES.items()}


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
        self.made: dict[str, list[str]] = {plural: [] for plural in MADE}

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
        case. There is a model of every name, as for flows that run."""
        goes_by_key = kind in KINDS and KINDS[kind].identity == "key"
        return kind == "llm" or (identity if goes_by_key else identity.lower()) in self._known.get(kind, {})

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


def import_triggers(
    tx: Transaction, workspace: Workspace, assets: ImportedAssets, triggers: Sequence[ExportedTrigger]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Imports triggers after the flows; returns what happened to each, and the skipped ones with the reason. An
    existing trigger stays, an archived one is restored; a different trigger with the same conditions is archived, and
    the report names its flow (`replaces`).
    A trigger of a channel that is not active here, or of a group that neither is here nor in the file, is archived:
    without them it would do more than it did.
    """
    reports: list[dict[str, Any]] = []
    skipped: list[dict[str, Any]] = []
    for given in triggers:
        unknown = _unknown_group(assets, given)
        try:
            new = _read(tx, workspace.id, assets, given)
        except InvalidInput as error:
            skipped.append(SkippedTrigger(given.type, given.flow.to_json(), read_problem(error)).to_json())
            continue
        problem = None
        if given.channel is not None and not _is_active(tx, workspace.id, new.channel_id):
            problem = f'Its channel "{given.channel.name or given.channel.uuid}" is not active here, so it is archived.'
        elif unknown is not None:
            problem = f'Its group "{unknown.name}" was not here and has nobody, so it is archived.'
        rivals = [] if problem is not None else find_rivals(tx, workspace.id, new)
        change = _store(tx, workspace.id, new, rivals, is_unbound=problem is not None)
        report = {"type": new.type, "keywords": list(new.keywords), "flow": given.flow.name, "change": change}
        report["replaces"] = [] if change == "unchanged" else _name_flows(tx, workspace.id, rivals)
        reports.append(report if problem is None else {**report, "problem": problem})
    return reports, skipped


@dataclass(frozen=True, slots=True)
class TriggerParts:
    """A trigger in the form of export files, and the flow that it starts."""

    flow_uuid: str
    exported: ExportedTrigger


def load_trigger_parts(tx: Transaction, workspace_id: int) -> dict[str, TriggerParts]:
    """The triggers that are not archived, oldest first, without schedules, which are not exported; two statements."""
    columns = (
        trigger,
        flow.c.uuid.label("flow_uuid"),
        flow.c.name.label("flow_name"),
        SEEN_UUID.label("channel_uuid"),
        SEEN_NAME.label("channel_name"),
    )
    statement = (
        select(*columns)
        .select_from(join_channels(trigger.join(flow, flow.c.id == trigger.c.flow_id), trigger))
        .where(trigger.c.workspace_id == workspace_id, ~trigger.c.is_archived, trigger.c.type.in_(LETTERS))
        .order_by(trigger.c.id)
    )
    groups = _load_groups(tx, workspace_id)
    found = {}
    for row in tx.execute(statement):
        exported = ExportedTrigger(
            type=LETTERS[row.type],
            flow=Named(row.flow_uuid, row.flow_name),
            channel=Named(row.channel_uuid, row.channel_name or "") if row.channel_uuid else None,
            groups=tuple(groups.get((row.id, False), ())),
            exclude_groups=tuple(groups.get((row.id, True), ())),
            keywords=tuple(row.keywords),
            match_type=MATCH_LETTERS[row.match] if row.type == KEYWORD else "",
        )
        found[str(row.id)] = TriggerParts(row.flow_uuid, exported)
    return found


def _spell(key: str) -> str:
    return key.replace("_", " ").strip().title()


def _name_flows(tx: Transaction, workspace_id: int, trigger_ids: Sequence[int]) -> list[str]:
    """The names of the flows that these triggers start."""
    source = trigger.join(flow, (flow.c.id == trigger.c.flow_id) & (flow.c.workspace_id == trigger.c.workspace_id))
    mine = (trigger.c.workspace_id == workspace_id) & trigger.c.id.in_(trigger_ids)
    names = select(flow.c.name).select_from(source).where(mine).order_by(trigger.c.id)
    return list(dict.fromkeys(tx.execute(names).scalars())) if trigger_ids else []


def _store(tx: Transaction, workspace_id: int, new: NewTrigger, rivals: Sequence[int], *, is_unbound: bool) -> str:
    same = find_same(tx, workspace_id, new)
    if same is not None and (is_unbound or not same.is_archived):
        return "unchanged"
    if is_unbound:
        create_trigger(tx, workspace_id, new, is_archived=True)
        return "created"
    set_archived(tx, workspace_id, rivals, is_archived=True)
    if same is None:
        create_trigger(tx, workspace_id, new)
        return "created"
    set_archived(tx, workspace_id, [same.id], is_archived=False)
    return "updated"


def _read(tx: Transaction, workspace_id: int, assets: ImportedAssets, given: ExportedTrigger) -> NewTrigger:
    kind = TYPES.get(given.type)
    if kind is None:
        raise InvalidInput.on("trigger_type", "Triggers of this type are not supported.")
    known = assets.find("flow", given.flow.uuid, given.flow.name)
    if known is None:
        raise InvalidInput.on("flow", f'Nothing found for "{given.flow.name}".')
    return NewTrigger(
        type=kind,
        flow_id=find_flow_to_start(tx, workspace_id, known[0], kind),
        keywords=read_keywords(given.keywords),
        match=MATCHES.get(given.match_type, FIRST_WORD),
        channel_id=_find_channel(tx, workspace_id, assets, given),
        group_ids=_find_groups(tx, workspace_id, assets, given.groups),
        excluded_group_ids=_find_groups(tx, workspace_id, assets, given.exclude_groups),
    )


def _find_channel(tx: Transaction, workspace_id: int, assets: ImportedAssets, given: ExportedTrigger) -> int | None:
    """The channel of a trigger, also one that is released; None if there is none, or the trigger has none."""
    if given.channel is None:
        return None
    uuid, _ = assets.find("channel", given.channel.uuid, given.channel.name) or (given.channel.uuid.lower(), "")
    mine = (channel.c.workspace_id == workspace_id) & (channel.c.uuid == uuid)
    return tx.execute(select(channel.c.id).where(mine)).scalar_one_or_none() if is_uuid(uuid) else None


def _unknown_group(assets: ImportedAssets, given: ExportedTrigger) -> Named | None:
    """The first group of a trigger that nobody knows: it is made now."""
    groups = (*given.groups, *given.exclude_groups)
    return next((each for each in groups if assets.find("group", each.uuid, each.name) is None), None)


def _is_active(tx: Transaction, workspace_id: int, channel_id: int | None) -> bool:
    mine = (channel.c.workspace_id == workspace_id) & (channel.c.id == (channel_id or 0)) & channel.c.is_active
    return tx.execute(select(channel.c.id).where(mine)).first() is not None


def _find_groups(tx: Transaction, workspace_id: int, assets: ImportedAssets, groups: Sequence[Named]) -> frozenset[int]:
    uuids = []
    for each in groups:
        known = assets.resolve("group", each.uuid, each.name)
        if known is None:
            raise InvalidInput.on("groups", f'Nothing found for "{each.name}".')
        uuids.append(known[0])
    mine = (group.c.workspace_id == workspace_id) & group.c.uuid.in_(uuids)
    return frozenset(tx.execute(select(group.c.id).where(mine)).scalars())


def _load_groups(tx: Transaction, workspace_id: int) -> dict[tuple[int, bool], list[Named]]:
    links = trigger_group.c
    statement = (
        select(links.trigger_id, links.is_excluded, group.c.uuid, group.c.name)
        .join(group, group.c.id == links.group_id)
        .where(group.c.workspace_id == workspace_id)
        .order_by(links.trigger_id, group.c.id)
    )
    found: dict[tuple[int, bool], list[Named]] = {}
    for trigger_id, is_excluded, uuid, name in tx.execute(statement):
        found.setdefault((trigger_id, is_excluded), []).append(Named(uuid, name))
    return found
