"""Outgoing messages: creation with a route, and changes of their status."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Executable, and_, func, literal, literal_column, or_, select

from channels.types import TYPES
from flows.urns import parse
from persistence.changes import change_each_message, change_messages
from persistence.channels.gateway_pace import BULK, CONVERSATION, queue_sends
from persistence.channels.health import open_circle_alarms
from persistence.channels.terms import USUAL, Terms, load_terms, plan
from persistence.contacts.urns import ensure_owners
from persistence.database import Transaction
from persistence.errors import InvalidInput
from persistence.leases import beside_index
from persistence.messages.incoming import (
    ANSWERS,
    GOING_ON,
    channels_in_circle,
    find_circles,
    insert_outgoing,
    insert_shown,
)
from persistence.messages.records import HIDDEN_FIELDS
from persistence.messages.routes import (
    CONTACT_INACTIVE,
    Route,
    find_routes,
    foresee_route,
    mark_fallbacks,
    push_phones,
)
from persistence.messages.templated import (
    NO_TEMPLATE,
    WINDOW_CLOSED,
    Asked,
    FilledTemplate,
    TemplateWish,
    fill_templates,
    find_closed,
    list_sendable,
    read_window,
)
from persistence.records import write_record
from persistence.sql.columns import new_uuid
from persistence.stamps import stamped
from persistence.statements import among, statement, update
from persistence.tables.channels import channel
from persistence.tables.contacts import ACTIVE, BLOCKED, OPEN, contact, ticket
from persistence.tables.messages import (
    CIRCLE,
    DELETED,
    ERRORED,
    FAILED,
    IS_UNSENT,
    OUTGOING,
    QUEUED,
    VISIBLE,
    message,
)
from persistence.workspaces.records import Workspace


class Draft(NamedTuple):
    """A message to create: its contact and content; `route` is given if it is decided already. `is_bulk` messages, for
    example of broadcasts, are sent after conversations if both wait. `automatic` says what made it (`circles`), None if
    a person did: the user `author_id`, if known. `template` is what it is made of where its channel has that template,
    `filled` what it was made of. `due_on` is when it is sent, if somebody chose a time.
    """

    contact_id: int
    text: str = ""
    attachments: tuple[Mapping[str, str], ...] = ()
    quick_replies: tuple[Mapping[str, str], ...] = ()
    broadcast_id: int | None = None
    flow_id: int | None = None
    route: Route | None = None
    is_bulk: bool = False
    automatic: int | None = None
    template: TemplateWish | None = None
    filled: FilledTemplate | None = None
    author_id: int | None = None
    due_on: datetime | None = None

    @property
    def is_by_person(self) -> bool:
        """Whether somebody wrote it to this contact: neither a flow nor a broadcast made it, nor a webhook."""
        return self.automatic is None and self.flow_id is None and self.broadcast_id is None and not self.is_bulk

    @property
    def is_empty(self) -> bool:
        """Whether it has no content: such messages are not created (flow format, messages)."""
        return not (self.has_content or self.quick_replies or self.template or self.filled)

    @property
    def has_content(self) -> bool:
        """Whether there is something to send without a template."""
        return bool(self.text.strip() or self.attachments)


def may_go_out() -> ColumnElement[bool]:
    """Whether a queued message may still be sent. Messages to contacts that are not active are not sent, except what a
    flow sent before it stopped or archived its own contact. A seek for the contact of each message, which no plan turns
    into a join: if PostgreSQL takes contacts for few, a join reads all messages.
    """
    is_put_away = and_(contact.c.status != BLOCKED, message.c.flow_id.is_not(None))
    is_reached = and_(~contact.c.is_deleted, or_(contact.c.status == ACTIVE, is_put_away))
    its = (contact.c.workspace_id == message.c.workspace_id) & (contact.c.id == message.c.contact_id)
    return select(is_reached).where(its).limit(literal_column("1")).correlate(message).scalar_subquery()


CHOSEN = "chosen"
"""Why a message waits: somebody sent it for a time."""
LATEST = timedelta(days=30)

WAITS = IS_UNSENT & message.c.status.in_((QUEUED, ERRORED))
NO_DETAILS: Mapping[int, str] = MappingProxyType({})
INACTIVE = {"status": FAILED, "failed_reason": CONTACT_INACTIVE, "sent_on": None}
"""The new values of queued messages to contacts that are no longer active."""


def fail_waiting(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> None:
    """Fail queued messages to contacts that are no longer active."""
    change_messages(tx, workspace_id, message.c.contact_id.in_(contact_ids) & WAITS, INACTIVE)


def give_up(
    tx: Transaction,
    workspace_id: int,
    message_ids: Collection[int],
    reason: str,
    details: Mapping[int, str] = NO_DETAILS,
) -> None:
    """Fail those of these messages that are still to be sent; `details` are what their providers said."""
    failed = change_messages(tx, workspace_id, message_ids, {**INACTIVE, "failed_reason": reason}, only=WAITS)
    told = {each: {"failed_detail": details[each]} for each in failed if details.get(each)}
    change_each_message(tx, workspace_id, told)


def note_fallbacks(tx: Transaction, workspace_id: int, drafts: Sequence[Draft]) -> list[Draft]:
    """The drafts with the routes of `mark_fallbacks`; two statements."""
    routes = mark_fallbacks(tx, workspace_id, [(draft.contact_id, draft.route) for draft in drafts])
    return [draft._replace(route=route) for draft, route in zip(drafts, routes, strict=True)]


def create_outgoing(
    tx: Transaction, workspace_id: int, drafts: Sequence[Draft], *, channel_id: int | None = None
) -> list[int]:
    """Like `add_outgoing`, but returns the ids of the messages in the order of the drafts."""
    return list(add_outgoing(tx, workspace_id, drafts, channel_id=channel_id).values())


def create_shown(tx: Transaction, workspace: Workspace, draft: Draft) -> str:
    """Creates the message that somebody writes, like `add_outgoing`; returns it as its list shows it. A draft with a
    route is that of `route_one`."""
    is_routed = draft.route is not None
    new = _make(tx, workspace.id, [(draft, draft.route)], set()) if is_routed else _decide(tx, workspace.id, [draft])
    shown = insert_shown(tx, workspace.id, new.made[0][2])
    _follow(tx, workspace.id, new, {shown["uuid"]: shown["id"]})
    return write_record(shown | HIDDEN_FIELDS if workspace.is_anonymous else shown)


def add_outgoing(
    tx: Transaction,
    workspace_id: int,
    drafts: Sequence[Draft],
    *,
    channel_id: int | None = None,
    leaves_out_unreachable: bool = False,
) -> dict[str, int]:
    """Create outgoing messages as `queued`, or as `failed` with a reason if a contact cannot be reached.
    `leaves_out_unreachable` creates no message instead of a failed one. Returns their ids by UUID, in the order of the
    drafts; a constant number of statements.
    """
    new = _decide(tx, workspace_id, drafts, channel_id, leaves_out_unreachable=leaves_out_unreachable)
    if not new.made:
        return {}
    ids = insert_outgoing(tx, workspace_id, [row for _, _, row in new.made])
    _follow(tx, workspace_id, new, ids)
    return {row["uuid"]: ids[row["uuid"]] for _, _, row in new.made}


Decided = tuple[Draft, Route | None]


class _New(NamedTuple):
    """Messages to insert: drafts, with their routes and rows; and the contacts that get no automatic answers."""

    made: Sequence[tuple[Draft, Route | None, dict[str, Any]]]
    circles: AbstractSet[int]


def _decide(
    tx: Transaction,
    workspace_id: int,
    drafts: Sequence[Draft],
    channel_id: int | None = None,
    *,
    leaves_out_unreachable: bool = False,
) -> _New:
    """How messages go, and the texts that they have by that."""
    undecided = sorted({draft.contact_id for draft in drafts if draft.route is None})
    routes = find_routes(tx, workspace_id, undecided, channel_id=channel_id) if undecided else {}
    answered = {draft.contact_id for draft in drafts if draft.automatic in ANSWERS}
    circles = find_circles(tx, workspace_id, answered)
    circled = [(draft, _stop_circle(draft, draft.route or routes.get(draft.contact_id), circles)) for draft in drafts]
    decided = [
        (draft, route)
        for draft, route in _fit(tx, workspace_id, circled)
        if not leaves_out_unreachable or (route is not None and route.failed_reason is None)
    ]
    return _make(tx, workspace_id, decided, circles)


def _make(tx: Transaction, workspace_id: int, decided: Sequence[Decided], circles: AbstractSet[int]) -> _New:
    routed = [route for _, route in decided if route is not None and route.has_terms]
    terms = load_terms(tx, workspace_id, {route.channel_id for route in routed if route.channel_id is not None})
    made = [(draft, route, _row(tx, workspace_id, draft, route, terms)) for draft, route in decided]
    automatic = [(row, draft.automatic in ANSWERS) for draft, _, row in made if draft.automatic is not None]
    plan(tx, workspace_id, automatic, terms)
    return _New(made, circles)


def _follow(tx: Transaction, workspace_id: int, new: _New, ids: Mapping[str, int]) -> None:
    """What follows from messages that were inserted: replies to tickets, and the way to their channels."""
    made = new.made
    open_circle_alarms(tx, workspace_id, channels_in_circle(row for _, _, row in made) if new.circles else ())
    replies = (each.contact_id for each, route, _ in made if each.is_by_person and (not route or route.may_have_ticket))
    note_replies(tx, workspace_id, list(replies))
    going = [(draft, route, row) for draft, route, row in made if route is not None and row["status"] == QUEUED]
    at_once = (route for _, route, row in going if row["due_on"] is None)
    push_phones(tx, workspace_id, {route.channel_id for route in at_once if route.goes_by_phone})
    for_gateways = [(draft, row) for draft, route, row in going if route.goes_by_gateway]
    if for_gateways:
        sends = [
            (row["channel_id"], ids[row["uuid"]], BULK if draft.is_bulk else CONVERSATION, row["due_on"])
            for draft, row in for_gateways
        ]
        queue_sends(tx, workspace_id, sends)
        tx.wake("sending")


def _stop_circle(draft: Draft, route: Route | None, circles: AbstractSet[int]) -> Route | None:
    """The route of a message; an automatic answer in a circle fails with it."""
    if route is None or route.failed_reason is not None:
        return route
    is_stopped = draft.automatic in ANSWERS and draft.contact_id in circles
    return route._replace(failed_reason=CIRCLE) if is_stopped else route


def _fit(tx: Transaction, workspace_id: int, decided: Sequence[Decided]) -> list[Decided]:
    """The messages as their channels take them: made of their templates, and failed if there is nothing that may be
    sent. No statement if there are no templates, and no channel has a window."""
    going = {
        number: (draft, route.channel_id, route.channel_type)
        for number, (draft, route) in enumerate(decided)
        if route is not None and route.failed_reason is None and route.channel_id is not None
    }
    asked = {
        number: Asked(draft.template, draft.contact_id, channel_id)
        for number, (draft, channel_id, _) in going.items()
        if draft.template is not None
    }
    filled = dict(zip(asked, fill_templates(tx, workspace_id, list(asked.values())), strict=True))
    free = {
        (draft.contact_id, channel_id): channel_type
        for number, (draft, channel_id, channel_type) in going.items()
        if (filled.get(number) or draft.filled) is None
    }
    closed = find_closed(tx, workspace_id, free)
    return [
        _fit_one(draft, route, filled.get(number) or draft.filled, closed) if number in going else (draft, route)
        for number, (draft, route) in enumerate(decided)
    ]


def _fit_one(
    draft: Draft, route: Route | None, filled: FilledTemplate | None, closed: AbstractSet[tuple[int, int]]
) -> Decided:
    assert route is not None
    if filled is not None:
        return draft._replace(text=filled.text, quick_replies=(), filled=filled), route
    if draft.template is not None and not draft.has_content:
        return draft, route._replace(failed_reason=NO_TEMPLATE)
    is_closed = (draft.contact_id, route.channel_id) in closed
    return draft, route._replace(failed_reason=WINDOW_CLOSED) if is_closed else route


def route_one(tx: Transaction, workspace_id: int, draft: Draft) -> Draft:
    """The message that somebody writes to one contact, with its route and as its channel takes it. Raises InvalidInput
    if that does not take it now."""
    route = find_routes(tx, workspace_id, [draft.contact_id]).get(draft.contact_id)
    ((written, fitted),) = _fit(tx, workspace_id, [(draft, route)])
    _check_time(tx, workspace_id, written, fitted)
    reason = None if fitted is None else fitted.failed_reason
    if reason == WINDOW_CLOSED:
        raise InvalidInput.across(
            "The contact has not written by this channel in the last 24 hours: it takes only a template now."
        )
    if reason == NO_TEMPLATE:
        raise InvalidInput.on(
            "template", "It is not approved for the channel of the contact, or has more variables than values."
        )
    return written._replace(route=fitted)


def _check_time(tx: Transaction, workspace_id: int, draft: Draft, route: Route | None) -> None:
    """Raises InvalidInput if a message is for a time that is not ahead, too far, or at which its channel takes only
    templates if nobody writes before.
    """
    if draft.due_on is None:
        return
    if not tx.now < draft.due_on <= tx.now + LATEST:
        raise InvalidInput.on("send_on", "A time in the future, within 30 days, is required.")
    if route is None or route.channel_id is None or draft.filled is not None:
        return
    until = read_window(tx, workspace_id, draft.contact_id, route.channel_id, route.channel_type).until
    if until is not None and until < draft.due_on:
        raise InvalidInput.on("send_on", "At that time the channel takes only a template, unless the contact writes.")


def describe_route(tx: Transaction, workspace_id: int, contact_id: int) -> dict[str, Any]:
    """By which channel a message to a contact would go now, until when a text goes, and the templates that go always.
    Nothing is held: the channel may be another one for the message. At most six statements."""
    route = foresee_route(tx, workspace_id, contact_id)
    if route.channel_id is None:
        nothing: dict[str, Any] = {"takes_text": False, "takes_text_until": None, "templates": []}
        return {"channel": None, "failed_reason": route.failed_reason, **nothing}
    window = read_window(tx, workspace_id, contact_id, route.channel_id, route.channel_type)
    has_templates = TYPES[route.channel_type].carries.templates
    mine = (channel.c.workspace_id == workspace_id) & (channel.c.id == route.channel_id)
    its = tx.execute(select(channel.c.uuid, channel.c.name).where(mine)).mappings().one()
    return {
        "channel": dict(its),
        "failed_reason": None,
        "takes_text": window.is_open,
        "takes_text_until": window.until,
        "templates": list_sendable(tx, workspace_id, contact_id, route.channel_id) if has_templates else [],
    }


def foresee(tx: Transaction, workspace_id: int, draft: Draft) -> tuple[Draft, str | None]:
    """A message as it would be made now, and why it would fail; holds and stores nothing."""
    route = foresee_route(tx, workspace_id, draft.contact_id)
    ((fitted, decided),) = _fit(tx, workspace_id, [(draft, route)])
    return fitted, None if decided is None else decided.failed_reason


def note_replies(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> None:
    """Notes the first reply to the open tickets of these contacts. One that was due changes what is told of a
    ticket."""
    found = _note_reply.rows(tx, workspace_id, sorted(set(contact_ids)), tx.now) if contact_ids else ()
    if due := [ticket_id for ticket_id, reply_due in found if reply_due is not None]:
        mine = (ticket.c.workspace_id == workspace_id) & ticket.c.id.in_(due)
        tx.execute(update(ticket).where(mine).values(modified_on=stamped(tx, ticket, workspace_id)))


@statement
def _note_reply(workspace_id: int, contact_ids: Sequence[int], now: datetime) -> Executable:
    rows = ticket.c
    theirs = (beside_index(rows.workspace_id) == workspace_id) & among(rows.contact_id, contact_ids)
    first = theirs & (rows.status == literal(OPEN, literal_execute=True)) & rows.replied_on.is_(None)
    return update(ticket).where(first).values(replied_on=now).returning(rows.id, rows.reply_due)


def _row(
    tx: Transaction, workspace_id: int, draft: Draft, route: Route | None, terms: Mapping[int, Terms]
) -> dict[str, Any]:
    if route is None:
        # The contact was deleted after it was looked up: the message ends as if it had been created just before.
        draft = draft._replace(text="", attachments=(), quick_replies=(), template=None, filled=None)
    visibility = VISIBLE if route is not None else DELETED
    route = route or Route(failed_reason=CONTACT_INACTIVE)
    own = terms.get(route.channel_id or 0, USUAL)
    due_on = draft.due_on if route.failed_reason is None else None
    segments = own.count(route.urn, draft.text, [each["url"] for each in draft.attachments])
    return {
        "uuid": new_uuid(),
        "workspace_id": workspace_id,
        "contact_id": draft.contact_id,
        "urn": route.urn,
        "channel_id": route.channel_id,
        "broadcast_id": draft.broadcast_id,
        "flow_id": draft.flow_id,
        "author_id": draft.author_id,
        "direction": OUTGOING,
        "type": "text",
        "status": QUEUED if route.failed_reason is None else FAILED,
        "visibility": visibility,
        "text": draft.text,
        "attachments": [dict(attachment) for attachment in draft.attachments],
        "quick_replies": [dict(reply) for reply in draft.quick_replies],
        "template": None if draft.filled is None else draft.filled.stored,
        "failed_reason": route.failed_reason,
        "error_count": 0,
        "automatic": draft.automatic,
        "is_fallback": route.is_fallback or None,
        "segments": segments,
        "cost": (segments or 0) * own.segment_cost,
        "due_on": due_on,
        "due_reason": None if due_on is None else CHOSEN,
        "created_on": tx.now,
        "modified_on": tx.now,
    }


def send_event_reply(
    tx: Transaction,
    workspace_id: int,
    text: str,
    *,
    urns: Sequence[str],
    contact_uuids: Sequence[str],
    event_contact_id: int | None,
    channel_id: int | None,
) -> list[int]:
    """Sends a text to URNs (normalized; contacts are created for new ones) and contacts; returns the message ids.
    Without both it goes to the contact of the event. It goes through the channel of the event. If one of the contacts
    does not exist, nothing is sent and no contact is created. If another transaction creates the same contact, this
    raises IntegrityError: run it by `Database.write`.
    """
    named = _find_contacts(tx, workspace_id, contact_uuids, event_contact_id if not urns else None)
    if named is None:
        return []
    owners = ensure_owners(tx, workspace_id, [parse(urn) for urn in urns], channel_id=channel_id)
    recipients = dict.fromkeys([*named, *(owner.contact_id for owner in owners.values())])
    drafts = [Draft(contact_id, text, automatic=GOING_ON) for contact_id in recipients]
    return create_outgoing(tx, workspace_id, drafts, channel_id=channel_id)


def _find_contacts(
    tx: Transaction, workspace_id: int, uuids: Sequence[str], default_id: int | None
) -> list[int] | None:
    """The contacts with these UUIDs, or without any the default one; None if one of them does not exist. One that was
    merged meanwhile is the one that has the conversation now.
    """
    if not uuids and default_id is None:
        return []
    wanted = contact.c.uuid.in_(uuids) if uuids else contact.c.id == default_id
    rows, kept = contact.c, contact.alias("kept")
    into = (kept.c.workspace_id == workspace_id) & (kept.c.id == func.coalesce(rows.merged_into_id, rows.id))
    now = select(kept.c.id).select_from(contact.join(kept, into))
    now = now.where(rows.workspace_id == workspace_id, wanted, ~kept.c.is_deleted)
    found = list(tx.execute(now.order_by(kept.c.id)).scalars())
    return list(dict.fromkeys(found)) if len(found) == (len(uuids) or 1) else None


QuickReply = dict[str, str]


def read_quick_replies(given: Iterable[str | Mapping[str, Any]]) -> list[QuickReply]:
    """Quick replies, which flows may write as strings, with their `text` and optional `extra`; other properties are
    ignored, as unknown fields are everywhere."""
    replies = ({"text": each} if isinstance(each, str) else each for each in given)
    return [{name: each[name] for name in ("text", "extra") if each.get(name)} for each in replies]
