"""Outgoing messages: creation with a route, and changes of their status."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Executable,
    Select,
    and_,
    exists,
    func,
    literal,
    literal_column,
    or_,
    select,
    true,
    update,
)

from channels.types import GATEWAYS
from flows.choosing import choose_channel, choose_usual
from flows.urns import Urn, parse
from persistence.changes import change_each_message, change_messages
from persistence.channels.gateway_pace import BULK, CONVERSATION, drop_sends_of, drop_untried_sends, queue_sends
from persistence.channels.health import open_circle_alarms
from persistence.channels.terms import HAS_TERMS, USUAL, Terms, load_terms, plan
from persistence.contacts.urns import ensure_owners
from persistence.database import Transaction
from persistence.errors import InvalidInput, RecordMissing
from persistence.messages.incoming import ANSWERS, GOING_ON, channels_in_circle, find_circles, insert_outgoing
from persistence.messages.templated import (
    NO_TEMPLATE,
    WINDOW_CLOSED,
    Asked,
    FilledTemplate,
    TemplateWish,
    fill_templates,
    find_closed,
)
from persistence.sql.columns import new_uuid
from persistence.sql.due_work import beside_index
from persistence.stamps import changes_of
from persistence.statements import among, statement
from persistence.tables.channels import MESSAGES, channel
from persistence.tables.contacts import ACTIVE, BLOCKED, OPEN, contact, contact_urn, ticket
from persistence.tables.messages import (
    CIRCLE,
    DELETED,
    ERRORED,
    FAILED,
    IS_UNSENT,
    OUTGOING,
    QUEUED,
    VISIBLE,
    gateway_send,
    message,
)

NO_ROUTE = "no_route"
CONTACT_INACTIVE = "contact_inactive"


class Route(NamedTuple):
    """The URN and channel by which a contact is reached; without them `failed_reason` says why it cannot be reached.
    `is_by_gateway` distinguishes gateways, which workers call, from phones, which fetch their messages. `is_fallback`:
    the channel was chosen because another has failed for long. `channel_type` says what the channel takes.
    `has_terms`: the channel sends on terms of its own (`persistence.channels.terms`).
    """

    urn: str | None = None
    channel_id: int | None = None
    failed_reason: str | None = None
    is_by_gateway: bool = False
    is_fallback: bool = False
    channel_type: str = ""
    has_terms: bool = False

    @property
    def goes_by_gateway(self) -> bool:
        return self.is_by_gateway and self.failed_reason is None

    @property
    def goes_by_phone(self) -> bool:
        return self.channel_id is not None and not self.is_by_gateway and self.failed_reason is None


class Draft(NamedTuple):
    """A message to create: its contact and content; `route` is given if it is decided already. `is_bulk` messages, for
    example of broadcasts, are sent after conversations if both wait. `automatic` says what made it (`circles`), None if
    a person did. `template` is what it is made of where its channel has that template, `filled` what it was made of.
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


WAITS = IS_UNSENT & message.c.status.in_((QUEUED, ERRORED))
INACTIVE = {"status": FAILED, "failed_reason": CONTACT_INACTIVE, "sent_on": None}
"""The new values of queued messages to contacts that are no longer active."""


def fail_waiting(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> None:
    """Fail queued messages to contacts that are no longer active."""
    change_messages(tx, workspace_id, message.c.contact_id.in_(contact_ids) & WAITS, INACTIVE)


def give_up(tx: Transaction, workspace_id: int, message_ids: Collection[int], reason: str) -> None:
    """Fail those of these messages that are still to be sent."""
    change_messages(tx, workspace_id, message_ids, {**INACTIVE, "failed_reason": reason}, only=WAITS)


LOOKS = 3
"""How often channels are looked for if one is released meanwhile."""


class _Sender(NamedTuple):
    """An active channel (see `flows.choosing.Sender`)."""

    id: int
    type: str
    schemes: Sequence[str]
    address: str
    country: str
    allow_international: bool
    is_down: bool
    has_terms: bool
    match_prefixes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Candidates:
    """The status of a contact, and its URNs with the channel that each prefers."""

    status: str
    urns: list[tuple[Urn, int | None]] = field(default_factory=list)


def find_routes(
    tx: Transaction, workspace_id: int, contact_ids: Sequence[int], *, channel_id: int | None = None
) -> dict[int, Route]:
    """The best route to each contact: its first URN to which an active channel sends (`choose_channel`); two
    statements. `channel_id` is the only one where the channel is chosen already.
    """
    senders = _hold_senders(tx, workspace_id)
    if channel_id is not None:
        senders = [sender for sender in senders if sender.id == channel_id]
    candidates: dict[int, _Candidates] = {}
    for contact_id, status, scheme, path, own_channel_id in _lock_addresses.rows(tx, workspace_id, contact_ids):
        found = candidates.setdefault(contact_id, _Candidates(status))
        if scheme is not None:
            found.urns.append((Urn(scheme, path), own_channel_id))
    is_chosen = channel_id is not None
    return {contact_id: _choose(found, senders, is_chosen=is_chosen) for contact_id, found in candidates.items()}


def _hold_senders(tx: Transaction, workspace_id: int) -> list[_Sender]:
    """The active channels, the most recently seen last, which are not released before this unit of work ends."""
    senders: list[_Sender] = []
    for _ in range(LOOKS):
        rows = _lock_senders.rows(tx, workspace_id)
        senders = [_Sender(*row[1:]) for row in rows if row[1] is not None]
        if tx.sqlite or len(senders) == rows[0][0]:
            break
        # One was released while this waited for it: what has come in its place is seen only by looking again.
    return senders


@statement
def _lock_senders(workspace_id: int, *, is_sqlite: bool = False) -> Executable:
    # A transaction that releases a channel waits and then finds the messages; reports of phones and gateways are stored
    # meanwhile. Each row begins with the number of channels when the statement began.
    chosen = _select_senders(workspace_id)
    if is_sqlite:
        return chosen.with_only_columns(literal(None), *chosen.selected_columns)
    held = chosen.add_columns(channel.c.last_seen).with_for_update(read=True, key_share=True).subquery("held")
    mine = (channel.c.workspace_id == workspace_id) & channel.c.is_active
    known = select(func.count().label("number")).select_from(channel).where(mine).subquery("known")
    *columns, last_seen = held.c
    beside = select(known.c.number, *columns).select_from(known.outerjoin(held, true()))
    return beside.order_by(last_seen.asc().nulls_first(), columns[0])


def _select_senders(workspace_id: int) -> Select[Any]:
    mine = (channel.c.workspace_id == workspace_id) & channel.c.is_active
    rows = channel.c
    texts = (
        func.coalesce(rows.address, "").label("address"),
        func.coalesce(rows.country, "").label("country"),
        func.coalesce(rows.allow_international, true()).label("allow_international"),
        rows.down_since.is_not(None).label("is_down"),
        HAS_TERMS.label("has_terms"),
    )
    ordered = select(rows.id, rows.type, rows.schemes, *texts).where(mine)
    return ordered.order_by(rows.last_seen.asc().nulls_first(), rows.id)


@statement
def _lock_addresses(workspace_id: int, contact_ids: Sequence[int]) -> Executable:
    # Locked until the messages are stored, so that deleting a contact deletes them too.
    rows = contact_urn.c
    mine = (beside_index(contact.c.workspace_id) == workspace_id) & among(contact.c.id, contact_ids)
    return (
        select(contact.c.id, contact.c.status, rows.scheme, rows.path, rows.channel_id)
        .outerjoin(contact_urn, rows.contact_id == contact.c.id)
        .where(mine, ~contact.c.is_deleted)
        .order_by(contact.c.id, rows.priority, rows.id)
        .with_for_update(read=True, of=contact)
    )


def _choose(found: _Candidates, senders: Sequence[_Sender], *, is_chosen: bool) -> Route:
    if found.status != ACTIVE:
        return Route(failed_reason=CONTACT_INACTIVE)
    for urn, own_channel_id in found.urns:
        sender = _choose_sender(urn, own_channel_id, senders, is_chosen=is_chosen)
        if sender is not None:
            is_fallback = not is_chosen and _is_fallback(urn, own_channel_id, senders, sender.id)
            by_gateway, has_terms = sender.type in GATEWAYS, bool(sender.has_terms)
            return Route(urn.identity, sender.id, None, by_gateway, is_fallback, sender.type, has_terms)
    return Route(failed_reason=NO_ROUTE)


def _choose_sender(
    urn: Urn, own_channel_id: int | None, senders: Sequence[_Sender], *, is_chosen: bool = False
) -> _Sender | None:
    able, own = _list_able(urn, own_channel_id, senders)
    if is_chosen:
        return able[-1] if able else None
    return choose_channel(urn.scheme, urn.path, able, own)


def _is_fallback(urn: Urn, own_channel_id: int | None, senders: Sequence[_Sender], chosen_id: int) -> bool:
    """Whether messages to a URN would go by another channel than this one if none had failed for long."""
    if not any(sender.is_down for sender in senders):
        return False
    usual = choose_usual(urn.scheme, urn.path, *_list_able(urn, own_channel_id, senders))
    return usual is not None and usual.is_down and usual.id != chosen_id


def _list_able(
    urn: Urn, own_channel_id: int | None, senders: Sequence[_Sender]
) -> tuple[list[_Sender], _Sender | None]:
    """The channels for a URN, the best last, and the one that it prefers."""
    able = [sender for sender in senders if urn.scheme in sender.schemes]
    return able, next((sender for sender in able if sender.id == own_channel_id), None)


def note_fallbacks(tx: Transaction, workspace_id: int, drafts: Sequence[Draft]) -> list[Draft]:
    """The drafts, of which the routes were chosen elsewhere by the same rule, saying which go by another channel
    because one has failed for long; two statements."""
    senders = [_Sender(*row) for row in tx.execute(_select_senders(workspace_id))]
    ids = sorted({draft.contact_id for draft in drafts if draft.route is not None and draft.route.channel_id})
    own = {
        (contact_id, Urn(scheme, path).identity): channel_id
        for contact_id, _, scheme, path, channel_id in _lock_addresses.rows(tx, workspace_id, ids)
        if scheme is not None
    }

    def note(draft: Draft) -> Draft:
        route = draft.route
        if route is None or route.urn is None or route.channel_id is None:
            return draft
        preferred = own.get((draft.contact_id, route.urn))
        is_fallback = _is_fallback(parse(route.urn), preferred, senders, route.channel_id)
        return draft._replace(route=route._replace(is_fallback=is_fallback))

    return [note(draft) for draft in drafts]


CHANNEL_REMOVED = "channel_removed"
_HAS_BEGUN = exists().where(
    gateway_send.c.workspace_id == message.c.workspace_id,
    gateway_send.c.message_id == message.c.id,
    gateway_send.c.parts_begun > 0,
)
IS_UNTOUCHED = and_(
    IS_UNSENT,
    message.c.status == QUEUED,
    message.c.visibility == VISIBLE,
    message.c.offered_on.is_(None),
    ~_HAS_BEGUN.correlate(message),
)
"""Its channel has never got it: no phone was asked to send it, no part of it was written to a gateway. Only such a
message may go by another channel; any other may have been sent, and would be sent twice."""


class Leaving(NamedTuple):
    """What becomes of the unsent messages of channels that leave: how many go by other channels, how many fail."""

    handed_over: int
    failed: int


def hand_over_unsent(
    tx: Transaction, workspace_id: int, channel_ids: Sequence[int], *, to_id: int | None = None
) -> Leaving:
    """Channels leave, which the caller has locked: their messages that no phone and no gateway has got yet go by the
    channel that `find_routes` chooses of the others, or by the phone `to_id`; the others fail. A constant number of
    statements.
    """
    if not channel_ids:
        return Leaving(0, 0)
    theirs = message.c.channel_id.in_(channel_ids)
    if to_id is not None:
        handed_over = len(change_messages(tx, workspace_id, theirs & IS_UNTOUCHED, {"channel_id": to_id}))
        push_phones(tx, workspace_id, [to_id] if handed_over else ())
    else:
        handed_over = _hand_over(tx, workspace_id, channel_ids)
    failed = {"status": FAILED, "failed_reason": CHANNEL_REMOVED, "sent_on": None}
    failing = change_messages(tx, workspace_id, theirs & IS_UNSENT, failed)
    drop_sends_of(tx, workspace_id, channel_ids)
    return Leaving(handed_over, len(failing))


def foresee_leaving(tx: Transaction, workspace_id: int, channel_uuid: str) -> Leaving:
    """What would become of the unsent messages of an active channel if it were released now. Raises RecordMissing."""
    mine = (channel.c.workspace_id == workspace_id) & (channel.c.uuid == channel_uuid) & channel.c.is_active
    channel_id = tx.execute(select(channel.c.id).where(mine)).scalar_one_or_none()
    if channel_id is None:
        raise RecordMissing
    unsent = (message.c.workspace_id == workspace_id) & (message.c.channel_id == channel_id) & IS_UNSENT
    number = tx.execute(select(func.count()).select_from(message).where(unsent)).scalar_one()
    senders = [_Sender(*row) for row in tx.execute(_select_senders(workspace_id)) if row.id != channel_id]
    waiting = tx.execute(_select_untouched(workspace_id, [channel_id])) if senders else ()
    handed_over = sum(_choose_sender(parse(row.urn), row.own, senders) is not None for row in waiting)
    return Leaving(handed_over, number - handed_over)


def choose_successors(
    tx: Transaction, workspace_id: int, channel_ids: Collection[int], leaving: Collection[int]
) -> dict[int, int]:
    """The channel that comes nearest to each of these, of those that do not leave: of its scheme, and chosen as if for
    messages to its own number."""
    if not channel_ids:
        return {}
    senders = [_Sender(*row) for row in tx.execute(_select_senders(workspace_id))]
    staying = [sender for sender in senders if sender.id not in leaving]
    chosen = {
        sender.id: _choose_sender(Urn(sender.schemes[0], sender.address), None, staying)
        for sender in senders
        if sender.id in channel_ids
    }
    return {channel_id: sender.id for channel_id, sender in chosen.items() if sender is not None}


def _hand_over(tx: Transaction, workspace_id: int, channel_ids: Sequence[int]) -> int:
    senders = _hold_senders(tx, workspace_id)
    senders = [sender for sender in senders if sender.id not in channel_ids]
    if not senders:
        return 0
    priorities = drop_untried_sends(tx, workspace_id, channel_ids)
    held = _select_untouched(workspace_id, channel_ids).with_for_update(of=message, key_share=True)
    chosen: dict[int, int] = {}
    sends: list[tuple[int | None, int, int, datetime | None]] = []
    phones: set[int] = set()
    for row in tx.execute(held).all():
        sender = _choose_sender(parse(row.urn), row.own, senders)
        if sender is not None:
            chosen[row.id] = sender.id
            if sender.type in GATEWAYS:
                usual = CONVERSATION if row.broadcast_id is None else BULK
                sends.append((sender.id, row.id, priorities.get(row.id, usual), row.due_on))
            else:
                phones.add(sender.id)
    change_each_message(tx, workspace_id, {one: {"channel_id": channel_id} for one, channel_id in chosen.items()})
    if sends:
        queue_sends(tx, workspace_id, sends)
        tx.wake("sending")
    push_phones(tx, workspace_id, phones)
    return len(chosen)


def _select_untouched(workspace_id: int, channel_ids: Sequence[int]) -> Select[Any]:
    """Messages that may go by another channel, with the channel that the contact's number prefers."""
    rows, urns = message.c, contact_urn.c
    identity = urns.scheme + ":" + urns.path
    own = select(urns.channel_id).where(urns.contact_id == rows.contact_id, identity == rows.urn)
    mine = (rows.workspace_id == workspace_id) & rows.channel_id.in_(channel_ids)
    preferred = own.limit(1).correlate(message).scalar_subquery().label("own")
    columns = (rows.id, rows.urn, rows.broadcast_id, rows.due_on, preferred)
    return select(*columns).where(mine, IS_UNTOUCHED, rows.urn.is_not(None)).order_by(rows.id)


def create_outgoing(
    tx: Transaction, workspace_id: int, drafts: Sequence[Draft], *, channel_id: int | None = None
) -> list[int]:
    """Like `add_outgoing`, but returns the ids of the messages in the order of the drafts."""
    return list(add_outgoing(tx, workspace_id, drafts, channel_id=channel_id).values())


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
    if not decided:
        return {}
    routed = [route for _, route in decided if route is not None and route.has_terms]
    terms = load_terms(tx, workspace_id, {route.channel_id for route in routed if route.channel_id is not None})
    made = [(draft, route, _row(tx, workspace_id, draft, route, terms)) for draft, route in decided]
    automatic = [(row, draft.automatic in ANSWERS) for draft, _, row in made if draft.automatic is not None]
    plan(tx, workspace_id, automatic, terms)
    ids = insert_outgoing(tx, workspace_id, [row for _, _, row in made])
    open_circle_alarms(tx, workspace_id, channels_in_circle(row for _, _, row in made) if circles else ())
    note_replies(tx, workspace_id, [each.contact_id for each, _, _ in made if each.is_by_person])
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
    return {row["uuid"]: ids[row["uuid"]] for _, _, row in made}


def push_phones(tx: Transaction, workspace_id: int, channel_ids: Iterable[int | None]) -> None:
    """Something waits for these phones from the end of this unit of work on: they are asked to come for it."""
    phones = {channel_id: MESSAGES for channel_id in channel_ids if channel_id is not None}
    if phones:
        known = changes_of(tx, workspace_id).phones
        known.update(phones | known)


def _stop_circle(draft: Draft, route: Route | None, circles: AbstractSet[int]) -> Route | None:
    """The route of a message; an automatic answer in a circle fails with it."""
    if route is None or route.failed_reason is not None:
        return route
    is_stopped = draft.automatic in ANSWERS and draft.contact_id in circles
    return route._replace(failed_reason=CIRCLE) if is_stopped else route


Decided = tuple[Draft, Route | None]


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
    """The message that somebody writes to one contact, with its route. Raises InvalidInput if its channel does not take
    it now."""
    route = find_routes(tx, workspace_id, [draft.contact_id]).get(draft.contact_id)
    ((_, fitted),) = _fit(tx, workspace_id, [(draft, route)])
    reason = None if fitted is None else fitted.failed_reason
    if reason == WINDOW_CLOSED:
        raise InvalidInput.across(
            "The contact has not written by this channel in the last 24 hours: it takes only a template now."
        )
    if reason == NO_TEMPLATE:
        raise InvalidInput.on(
            "template", "It is not approved for the channel of the contact, or has more variables than values."
        )
    return draft._replace(route=route)


def note_replies(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> None:
    """Notes the first reply to the open tickets of these contacts."""
    if contact_ids:
        _note_reply.run(tx, workspace_id, sorted(set(contact_ids)), tx.now)


@statement
def _note_reply(workspace_id: int, contact_ids: Sequence[int], now: datetime) -> Executable:
    rows = ticket.c
    theirs = (beside_index(rows.workspace_id) == workspace_id) & among(rows.contact_id, contact_ids)
    first = theirs & (rows.status == literal(OPEN, literal_execute=True)) & rows.replied_on.is_(None)
    return update(ticket).where(first).values(replied_on=now)


def _row(
    tx: Transaction, workspace_id: int, draft: Draft, route: Route | None, terms: Mapping[int, Terms]
) -> dict[str, Any]:
    if route is None:
        # The contact was deleted after it was looked up: the message ends as if it had been created just before.
        draft = Draft(
            draft.contact_id, broadcast_id=draft.broadcast_id, flow_id=draft.flow_id, automatic=draft.automatic
        )
    visibility = VISIBLE if route is not None else DELETED
    route = route or Route(failed_reason=CONTACT_INACTIVE)
    own = terms.get(route.channel_id or 0, USUAL)
    segments = own.count(route.urn, draft.text, [each["url"] for each in draft.attachments])
    return {
        "uuid": new_uuid(),
        "workspace_id": workspace_id,
        "contact_id": draft.contact_id,
        "urn": route.urn,
        "channel_id": route.channel_id,
        "broadcast_id": draft.broadcast_id,
        "flow_id": draft.flow_id,
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
        "due_on": None,
        "due_reason": None,
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
