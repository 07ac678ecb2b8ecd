"""Writes what people set up on the other server: channels, fields, globals, groups, labels, topics and the like.
Each is found here by what it became before, by its UUID or by its name, and created otherwise."""

from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import delete, select

from channels.types import DEFAULT_GATEWAY, RELAYER
from persistence.channels.channels import insert_channel
from persistence.classifiers import create_classifier
from persistence.database import Transaction
from persistence.definitions.assets import ImportedAssets, adopt_uuid, read_problem
from persistence.errors import InvalidInput, LimitReached
from persistence.fields import change_field
from persistence.globals import change_global
from persistence.groups.groups import renew_groups
from persistence.groups.smart_groups import check_group_query
from persistence.labels import create_label
from persistence.messages.templated import VARIABLE
from persistence.move.moves import (
    CHANNEL,
    CLASSIFIER,
    FIELD,
    GLOBAL,
    GROUP,
    LABEL,
    OPTIN,
    RESTHOOK,
    SUBSCRIBER,
    TEMPLATE,
    TOPIC,
    USER,
    Move,
    Moved,
    Record,
    are_moved,
    find_carried,
    keep_moved,
)
from persistence.optins import create_optin
from persistence.resthooks import create_subscriber, ensure_resthook
from persistence.sql.columns import is_uuid, new_uuid
from persistence.sql.names import check_name, free_name, name_key
from persistence.stamps import stamped
from persistence.statements import update
from persistence.tables.channels import channel
from persistence.tables.contacts import READY, field, group, topic
from persistence.tables.deliveries import resthook, resthook_subscriber
from persistence.tables.messages import TEMPLATE_NAME_LENGTH, label, optin, template, template_translation
from persistence.tables.service import classifier, global_value
from persistence.templates import LOCALE, STATUSES
from persistence.tickets.topics import create_topic
from persistence.users import find_member
from persistence.workspaces.records import hold_workspace

Make = Callable[[Record], int]


def write_labels(tx: Transaction, move: Move, records: Sequence[Record]) -> None:
    _write_named(tx, move, LABEL, label, records, lambda each: create_label(tx, move.workspace.id, each["name"]))


def write_topics(tx: Transaction, move: Move, records: Sequence[Record]) -> None:
    _write_named(tx, move, TOPIC, topic, records, lambda each: create_topic(tx, move.workspace.id, each["name"]))


def write_optins(tx: Transaction, move: Move, records: Sequence[Record]) -> None:
    _write_named(tx, move, OPTIN, optin, records, lambda each: create_optin(tx, move.workspace.id, each["name"]))


def write_classifiers(tx: Transaction, move: Move, records: Sequence[Record]) -> None:
    def make(each: Record) -> int:
        return create_classifier(tx, move.workspace.id, each["name"], each.get("type") or "", each.get("intents") or [])

    _write_named(tx, move, CLASSIFIER, classifier, records, make)


def _write_named(tx: Transaction, move: Move, kind: str, table: Any, records: Sequence[Record], make: Make) -> None:
    """Records that are known by UUID and name. One that was renamed there gets its new name."""
    hold_workspace(tx, move.workspace.id)
    known = find_carried(tx, move, kind, [each["reference"] for each in records])
    moved = []
    for each in records:
        try:
            record_id = known.get(each["reference"]) or _find_named(tx, move, table, each)
            if record_id is None:
                record_id = make(each)
                adopt_uuid(tx, table, record_id, each["reference"])
                _set(tx, move, table, record_id, created_on=each["created_on"])
            else:
                _rename(tx, move, table, record_id, each["name"])
            moved.append(Moved(each["reference"], record_id))
        except (InvalidInput, LimitReached) as error:
            moved.append(Moved(each["reference"], known.get(each["reference"]), each["label"], problem_of(error)))
    keep_moved(tx, move, kind, moved)


def problem_of(error: InvalidInput | LimitReached) -> str:
    return read_problem(error) if isinstance(error, InvalidInput) else str(error)


def _find_named(tx: Transaction, move: Move, table: Any, record: Record) -> int | None:
    mine = table.c.workspace_id == move.workspace.id
    if is_uuid(record["reference"]):
        found = tx.execute(select(table.c.id).where(mine, table.c.uuid == record["reference"])).scalar_one_or_none()
        if found is not None:
            return int(found)
    found = tx.execute(
        select(table.c.id).where(mine, table.c.name_key == name_key(record["name"].strip()))
    ).scalar_one_or_none()
    return None if found is None else int(found)


def _rename(tx: Transaction, move: Move, table: Any, record_id: int, name: str) -> None:
    mine = (table.c.workspace_id == move.workspace.id) & (table.c.id == record_id)
    if name.strip() and tx.execute(select(table.c.name).where(mine)).scalar_one() != name.strip():
        naming = free_name(tx, move.workspace.id, table, name, besides_id=record_id)
        tx.execute(update(table).where(mine).values(**naming))


def _set(tx: Transaction, move: Move, table: Any, record_id: int, **values: Any) -> None:
    given = {name: value for name, value in values.items() if value is not None}
    if given:
        mine = (table.c.workspace_id == move.workspace.id) & (table.c.id == record_id)
        tx.execute(update(table).where(mine).values(**given))


def write_fields(tx: Transaction, move: Move, records: Sequence[Record]) -> None:
    """Fields keep their keys. Of one that is here already only the type can differ, which is noted."""
    hold_workspace(tx, move.workspace.id)
    assets = ImportedAssets(tx, move.workspace)
    moved = []
    for each in records:
        try:
            can = assets.ensure_field(each["key"], each["name"], each["type"])
        except LimitReached as error:
            moved.append(Moved(each["key"], None, each["label"], str(error)))
            continue
        if not can:
            moved.append(Moved(each["key"], None, each["label"], f'no field can have the key "{each["key"]}"'))
            continue
        mine = (field.c.workspace_id == move.workspace.id) & (field.c.key == each["key"])
        row = tx.execute(select(field.c.id, field.c.type, field.c.name).where(mine)).one()
        _set(
            tx,
            move,
            field,
            row.id,
            is_featured=each["featured"],
            priority=each["priority"],
            agent_access=each["agent_access"],
        )
        moved.append(Moved(each["key"], row.id, each["label"], _follow_field(tx, move, each, row)))
    keep_moved(tx, move, FIELD, moved)


def _follow_field(tx: Transaction, move: Move, record: Record, row: Any) -> str | None:
    """A field that was renamed there, or got another type, is changed here; returns why it was not."""
    kind = record["type"]
    if (row.name, row.type) == (record["name"].strip(), kind):
        return None
    try:
        change_field(tx, move.workspace.id, record["key"], record["name"], kind)
    except (InvalidInput, LimitReached) as error:
        if row.type == kind:
            return f"is called {record['name'][:64]} there: {problem_of(error)}"
        return f"is a {kind} there, and a {row.type} here: {problem_of(error)}"
    return None


def write_globals(tx: Transaction, move: Move, records: Sequence[Record]) -> None:
    hold_workspace(tx, move.workspace.id)
    assets = ImportedAssets(tx, move.workspace)
    moved = []
    for each in records:
        mine = (global_value.c.workspace_id == move.workspace.id) & (global_value.c.key == each["key"])
        note = None
        try:
            assets.ensure_global(each["key"])
            if each["value"].strip():
                change_global(tx, move.workspace.id, each["key"], each["value"], each["name"])
            else:
                moment = stamped(tx, global_value, move.workspace.id)
                emptied = update(global_value).where(mine, global_value.c.value != "")
                tx.execute(emptied.values(value="", modified_on=moment))
        except (InvalidInput, LimitReached) as error:
            note = problem_of(error)
        record_id = tx.execute(select(global_value.c.id).where(mine)).scalar_one_or_none()
        if record_id is None and note is None:
            note = f'no global can have the key "{each["key"]}"'
        moved.append(Moved(each["key"], record_id, each["label"], note))
    keep_moved(tx, move, GLOBAL, moved)


def write_groups(tx: Transaction, move: Move, records: Sequence[Record]) -> None:
    """Groups with a query find their members here, at the end of the pass over contacts. One whose query cannot be used
    here becomes a group with the members that it has there."""
    hold_workspace(tx, move.workspace.id)
    assets = ImportedAssets(tx, move.workspace)
    known = find_carried(tx, move, GROUP, [each["reference"] for each in records])
    moved = []
    for each in records:
        found = assets.find("group", each["reference"], each["name"])
        if each["system"] and found is None:
            system = {*move.state.get("system_groups", ()), each["reference"]}
            move.state["system_groups"] = sorted(system)
            continue
        query, note = _read_query(tx, move, each)
        try:
            if each["reference"] in known:
                group_id = known[each["reference"]]
                _rename(tx, move, group, group_id, each["name"])
            else:
                assets.ensure_group(each["reference"], each["name"], query)
                uuid, _ = assets.find("group", each["reference"], each["name"]) or ("", "")
                mine = (group.c.workspace_id == move.workspace.id) & (group.c.uuid == uuid)
                group_id = tx.execute(select(group.c.id).where(mine)).scalar_one()
                _set(tx, move, group, group_id, created_on=each["created_on"], status=None if found else READY)
            if not each["system"]:
                _follow_query(tx, move, group_id, query)
            moved.append(Moved(each["reference"], group_id, each["label"], note))
        except (InvalidInput, LimitReached) as error:
            moved.append(Moved(each["reference"], known.get(each["reference"]), each["label"], problem_of(error)))
    keep_moved(tx, move, GROUP, moved)


def _read_query(tx: Transaction, move: Move, record: Record) -> tuple[str, str | None]:
    if not record["query"] or record["system"]:
        return "", None
    try:
        return check_group_query(tx, move.workspace, record["query"], sees_urns=True), None
    except InvalidInput as error:
        return "", f"its query {record['query'][:200]!r} cannot be used here: {read_problem(error)}"


def _follow_query(tx: Transaction, move: Move, group_id: int, query: str) -> None:
    mine = (group.c.workspace_id == move.workspace.id) & (group.c.id == group_id)
    if query and tx.execute(select(group.c.query).where(mine)).scalar_one() != query:
        tx.execute(update(group).where(mine).values(query=query))
        renew_groups(tx, move.workspace.id, group.c.id == group_id)


def evaluate_groups(tx: Transaction, move: Move) -> None:
    """Lets the members of all groups with a query of this workspace be found."""
    renew_groups(tx, move.workspace.id)


def write_channels(tx: Transaction, move: Move, records: Sequence[Record]) -> None:
    """Channels of the other side are kept, switched off, so that messages show through which they went: phones are
    claimed, and gateways created, by people."""
    known = find_carried(tx, move, CHANNEL, [each["reference"] for each in records])
    moved = []
    for each in records:
        record_id = known.get(each["reference"])
        if record_id is None and is_uuid(each["reference"]):
            record_id = _find_channel(tx, move, each["reference"]) or _keep_channel(tx, move, each)
        moved.append(Moved(each["reference"], record_id))
    keep_moved(tx, move, CHANNEL, moved)


def _find_channel(tx: Transaction, move: Move, uuid: str) -> int | None:
    mine = (channel.c.workspace_id == move.workspace.id) & (channel.c.uuid == uuid)
    return tx.execute(select(channel.c.id).where(mine)).scalar_one_or_none()


def _keep_channel(tx: Transaction, move: Move, record: Record) -> int:
    is_taken = tx.execute(select(channel.c.id).where(channel.c.uuid == record["reference"])).first() is not None
    country = str(record.get("country") or "").upper()
    return insert_channel(
        tx,
        RELAYER if record.get("device") else DEFAULT_GATEWAY,
        workspace_id=move.workspace.id,
        uuid=new_uuid() if is_taken else record["reference"],
        name=(record["name"] or "")[:64] or None,
        address=(record.get("address") or "")[:255] or None,
        country=country if len(country) == 2 else None,
        schemes=["tel"],
        is_active=False,
        created_on=record["created_on"] or tx.now,
        config={},
    )


def write_users(tx: Transaction, move: Move, records: Sequence[Record]) -> None:
    """People are invited, not copied: the report says who is missing."""
    moved = []
    for each in records:
        user_id = find_member(tx, move.workspace.id, each["email"])
        note = None if user_id else f"is {each['role'] or 'a user'} there: invite them here"
        moved.append(Moved(each["reference"][:80], user_id, each["label"], note))
    keep_moved(tx, move, USER, moved)


def write_resthooks(tx: Transaction, move: Move, records: Sequence[Record]) -> None:
    hold_workspace(tx, move.workspace.id)
    known = find_carried(tx, move, RESTHOOK, [each["reference"] for each in records])
    moved = []
    for each in records:
        try:
            hook_id = ensure_resthook(tx, move.workspace.id, each["resthook"])
            if each["reference"] not in known:
                _set(tx, move, resthook, hook_id, created_on=each["created_on"])
            moved.append(Moved(each["reference"], hook_id))
        except InvalidInput as error:
            moved.append(Moved(each["reference"], None, each["label"], problem_of(error)))
    keep_moved(tx, move, RESTHOOK, moved)


def write_subscribers(tx: Transaction, move: Move, records: Sequence[Record]) -> None:
    """Receivers that other systems subscribed. Each gets a new secret, with which its events are signed here."""
    hooks = find_carried(tx, move, RESTHOOK, [each["resthook"] for each in records])
    known = find_carried(tx, move, SUBSCRIBER, [each["reference"] for each in records])
    rows = resthook_subscriber.c
    moved = []
    for each in records:
        same = (rows.workspace_id == move.workspace.id) & (rows.resthook_id == hooks.get(each["resthook"], 0))
        here = select(rows.id).where(same, rows.target_url == each["target_url"])
        record_id = known.get(each["reference"]) or tx.execute(here).scalar_one_or_none()
        try:
            if record_id is None:
                record_id = create_subscriber(tx, move.workspace.id, each["resthook"], each["target_url"])
                _set(tx, move, resthook_subscriber, record_id, created_on=each["created_on"])
            moved.append(Moved(each["reference"], record_id))
        except InvalidInput as error:
            moved.append(Moved(each["reference"], None, each["label"], problem_of(error)))
    keep_moved(tx, move, SUBSCRIBER, moved)


def write_templates(tx: Transaction, move: Move, records: Sequence[Record]) -> None:
    hold_workspace(tx, move.workspace.id)
    referred = [each["channel"]["uuid"] for record in records for each in record["translations"] if each["channel"]]
    channels = find_carried(tx, move, CHANNEL, referred)
    known = find_carried(tx, move, TEMPLATE, [each["reference"] for each in records])
    moved = []
    for each in records:
        try:
            template_id = known.get(each["reference"]) or _find_named(tx, move, template, each)
            if template_id is None:
                template_id = _make_template(tx, move, each)
            lost = [
                translation["locale"]
                for translation in each["translations"]
                if not _set_translation(tx, move, template_id, channels, translation)
            ]
            _drop_translations(tx, move, template_id, channels, each)
            told = "whose channel is not here, or whose language or text cannot be kept"
            note = f"without its translations {', '.join(lost)}, {told}" if lost else None
            moved.append(Moved(each["reference"], template_id, each["label"], note))
        except InvalidInput as error:
            moved.append(Moved(each["reference"], None, each["label"], problem_of(error)))
    keep_moved(tx, move, TEMPLATE, moved)


def _make_template(tx: Transaction, move: Move, record: Record) -> int:
    name = check_name(record["name"], length=TEMPLATE_NAME_LENGTH)
    times = {"created_on": record["created_on"] or tx.now, "modified_on": stamped(tx, template, move.workspace.id)}
    template_id = tx.insert(template, workspace_id=move.workspace.id, name=name, name_key=name_key(name), **times)
    adopt_uuid(tx, template, template_id, record["reference"])
    return template_id


def _drop_translations(tx: Transaction, move: Move, template_id: int, channels: dict[str, int], record: Record) -> None:
    """Deletes translations for channels of the other side that it no longer has."""
    rows = template_translation.c
    kept = {
        (channels.get(each["channel"]["uuid"]), each["locale"]) for each in record["translations"] if each["channel"]
    }
    mine = (rows.workspace_id == move.workspace.id) & (rows.template_id == template_id)
    held = tx.execute(select(rows.id, rows.channel_id, rows.locale).where(mine).order_by(rows.id)).all()
    theirs = are_moved(tx, move, CHANNEL, {row.channel_id for row in held})
    gone = [row.id for row in held if row.channel_id in theirs and (row.channel_id, row.locale) not in kept]
    if gone:
        tx.execute(delete(template_translation).where(mine, rows.id.in_(gone)))
        _set(tx, move, template, template_id, modified_on=stamped(tx, template, move.workspace.id))


def _set_translation(
    tx: Transaction, move: Move, template_id: int, channels: dict[str, int], translation: Record
) -> bool:
    """Stores a translation if it can be kept here; returns whether it could."""
    given = translation["channel"]
    channel_id = channels.get(given["uuid"]) if given else None
    locale = LOCALE.match(translation["locale"])
    if channel_id is None or locale is None or not translation["content"].strip():
        return False
    status = translation["status"] if translation["status"] in STATUSES else "pending"
    values = {
        "language": locale.group(1),
        "content": translation["content"],
        "namespace": translation["namespace"][:128],
        "variable_count": len(set(VARIABLE.findall(translation["content"]))),
        "status": status,
    }
    key = {"workspace_id": move.workspace.id, "template_id": template_id, "channel_id": channel_id}
    statement = tx.upsert(template_translation).values(**key, locale=translation["locale"], **values)
    keys = ["template_id", "channel_id", "locale", "workspace_id"]
    tx.execute(statement.on_conflict_do_update(index_elements=keys, set_=values))
    return True
