"""By which channel messages go: the best route to each contact, and what becomes of the messages of a channel that
leaves.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import (
    Executable,
    Select,
    and_,
    exists,
    func,
    literal,
    select,
    true,
)

from channels.types import GATEWAYS
from flows.urns import Urn, choose_channel, choose_usual, parse
from persistence.changes import change_each_message, change_messages
from persistence.channels.gateway_pace import BULK, CONVERSATION, drop_sends_of, drop_untried_sends, queue_sends
from persistence.channels.terms import HAS_TERMS
from persistence.database import Transaction
from persistence.errors import RecordMissing
from persistence.leases import beside_index
from persistence.stamps import changes_of
from persistence.statements import among, statement
from persistence.tables.channels import MESSAGES, channel
from persistence.tables.contacts import ACTIVE, contact, contact_urn
from persistence.tables.messages import (
    FAILED,
    IS_UNSENT,
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
    `has_terms`: the channel sends on terms of its own (`persistence.channels.terms`). `may_have_ticket`: the contact
    has an open ticket, or nobody has looked.
    """

    urn: str | None = None
    channel_id: int | None = None
    failed_reason: str | None = None
    is_by_gateway: bool = False
    is_fallback: bool = False
    channel_type: str = ""
    has_terms: bool = False
    may_have_ticket: bool = True

    @property
    def goes_by_gateway(self) -> bool:
        return self.is_by_gateway and self.failed_reason is None

    @property
    def goes_by_phone(self) -> bool:
        return self.channel_id is not None and not self.is_by_gateway and self.failed_reason is None


LOOKS = 3
"""How often channels are looked for if one is released meanwhile."""


class _Sender(NamedTuple):
    """An active channel (see `flows.urns.Sender`)."""

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
    """The status of a contact, whether it has an open ticket, and its URNs with the channel that each prefers."""

    status: str
    has_ticket: bool
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
    candidates = _gather(_lock_addresses.rows(tx, workspace_id, contact_ids))
    is_chosen = channel_id is not None
    return {contact_id: _choose(found, senders, is_chosen=is_chosen) for contact_id, found in candidates.items()}


def foresee_route(tx: Transaction, workspace_id: int, contact_id: int) -> Route:
    """The route that `find_routes` would find now; holds nothing, so that no message may be created with it. Two
    statements."""
    senders = [_Sender(*row) for row in tx.execute(_select_senders(workspace_id))]
    candidates = _gather(_read_addresses.rows(tx, workspace_id, [contact_id]))
    found = candidates.get(contact_id)
    return Route(failed_reason=CONTACT_INACTIVE) if found is None else _choose(found, senders, is_chosen=False)


def _gather(rows: Iterable[Sequence[Any]]) -> dict[int, _Candidates]:
    candidates: dict[int, _Candidates] = {}
    for contact_id, status, has_ticket, scheme, path, own_channel_id in rows:
        found = candidates.setdefault(contact_id, _Candidates(status, bool(has_ticket)))
        if scheme is not None:
            found.urns.append((Urn(scheme, path), own_channel_id))
    return candidates


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
    return _select_addresses(workspace_id, contact_ids).with_for_update(read=True, of=contact)


@statement
def _read_addresses(workspace_id: int, contact_ids: Sequence[int]) -> Executable:
    return _select_addresses(workspace_id, contact_ids)


def _select_addresses(workspace_id: int, contact_ids: Sequence[int]) -> Select[int, str, bool, str, str, int | None]:
    rows, has_ticket = contact_urn.c, contact.c.open_ticket_count > 0
    mine = (beside_index(contact.c.workspace_id) == workspace_id) & among(contact.c.id, contact_ids)
    return (
        select(contact.c.id, contact.c.status, has_ticket, rows.scheme, rows.path, rows.channel_id)
        .outerjoin(contact_urn, rows.contact_id == contact.c.id)
        .where(mine, ~contact.c.is_deleted)
        .order_by(contact.c.id, rows.priority, rows.id)
    )


def _choose(found: _Candidates, senders: Sequence[_Sender], *, is_chosen: bool) -> Route:
    nothing = Route(may_have_ticket=found.has_ticket)
    if found.status != ACTIVE:
        return nothing._replace(failed_reason=CONTACT_INACTIVE)
    for urn, own_channel_id in found.urns:
        sender = _choose_sender(urn, own_channel_id, senders, is_chosen=is_chosen)
        if sender is not None:
            return nothing._replace(
                urn=urn.identity,
                channel_id=sender.id,
                is_by_gateway=sender.type in GATEWAYS,
                is_fallback=not is_chosen and _is_fallback(urn, own_channel_id, senders, sender.id),
                channel_type=sender.type,
                has_terms=bool(sender.has_terms),
            )
    return nothing._replace(failed_reason=NO_ROUTE)


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


def mark_fallbacks(
    tx: Transaction, workspace_id: int, chosen: Sequence[tuple[int, Route | None]]
) -> list[Route | None]:
    """Routes, with their contacts, that were chosen elsewhere by the same rule, saying which are by another channel
    because one has failed for long; two statements."""
    senders = [_Sender(*row) for row in tx.execute(_select_senders(workspace_id))]
    ids = sorted({contact_id for contact_id, route in chosen if route is not None and route.channel_id})
    own = {
        (contact_id, Urn(scheme, path).identity): channel_id
        for contact_id, _, _, scheme, path, channel_id in _lock_addresses.rows(tx, workspace_id, ids)
        if scheme is not None
    }

    def mark(contact_id: int, route: Route | None) -> Route | None:
        if route is None or route.urn is None or route.channel_id is None:
            return route
        preferred = own.get((contact_id, route.urn))
        is_fallback = _is_fallback(parse(route.urn), preferred, senders, route.channel_id)
        return route._replace(is_fallback=is_fallback)

    return [mark(*each) for each in chosen]


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


def push_phones(tx: Transaction, workspace_id: int, channel_ids: Iterable[int | None]) -> None:
    """Something waits for these phones from the end of this unit of work on: they are asked to come for it."""
    phones = {channel_id: MESSAGES for channel_id in channel_ids if channel_id is not None}
    if phones:
        known = changes_of(tx, workspace_id).phones
        known.update(phones | known)
