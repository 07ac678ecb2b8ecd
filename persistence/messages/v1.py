"""Messages as v1 shows them: letters instead of words, label names instead of references, and many filters."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from sqlalchemy import ColumnElement, and_, case, null, or_, select

from persistence.contacts.v2 import in_groups, select_owners
from persistence.lists import Condition, ListQuery, ListSpec, Values, found_first, never, one_of, together
from persistence.messages.states import (
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
    WIRED,
)
from persistence.sql.json_sql import declare_record, json_text_list
from persistence.sql.names import name_key
from persistence.sql.pages import Order
from persistence.sql.query_functions import contains_folded
from persistence.tables.contacts import contact
from persistence.tables.messages import ARCHIVED, VISIBLE, label, message, message_label

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
CREATED_ORDER = Order(message.c.created_on, message.c.id)
LABEL_ORDER = Order(message_label.c.created_on, message_label.c.message_id)

LABEL_NAMES = json_text_list(
    select(label.c.name.label("item"))
    .join(message_label, message_label.c.label_id == label.c.id)
    .where(message_label.c.message_id == message.c.id)
    .order_by(label.c.name_key)
    .correlate(message)
)

SUMMARY_FIELDS: dict[str, ColumnElement[Any]] = {
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
    "created_on": message.c.created_on,
    "sent_on": message.c.sent_on,
    "delivered_on": case((message.c.status.in_((DELIVERED, READ)), message.c.reported_on), else_=null()),
}

SUMMARY = declare_record(SUMMARY_FIELDS)
MASKED_SUMMARY = declare_record({**SUMMARY_FIELDS, "urn": null()})
"""The record in an anonymous workspace, which shows no URN."""


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


def _statuses(values: Values) -> list[str]:
    """The asked statuses that messages of the asked directions may have: where no message can be meant, the database
    would look through all.
    """
    letters, directions = _capitals(values["status"]), _directions(values)
    return [word for word, letter in STATUS_LETTERS.items() if letter in letters and directions & WITH_STATUS[word]]


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


def _order(values: Values) -> Order:
    return LABEL_ORDER if _has_one_label(values) and _directions(values) else CREATED_ORDER


def _labeled(label_ids: Sequence[int]) -> Any:
    return select(message_label.c.message_id).where(message_label.c.label_id.in_(label_ids))


def _bare_key(text: str) -> str:
    # An unescaped `+` in a query string arrives as a space.
    bare = text[1:] if text[:1] in ("+", "-", " ") else text
    return name_key(bare.strip())


MESSAGES_V1 = ListSpec(
    message,
    SUMMARY,
    _order,
    source=message.join(contact, contact.c.id == message.c.contact_id),
    masked=MASKED_SUMMARY,
    standing=_visible,
    options=frozenset({"archived"}),
    filters={
        "id": one_of(message.c.id),
        "flow": one_of(message.c.flow_id),
        "broadcast": one_of(message.c.broadcast_id),
        **together(("relayer", "channel"), one_of(message.c.channel_id)),
        "before": lambda query, moment: _order(query.values).column <= moment,
        "after": lambda query, moment: _order(query.values).column >= moment,
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
