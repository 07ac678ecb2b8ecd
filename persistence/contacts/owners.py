"""The contacts that own URNs or that a request names, and the URNs in requests: normalized with the workspace's
country, rejected where they would tell whose they are.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import orjson
from sqlalchemy import (
    ARRAY,
    JSON,
    BigInteger,
    ColumnElement,
    Executable,
    FromClause,
    TableValuedAlias,
    Text,
    TypeDecorator,
    and_,
    cast,
    false,
    func,
    literal_column,
    or_,
    select,
    true,
    tuple_,
    union,
)
from sqlalchemy.engine import Dialect

from flows.phones import read_old_form
from flows.typed import fold_case, plain
from flows.urns import SCHEMES, URN_LENGTH_MAX, Urn, UrnError, parse, read_urn
from persistence.database import Transaction
from persistence.errors import InvalidInput, LostRace, Refused
from persistence.records import Shown
from persistence.sql.columns import is_uuid
from persistence.sql.names import must_exist
from persistence.statements import among, statement
from persistence.tables.contacts import contact, contact_urn
from persistence.workspaces.records import Workspace

ONE: ColumnElement[int] = literal_column("1")

BAD_PHONE = "Not a possible phone number: give it with its country code, like +250788123123."
NO_URN = "Expected a URN: a scheme, a colon and an address, like tel:+250788123123."
DIGITS = "digits"
FORMS = {
    "mailto": "an e-mail address, like mailto:ann@example.org",
    "bsuid": "a country and an id, like bsuid:RW.A1b2",
    "freshchat": "two UUIDs with a slash between them",
    "twitter": "a handle of up to 15 letters, digits and underscores",
    "viber": "up to 24 letters, digits and the signs _ = + /",
    "line": "letters, digits, hyphens and underscores",
    "webchat": "24 letters and digits",
    "whatsapp": "the digits of a number with its country code, without +",
}
"""What comes after the scheme, for those whose addresses are not just digits."""
TOO_LONG = f"At most {URN_LENGTH_MAX} characters, with `%`, `#` and `?` counted as three."
HIDDEN = "Contacts cannot be named by URN in an anonymous workspace."
MOST_CALLED = 5


@statement
def _select_called(workspace_id: int, uuids: Sequence[str]) -> Executable:
    mine = (contact.c.workspace_id == workspace_id) & among(contact.c.uuid, uuids, "UUID") & ~contact.c.is_deleted
    return select(contact.c.uuid, contact.c.id, contact.c.name).where(mine)


@dataclass(frozen=True, slots=True)
class UrnOwner:
    """The contact that owns a URN, with what is needed to receive from it or send to it."""

    urn: str
    urn_id: int
    contact_id: int
    uuid: str
    name: str | None
    status: str
    is_new: bool = False


def is_one_of(urns: Iterable[Urn]) -> ColumnElement[bool]:
    """Whether a row is one of these URNs. SQLite uses no index for pairs, so each scheme has its own list."""
    paths: dict[str, list[str]] = {}
    for urn in urns:
        paths.setdefault(urn.scheme, []).append(urn.path)
    rows = contact_urn.c
    return or_(false(), *(and_(rows.scheme == scheme, rows.path.in_(listed)) for scheme, listed in paths.items()))


class _Pairs(TypeDecorator[Sequence[Sequence[str]]]):
    """Pairs of texts as one JSON text."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Sequence[Sequence[str]] | None, dialect: Dialect) -> str:
        return orjson.dumps(list(value or ())).decode()


Addresses = Annotated[Sequence[tuple[str, str]], _Pairs()]


def addresses_of(urns: Iterable[Urn]) -> list[tuple[str, str]]:
    """The schemes and paths of URNs, for statements."""
    return [(urn.scheme, urn.path) for urn in urns]


@statement
def _select_owners(workspace_id: int, addresses: Addresses, *, is_sqlite: bool = False) -> Executable:
    rows = contact_urn.c
    if is_sqlite:
        return (
            select(rows.id, rows.scheme, rows.path, contact.c.id, contact.c.uuid, contact.c.name, contact.c.status)
            .join(contact, contact.c.id == rows.contact_id)
            .where(rows.workspace_id == workspace_id, _is_listed_on_sqlite(addresses))
        )
    pairs, urn = _seek_urns(workspace_id, addresses)
    theirs = (contact.c.workspace_id == workspace_id, contact.c.id == urn.c.contact_id)
    columns = (contact.c.id, contact.c.uuid, contact.c.name, contact.c.status)
    owner = select(*columns).where(*theirs).limit(ONE).correlate(urn).lateral("owner")
    found = pairs.join(urn, true()).join(owner, true())
    return select(urn.c.id, urn.c.scheme, urn.c.path, *owner.c).select_from(found)


@statement
def _lock_owners(
    workspace_id: int,
    addresses: Addresses,
    beside: Sequence[int],
    *,
    has_others: bool,
    changes: bool,
    is_sqlite: bool = False,
) -> Executable:
    """For PostgreSQL: on SQLite, where one transaction writes at a time, nothing is locked."""
    if is_sqlite:
        return select(contact.c.id).where(contact.c.workspace_id == workspace_id, among(contact.c.id, beside))
    pairs, urn = _seek_urns(workspace_id, addresses)
    owning = select(urn.c.contact_id.label("id")).select_from(pairs.join(urn, true()))
    named = select(func.unnest(cast(beside, ARRAY(BigInteger))).label("id"))
    wanted = (union(owning, named) if has_others else owning.distinct()).subquery("wanted")
    in_order = select(wanted.c.id).order_by(wanted.c.id).subquery("in_order")
    theirs = (contact.c.workspace_id == workspace_id, contact.c.id == in_order.c.id)
    holding = select(contact.c.id).where(*theirs).correlate(in_order)
    held = holding.with_for_update(read=not changes, key_share=not changes).lateral("held")
    return select(held.c.id).select_from(in_order.join(held, true()))


def find_owners(tx: Transaction, workspace_id: int, urns: Sequence[Urn]) -> dict[str, UrnOwner]:
    """The owners of those of these URNs that have one, by URN identity; one statement."""
    if not urns:
        return {}
    owners = {}
    found = _select_owners.rows(tx, workspace_id, addresses_of(urns))
    for urn_id, scheme, path, contact_id, uuid, name, status in found:
        identity = Urn(scheme, path).identity
        owners[identity] = UrnOwner(identity, urn_id, contact_id, uuid, name, status)
    return owners


def hold_owners(
    tx: Transaction, workspace_id: int, urns: Sequence[Urn], beside: Sequence[int] = (), *, changes: bool = True
) -> dict[str, UrnOwner]:
    """Like `find_owners`, but locks the owners: until this transaction ends they keep their URNs and are not deleted;
    two statements, one if there are no owners. The contacts `beside` are locked with them, in one order. Without
    `changes` other transactions can share the lock. Raises LostRace if a URN moved to a contact that is not locked.
    """
    if not urns or tx.sqlite:  # where only one transaction writes at a time
        return find_owners(tx, workspace_id, urns)
    rows = _lock_owners.rows(tx, workspace_id, addresses_of(urns), beside, has_others=bool(beside), changes=changes)
    held = {contact_id for (contact_id,) in rows}
    if not held:
        return {}  # whoever creates owners for them now loses the race against one that has come meanwhile
    owners = find_owners(tx, workspace_id, urns)
    if any(owner.contact_id not in held for owner in owners.values()):
        raise LostRace
    return owners


def read_urns(tx: Transaction, workspace: Workspace, texts: Sequence[str], field: str = "urns") -> list[Urn]:
    """Normalized URNs without repeats. Raises InvalidInput for the first bad one."""
    found = find_urns(tx, workspace, texts)
    for index, text in enumerate(texts):
        if text not in found:
            raise InvalidInput.at(field, index, explain_urn(text))
    return list({found[text].identity: found[text] for text in texts}.values())


def read_recipients(tx: Transaction, workspace: Workspace, texts: Sequence[str], field: str = "urns") -> list[Urn]:
    """Like `read_urns`, for the URNs of recipients. Raises InvalidInput in an anonymous workspace: lists would show the
    message or run with its contact, and so tell whose URN it is.
    """
    if texts and workspace.is_anonymous:
        raise InvalidInput.on(field, HIDDEN)
    return read_urns(tx, workspace, texts, field)


def read_recipient(tx: Transaction, workspace: Workspace, text: str, field: str = "urn") -> Urn:
    """Like `read_recipients` for one."""
    if workspace.is_anonymous:
        raise InvalidInput.on(field, HIDDEN)
    found = find_urns(tx, workspace, [text])
    if text not in found:
        raise InvalidInput.on(field, explain_urn(text))
    return found[text]


def read_lookup(tx: Transaction, workspace: Workspace, text: str) -> Urn:
    """The URN by which a query looks up a contact. Raises Refused in an anonymous workspace, and for a bad URN."""
    if workspace.is_anonymous:
        raise Refused("Contacts cannot be looked up by URN in an anonymous workspace.")
    found = find_urns(tx, workspace, [text])
    if text not in found:
        raise Refused(f"Parameter urn: {explain_urn(text)}")
    return found[text]


def find_urns(tx: Transaction, workspace: Workspace, texts: Sequence[str]) -> Mapping[str, Urn]:
    """Those strings that are URNs, normalized. Contacts get short codes and names of senders only from channels; once a
    contact has one, it is accepted unchanged.
    """
    bare = {text: urn for text in texts if (urn := _read_bare(text)) is not None}
    present = _find_present(tx, workspace.id, list(bare.values())) if bare else set()
    found = {text: urn for text, urn in bare.items() if (urn.scheme, urn.path) in present}
    for text in texts:
        if text not in found:
            try:
                found[text] = read_urn(text, workspace.country, path_length=URN_LENGTH_MAX)
            except UrnError:
                continue
    return found


def explain_urn(text: str) -> str:
    """Why a string is no URN that a contact can have."""
    scheme, colon, path = text.partition(":")
    scheme = scheme.strip().lower()
    if not colon or not scheme:
        return NO_URN
    if scheme not in SCHEMES:
        return f'There is no scheme "{scheme[:32]}"; the schemes are {", ".join(SCHEMES)}.'
    if _is_too_long(text):
        return TOO_LONG
    return explain_phone(path) if scheme == "tel" else f"After {scheme}: {FORMS.get(scheme, DIGITS)} must follow."


def explain_phone(text: str) -> str:
    """Why a string is no phone number that a contact can have."""
    known = read_old_form(text)
    if known is None:
        return BAD_PHONE
    return f"Not a possible phone number: it is an old form ({known[1]}) of {known[0]}, which is to be given."


def find_contact(tx: Transaction, workspace_id: int, uuid: str) -> int | None:
    """The id of a contact that is not deleted."""
    found = _select_called.rows(tx, workspace_id, [uuid.lower()])
    return found[0][1] if found else None


def find_contacts(
    tx: Transaction, workspace: Workspace, references: Sequence[str], *, field: str = "contacts"
) -> list[int]:
    """The ids of contacts: see `find_shown_contacts`."""
    return list(find_shown_contacts(tx, workspace, references, field=field))


def find_shown_contacts(
    tx: Transaction, workspace: Workspace, references: Sequence[str], *, field: str = "contacts"
) -> dict[int, Shown]:
    """Contacts given by UUID or URN, by their ids without repeats, as records show them (CONTACT_REF); contacts given
    by URN are locked, because URNs can move. Raises InvalidInput for the first one that is not found; deleted contacts
    are not found. In an anonymous workspace URNs are not allowed: the response would tell whose they are.
    """
    uuids = {reference.lower() for reference in references if is_uuid(reference)}
    urns = find_urns(tx, workspace, [reference for reference in references if not is_uuid(reference)])
    found: dict[str, tuple[int, Shown]] = {}
    if uuids:
        rows = _select_called.rows(tx, workspace.id, sorted(uuids))
        found = {uuid: (contact_id, {"uuid": uuid, "name": name}) for uuid, contact_id, name in rows}
    wanted = list(urns.values())
    if wanted and workspace.is_anonymous:
        raise InvalidInput.on(field, HIDDEN)
    if wanted:
        owners = hold_owners(tx, workspace.id, wanted, [contact_id for contact_id, _ in found.values()])
        for identity, owner in owners.items():
            found[identity] = (owner.contact_id, {"uuid": owner.uuid, "name": owner.name})
    shown: dict[int, Shown] = {}
    for reference in references:
        urn = urns.get(reference)
        key = urn.identity if urn is not None else reference.lower()
        contact_id, ref = must_exist(found.get(key), field, reference)
        shown[contact_id] = ref
    return shown


def find_contacts_called(tx: Transaction, workspace: Workspace, text: str) -> list[str]:
    """The UUIDs of contacts with this URN, phone number with its country code, or name. In an anonymous workspace URNs
    find nobody.
    """
    address = f"tel:{text}" if text.startswith("+") else text
    urns = [] if workspace.is_anonymous else list(find_urns(tx, workspace, [address]).values())
    rows = contact_urn.c
    owners = select(rows.contact_id).where(rows.workspace_id == workspace.id, is_one_of(urns)) if urns else None
    is_it = contact.c.name == text if owners is None else contact.c.id.in_(owners)
    mine = (contact.c.workspace_id == workspace.id) & ~contact.c.is_deleted & is_it
    return list(tx.execute(select(contact.c.uuid).where(mine).order_by(contact.c.id).limit(MOST_CALLED)).scalars())


def _is_listed_on_sqlite(addresses: Addresses) -> ColumnElement[bool]:
    """Whether a row is one of these URNs."""
    rows = contact_urn.c
    pair = func.json_each(addresses).table_valued("value")
    first, second = (func.json_extract(pair.c.value, literal_column(f"'$[{place}]'")) for place in (0, 1))
    return tuple_(rows.scheme, rows.path).in_(select(first, second))


def _seek_urns(workspace_id: int, addresses: Addresses) -> tuple[TableValuedAlias, FromClause]:
    """These URNs on PostgreSQL, each with the row that has it. Each is a seek, which no plan
    turns into a join: before PostgreSQL knows a table it takes it for small, and would read it again for each URN.
    """
    rows = contact_urn.c
    pairs = func.json_array_elements(cast(addresses, JSON)).table_valued("value")
    scheme, path = (pairs.c.value.op("->>")(literal_column(place)) for place in ("0", "1"))
    mine = (rows.workspace_id == workspace_id, rows.scheme == scheme, rows.path == path)
    found = select(rows.id, rows.scheme, rows.path, rows.contact_id).where(*mine).limit(ONE).correlate(pairs)
    return pairs, found.lateral("urn")


def _is_too_long(text: str) -> bool:
    """Whether a string is too long for a URN, which is stored with escapes."""
    try:
        return len(str(parse(text))) > URN_LENGTH_MAX
    except UrnError:
        return False


def _read_bare(text: str) -> Urn | None:
    """A `tel` URN that is not international, unchanged."""
    try:
        urn = parse(text)
    except UrnError:
        return None
    path = fold_case(plain(urn.path).strip())
    return Urn("tel", path) if urn.scheme.lower() == "tel" and not path.startswith("+") else None


def _find_present(tx: Transaction, workspace_id: int, urns: Sequence[Urn]) -> set[tuple[str, str]]:
    rows = contact_urn.c
    owned = (rows.workspace_id == workspace_id) & rows.contact_id.is_not(None)
    statement = select(rows.scheme, rows.path).where(owned, is_one_of(urns))
    return {(scheme, path) for scheme, path in tx.execute(statement)}
