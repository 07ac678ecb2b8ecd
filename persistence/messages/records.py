"""Messages as both generations show them: the records, and the lists with their filters.

The folder of sent messages is in the order of sending, while its filters are by the time of creation. Nearly all
messages are sent within a day. So one time tells where the other is, but for a few messages that have an index of their
own.
"""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    FromClause,
    Integer,
    Table,
    and_,
    case,
    false,
    func,
    literal_column,
    null,
    or_,
    select,
)

from persistence.channels.channels import SEEN_ID, SEEN_REF, join_channels
from persistence.contacts.records import in_groups, select_owners
from persistence.database import Transaction
from persistence.labels import find_label
from persistence.lists import (
    CHANGE_ORDER,
    Condition,
    ListQuery,
    ListSpec,
    Values,
    belongs_to,
    changed_after,
    equals,
    found_first,
    never,
    one_of,
    together,
)
from persistence.messages.search import with_words
from persistence.pages import Order
from persistence.records import Record, Related, Template, optional
from persistence.sql.columns import BigId, UtcDateTime, is_uuid, read_id
from persistence.sql.names import name_key
from persistence.sql.query_functions import contains_folded
from persistence.tables.accounts import user
from persistence.tables.channels import channel
from persistence.tables.contacts import contact
from persistence.tables.flows import FLOW_REF, flow
from persistence.tables.messages import (
    ARCHIVED,
    DELIVERED,
    ERRORED,
    FAILED,
    HANDLED,
    INCOMING,
    IS_ARCHIVED,
    IS_RARE,
    IS_VOICE,
    NOT_DELETED,
    OUTGOING,
    QUEUED,
    RARE,
    READ,
    SENT,
    SENT_APART,
    VISIBLE,
    WIRED,
    broadcast,
    label,
    message,
    message_label,
)


def labels_of_message(owner: ColumnElement[Any] | None = None) -> Related:
    """The labels of a message, which is the record, or that in the column `owner` of its table."""
    return Related(
        message_label.c.message_id,
        message_label.join(label, label.c.id == message_label.c.label_id),
        Record({"uuid": label.c.uuid, "name": label.c.name}),
        label.c.name_key,
        owner=owner,
    )


author = user.alias("author")
FIRST_ATTACHMENT = message.c.attachments[0]

MESSAGE_FIELDS: dict[str, Any] = {
    "uuid": message.c.uuid,
    "id": message.c.id,
    "contact": Record({"uuid": contact.c.uuid, "name": contact.c.name}),
    "urn": message.c.urn,
    "channel": optional(SEEN_ID, SEEN_REF),
    "due_on": message.c.due_on,
    "due_reason": message.c.due_reason,
    "fallback": func.coalesce(message.c.is_fallback, false()),
    "direction": message.c.direction,
    "type": message.c.type,
    "status": message.c.status,
    "failed_reason": message.c.failed_reason,
    "failed_detail": message.c.failed_detail,
    "visibility": message.c.visibility,
    "archived": (message.c.visibility == ARCHIVED),
    "text": message.c.text,
    "attachments": message.c.attachments,
    "media": case(
        (
            FIRST_ATTACHMENT["url"].as_string().is_not(None),
            FIRST_ATTACHMENT["content_type"].as_string() + ":" + FIRST_ATTACHMENT["url"].as_string(),
        ),
        else_=null(),
    ),
    "quick_replies": message.c.quick_replies,
    "segments": message.c.segments,
    "labels": labels_of_message(),
    "flow": optional(flow.c.id, FLOW_REF),
    "broadcast": message.c.broadcast_id,
    "author": author.c.uuid,
    "created_on": message.c.created_on,
    "sent_on": message.c.sent_on,
    "modified_on": message.c.modified_on,
}
"""`archived`, `media`, `broadcast` and `id` are older properties that published clients and bulk actions use."""

MESSAGE_RECORD = Record(MESSAGE_FIELDS)
HIDDEN_FIELDS = {"urn": None, "failed_detail": None}
MASKED_MESSAGE_RECORD = Record({**MESSAGE_FIELDS, **HIDDEN_FIELDS})
"""The record in an anonymous workspace, which shows no URN, and nothing that may name one."""


def _named(table: Table, name: str, owner: str) -> ColumnElement[Any]:
    """A column of what a new message names; `owner` is text, because an INSERT is nothing that is selected from."""
    its = table.c.id == literal_column(f"{message.name}.{owner}", BigId)
    return select(table.c[name]).where(its).scalar_subquery()


NEW_MESSAGE_RECORD = Record(
    {
        **MESSAGE_FIELDS,
        "contact": Record({name: _named(contact, name, "contact_id") for name in ("uuid", "name")}),
        "channel": optional(
            message.c.channel_id, {name: _named(channel, name, "channel_id") for name in ("uuid", "name")}
        ),
        "labels": [],
        "flow": None,
        "author": _named(user, "uuid", "author_id"),
    }
)
"""The record of a message that somebody has just written, as its INSERT returns it."""


def with_names(messages: FromClause) -> FromClause:
    """Messages, or what is joined with them, and those whom they name."""
    return (
        join_channels(messages.join(contact, contact.c.id == message.c.contact_id), message)
        .outerjoin(flow, flow.c.id == message.c.flow_id)
        .outerjoin(author, author.c.id == message.c.author_id)
    )


SOURCE = with_names(message)

CREATED_ORDER = Order(message.c.created_on, message.c.id)
SENT_ORDER = Order(message.c.sent_on, message.c.id)
LABEL_ORDER = Order(message_label.c.created_on, message_label.c.message_id)

SENT_FOLDER = "sent"

OUTGOING_FOLDERS = ("outbox", SENT_FOLDER, "failed")
FOLDERS = {
    # As part of the text, so that the partial index on the sent folder is used.
    folder: message.c.folder == literal_column(f"'{folder}'")
    for folder in ("inbox", "flows", "archived", *OUTGOING_FOLDERS)
}
INCOMING_FOLDER = "incoming"
NEVER = never(message.c.id)
BY_LABEL = frozenset({"label", "before", "after"})
APART = "ix_message_sent_apart"
SENT_WITHIN = timedelta(days=1, seconds=1)
"""A day, and what SQLite's times of day may be rounded by."""

SENT_ON = func.coalesce(message.c.sent_on, message.c.created_on, type_=UtcDateTime())
"""As an expression: for the column alone PostgreSQL would look through all sent messages, in their order, for the first
that fits.
"""
STATUS_LETTERS = {
    QUEUED: "Q",
    WIRED: "W",
    SENT: "S",
    DELIVERED: "D",
    READ: "D",
    HANDLED: "H",
    ERRORED: "E",
    FAILED: "F",
}
DIRECTION_LETTERS = {INCOMING: "I", OUTGOING: "O"}
WITH_STATUS = {**{word: {"O"} for word in STATUS_LETTERS}, QUEUED: {"I", "O"}, HANDLED: {"I"}}
"""The directions of the messages that may have each status."""
VOICE = "voice"
LABEL_NAMES = Related(
    message_label.c.message_id,
    message_label.join(label, label.c.id == message_label.c.label_id),
    label.c.name,
    label.c.name_key,
)
SUMMARY_FIELDS: dict[str, Any] = {
    "id": message.c.id,
    "broadcast": message.c.broadcast_id,
    "contact": contact.c.uuid,
    "urn": message.c.urn,
    "status": case(STATUS_LETTERS, value=message.c.status),
    "type": case((message.c.type == VOICE, "V"), (message.c.flow_id.is_not(None), "F"), else_="I"),
    "labels": LABEL_NAMES,
    "relayer": message.c.channel_id,
    "direction": case(DIRECTION_LETTERS, value=message.c.direction),
    "archived": message.c.visibility == ARCHIVED,
    "text": message.c.text,
    "segments": message.c.segments,
    "created_on": message.c.created_on,
    "sent_on": message.c.sent_on,
    "delivered_on": case((message.c.status.in_((DELIVERED, READ)), message.c.reported_on), else_=null()),
}
SUMMARY = Record(SUMMARY_FIELDS)
MASKED_SUMMARY = Record({**SUMMARY_FIELDS, "urn": null()})
"""The record in an anonymous workspace, which shows no URN."""


def _order(values: Values) -> Order:
    """Newest first by creation; the sent folder by its sent time (interface specification, rules specific to v2)."""
    if "modified_after" in values:
        return CHANGE_ORDER
    if _is_of_sent(values):
        return SENT_ORDER
    return LABEL_ORDER if "label" in values else CREATED_ORDER


def _chosen_by(values: Values) -> Table:
    """The labels of messages are enough to choose by: deleted messages have none."""
    return message_label if "label" in values and values.keys() <= BY_LABEL else message


def _standing(query: ListQuery) -> list[Condition]:
    """Deleted messages are listed only with `id` or `uuid` (decision D14), and to those who ask for changes."""
    if query.values.keys() & {"id", "uuid", "modified_after"} or _chosen_by(query.values) is message_label:
        return []
    return [NOT_DELETED]


def _of_broadcast(query: ListQuery, reference: str) -> Condition:
    if is_uuid(reference):
        return belongs_to(message.c.broadcast_id, broadcast)(query, reference.lower())
    is_number = reference.isascii() and reference.isdecimal()
    return message.c.broadcast_id == read_id(reference) if is_number else NEVER


def _in_folder(query: ListQuery, folder: str) -> list[Condition]:
    folder = folder.lower()
    if folder == INCOMING_FOLDER:
        return [
            message.c.direction == INCOMING,
            message.c.status == HANDLED,
            message.c.visibility.in_((VISIBLE, ARCHIVED)),
        ]
    if folder in OUTGOING_FOLDERS and "label" in query.values:  # only incoming messages have labels
        return [NEVER]
    return [FOLDERS.get(folder, NEVER)]


def _with_label(query: ListQuery, reference: str) -> list[Condition]:
    label_id = find_label(query.tx, query.workspace.id, reference)
    mine = _has_label(label_id) if label_id is not None else never(message_label.c.message_id)
    return [mine] if _chosen_by(query.values) is message_label else [mine, message_label.c.message_id == message.c.id]


def _before(query: ListQuery, moment: datetime) -> list[Condition]:
    if _is_of_sent(query.values):
        return sent_before(query.tx, query.workspace.id, moment)
    return [_time_column(query) <= moment]


def _after(query: ListQuery, moment: datetime) -> list[Condition]:
    if _is_of_sent(query.values):
        return sent_after(query.tx, query.workspace.id, moment)
    return [_time_column(query) >= moment]


MESSAGES = ListSpec(
    message,
    MESSAGE_RECORD,
    _order,
    source=SOURCE,
    masked=MASKED_MESSAGE_RECORD,
    standing=_standing,
    is_followed=True,
    chosen_by=_chosen_by,
    filters={
        "id": equals(message.c.id),
        "uuid": equals(message.c.uuid),
        "broadcast": _of_broadcast,
        "channel": belongs_to(message.c.channel_id, channel),
        "contact": belongs_to(message.c.contact_id, contact),
        "contacts": found_first(message.c.contact_id, contact),
        "flow": belongs_to(message.c.flow_id, flow),
        "folder": _in_folder,
        "label": _with_label,
        "search": with_words,
        "modified_after": changed_after(message),
        "before": _before,
        "after": _after,
    },
)


class _IsSentApart(Template, sqlite=SENT_APART["sqlite"], postgresql=SENT_APART["postgresql"], kind=Integer()):
    """Whether a message was not sent within a day of its creation, as its index says it. A Boolean would be compared
    with 1 on SQLite, which then does not know the condition of the index.
    """


def sent_before(tx: Transaction, workspace_id: int, moment: datetime) -> list[Condition]:
    """Sent messages that were created until then. The list begins with the last one that was sent within a day, or with
    one of those that were sent later; one statement finds that.
    """
    late = _find_apart(tx, workspace_id, func.max(SENT_ON), message.c.created_on <= moment)
    latest = moment + SENT_WITHIN
    return [message.c.created_on <= moment, message.c.sent_on <= (latest if late is None else max(latest, late))]


def sent_after(tx: Transaction, workspace_id: int, moment: datetime) -> list[Condition]:
    """Sent messages that were created since then, which few clocks say were sent before; one statement finds those."""
    early = _find_apart(tx, workspace_id, func.min(SENT_ON), message.c.created_on >= moment)
    return [message.c.created_on >= moment, message.c.sent_on >= (moment if early is None else min(moment, early))]


def _visible(query: ListQuery) -> list[Condition]:
    """Deleted messages are never listed."""
    if "archived" not in query.values:
        return [NOT_DELETED]
    return [IS_ARCHIVED if query.values["archived"] else message.c.visibility == VISIBLE]


def _in_directions(query: ListQuery, letters: Collection[str]) -> Condition:
    """Messages whose direction is shown as one of these letters, in any case."""
    capitals = _capitals(letters)
    words = [word for word, letter in DIRECTION_LETTERS.items() if letter in capitals]
    return one_of(message.c.direction)(query, words)


def _with_status(query: ListQuery, _asked: Sequence[str]) -> list[Condition]:
    """Messages whose status is shown as one of these letters, in any case."""
    wanted = _statuses(query.values)
    if not wanted:
        return [never(message.c.id)]
    found: list[Condition] = [one_of(message.c.status)(query, wanted)]
    if set(wanted) <= set(RARE):  # which have an index of their own
        found.append(IS_RARE)
    # PostgreSQL knows which directions, statuses and channels go together, and has no index by status.
    letters = set[str]().union(*(WITH_STATUS[word] for word in wanted))
    if len(letters) == 1:
        found.append(_in_directions(query, letters))
    return found


def _directions(values: Values) -> set[str]:
    """The directions, as letters, that may be meant: only incoming messages have labels."""
    asked = _capitals(values.get("direction", DIRECTION_LETTERS.values()))
    is_labeled = any(text.strip().strip(", ")[:1] not in ("", "-") for text in values.get("label", ()))
    return asked & {"I"} if is_labeled else asked


def _capitals(letters: Iterable[str]) -> set[str]:
    return {letter.upper() for letter in letters}


def _of_types(_query: ListQuery, letters: Sequence[str]) -> Condition:
    is_spoken, is_flow = IS_VOICE, message.c.flow_id.is_not(None)
    meanings = {"V": is_spoken, "F": and_(~is_spoken, is_flow), "I": and_(~is_spoken, ~is_flow)}
    capitals = [letter.upper() for letter in letters]
    asked = [meanings[letter] for letter in dict.fromkeys(capitals) if letter in meanings]
    return or_(*asked) if asked else never(message.c.id)


def _with_text(_query: ListQuery, part: str) -> Condition:
    return contains_folded(message.c.text, part)


def _of_addresses(query: ListQuery, texts: Sequence[str]) -> Condition:
    """Messages of the contacts with these URNs, who are looked up first: see `found_first`."""
    owning = select_owners(query, texts, "urn")
    return one_of(message.c.contact_id)(query, query.tx.execute(owning).scalars().all())


def _with_labels(query: ListQuery, texts: Sequence[str]) -> list[Condition]:
    """Required (`+`), forbidden (`-`) and alternative labels; commas separate names unless the whole value is one
    name."""
    if not _directions(query.values):
        return [never(message.c.id)]
    pieces = {text: [part for part in text.split(",") if part.strip()] for text in texts}
    keys = {_bare_key(part) for text, parts in pieces.items() for part in (text, *parts)}
    named = select(label.c.name_key, label.c.id).where(
        label.c.workspace_id == query.workspace.id, label.c.name_key.in_(sorted(keys))
    )
    known: dict[str, int] = {row.name_key: row.id for row in query.tx.execute(named)}
    alternatives: list[int] = []
    found: list[Condition] = []
    is_open = True
    for text, parts in pieces.items():
        for part in [text] if _bare_key(text) in known else parts:
            label_id = known.get(_bare_key(part), -1)
            if part[0] in "+ ":
                found.append(message.c.id.in_(_labeled([label_id])))
            elif part[0] == "-":
                found.append(message.c.id.not_in(_labeled([label_id])))
            else:
                is_open = False
                alternatives.append(label_id)
    if _has_one_label(query.values):
        return [message_label.c.label_id == alternatives[0], message_label.c.message_id == message.c.id]
    return found if is_open else [*found, message.c.id.in_(_labeled(alternatives))]


def _has_one_label(values: Values) -> bool:
    """Whether messages of one label are asked for, which the label's own index has in their order."""
    text, *others = values.get("label") or ("",)
    return not others and bool(text.strip()) and text[:1] not in ("+", "-", " ") and "," not in text


def _order_v1(values: Values) -> Order:
    return LABEL_ORDER if _has_one_label(values) and _directions(values) else CREATED_ORDER


MESSAGES_V1 = ListSpec(
    message,
    SUMMARY,
    _order_v1,
    source=message.join(contact, contact.c.id == message.c.contact_id),
    masked=MASKED_SUMMARY,
    standing=_visible,
    options=frozenset({"archived"}),
    filters={
        "id": one_of(message.c.id),
        "flow": one_of(message.c.flow_id),
        "broadcast": one_of(message.c.broadcast_id),
        **together(("relayer", "channel"), one_of(message.c.channel_id)),
        "before": lambda query, moment: _order_v1(query.values).column <= moment,
        "after": lambda query, moment: _order_v1(query.values).column >= moment,
        "text": _with_text,
        "status": _with_status,
        "direction": _in_directions,
        "type": _of_types,
        "contact": found_first(message.c.contact_id, contact),
        **together(("urn", "urns"), _of_addresses),
        "group_uuids": in_groups(message.c.contact_id),
        "label": _with_labels,
    },
    changing=frozenset({"archived", "status", "type", "label", "flow", "group_uuids", "urn", "urns"}),
)


def _is_of_sent(values: Values) -> bool:
    return bool(values.get("folder", "").lower() == SENT_FOLDER)


@lru_cache(maxsize=1000)
def _has_label(label_id: int) -> Condition:
    """Kept, because to build the condition and to compare it with known ones takes as long as to find the label."""
    return message_label.c.label_id == label_id


def _time_column(query: ListQuery) -> ColumnElement[Any]:
    """The time of creation; of a label, as in the label's own index."""
    return message_label.c.created_on if "label" in query.values else message.c.created_on


def _find_apart(
    tx: Transaction, workspace_id: int, wanted: ColumnElement[Any], condition: Condition
) -> datetime | None:
    mine = message.c.workspace_id == workspace_id
    is_sent = message.c.folder == literal_column(f"'{SENT_FOLDER}'")
    is_apart = _IsSentApart(message.c.sent_on, message.c.created_on)
    statement = select(wanted).where(mine, is_sent, is_apart, condition)
    # SQLite would as soon read the whole folder.
    found: datetime | None = tx.execute(statement.with_hint(message, f"INDEXED BY {APART}", "sqlite")).scalar_one()
    return found


def _statuses(values: Values) -> list[str]:
    """The asked statuses that messages of the asked directions may have: where no message can be meant, the database
    would look through all.
    """
    letters, directions = _capitals(values["status"]), _directions(values)
    return [word for word, letter in STATUS_LETTERS.items() if letter in letters and directions & WITH_STATUS[word]]


def _labeled(label_ids: Sequence[int]) -> Any:
    return select(message_label.c.message_id).where(message_label.c.label_id.in_(label_ids))


def _bare_key(text: str) -> str:
    # An unescaped `+` in a query string arrives as a space.
    bare = text[1:] if text[:1] in ("+", "-", " ") else text
    return name_key(bare.strip())
