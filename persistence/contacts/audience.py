"""The recipients of a broadcast or the contacts of a flow start: contacts by reference, owners of URNs, members of
groups and matches of a query, without the members of excluded groups. Each contact comes once, a page at a time in
the order of ids, by the state of the data when the page is read.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Select, Table, delete, func, select, union

from flows.urns import UrnError, parse
from persistence.contacts.owners import find_shown_contacts, read_recipients
from persistence.contacts.urns import ensure_owners
from persistence.database import Transaction
from persistence.errors import InvalidInput, Refused
from persistence.records import Record, Related, Shown
from persistence.sql.names import find_all_called, find_ids
from persistence.statements import Statement, Values, insert_rows
from persistence.tables.contacts import ACTIVE, contact, group, group_membership
from persistence.tables.flows import AudienceTables
from persistence.workspaces.records import Workspace


@dataclass(frozen=True, slots=True)
class Audience:
    """The audience of something new. `address_ids` are the owners of `urns`; no group is in both lists."""

    contact_ids: Sequence[int] = ()
    group_ids: Sequence[int] = ()
    urns: Sequence[str] = ()
    address_ids: Sequence[int] = ()
    query: str | None = None
    excluded_group_ids: Sequence[int] = ()
    shown: dict[str, Any] = field(default_factory=dict)
    """The `contacts` and `groups` of one that was read from a request, as its record shows them."""


def check_audience(body: Mapping[str, Any], *, allows_query: bool = False) -> None:
    """Raises InvalidInput for a request without recipients."""
    names = ("urns", "contacts", "groups", "query") if allows_query else ("urns", "contacts", "groups")
    if not any(body.get(name) for name in names):
        raise InvalidInput.across("At least one URN, contact or group is required.")


def read_audience(
    tx: Transaction, workspace: Workspace, body: Mapping[str, Any], *, allows_query: bool = False
) -> Audience:
    """The `urns`, `contacts` and `groups` of a request, and its `query`, which is checked; contacts are created for new
    URNs. Raises InvalidInput.
    """
    query = (body.get("query") or None) if allows_query else None
    if query is not None:
        check_query(tx, workspace, query)
    groups = find_all_called(tx, workspace.id, group, body.get("groups") or [], "groups", [group.c.name])
    shown_groups = {row.id: {"uuid": row.uuid, "name": row.name} for row in groups}
    contacts = find_shown_contacts(tx, workspace, body.get("contacts") or [])
    urns = read_recipients(tx, workspace, body.get("urns") or [])
    owners = ensure_owners(tx, workspace.id, urns, beside=list(contacts))
    address_ids = [owners[urn.identity].contact_id for urn in urns]
    shown = {"contacts": _by_id(contacts), "groups": _by_id(shown_groups)}
    return Audience(list(contacts), list(shown_groups), [urn.identity for urn in urns], address_ids, query, shown=shown)


def check_query(tx: Transaction, workspace: Workspace, text: str) -> ColumnElement[bool]:
    """The condition for the contacts that match the query of a request. Raises InvalidInput."""
    # The query language is loaded only for those who use it: lists of broadcasts need this module too.
    from persistence.contacts.queries import match_query  # noqa: PLC0415

    try:
        return match_query(tx, workspace, text, "query")
    except Refused as error:
        raise InvalidInput.on("query", str(error).removeprefix("Parameter query: ")) from error


def find_audience(tx: Transaction, workspace: Workspace, event: Mapping[str, Any]) -> Audience:
    """The `urns`, `contacts`, `groups` and `contact_query` of a flow's event, as far as they still exist. Contacts are
    created for new URNs.
    """
    urns = []
    for text in event.get("urns") or ():
        try:
            urns.append(parse(text))
        except UrnError:
            continue
    owners = ensure_owners(tx, workspace.id, urns)

    def find_all(table: Table, references: Iterable[Mapping[str, str]]) -> list[int]:
        return sorted(find_ids(tx, workspace.id, table, [each["uuid"] for each in references]).values())

    return Audience(
        find_all(contact, event.get("contacts") or ()),
        find_all(group, event.get("groups") or ()),
        [urn.identity for urn in urns],
        [owners[urn.identity].contact_id for urn in urns],
        event.get("contact_query") or None,
    )


def find_groups(tx: Transaction, workspace_id: int, references: Sequence[str]) -> list[int]:
    """The ids of groups of any kind, given by UUID or name. Raises InvalidInput for the first unknown one."""
    return [row.id for row in find_all_called(tx, workspace_id, group, references, "groups")]


def save_audience(
    tx: Transaction, workspace_id: int, tables: AudienceTables, thing_id: int, audience: Audience
) -> None:
    """Links a new broadcast or start to its contacts and groups; its query is a column of its own row."""
    thing = {"workspace_id": workspace_id, tables.link: thing_id}
    named = dict.fromkeys(audience.address_ids, False) | dict.fromkeys(audience.contact_ids, True)
    if named:
        rows = [{**thing, "contact_id": one, "is_named": is_named} for one, is_named in sorted(named.items())]
        _linking(tables.contacts, (tables.link, "contact_id", "is_named")).run(tx, rows)
    chosen = dict.fromkeys(audience.group_ids, False) | dict.fromkeys(audience.excluded_group_ids, True)
    if chosen:
        groups = [{**thing, "group_id": one, "is_excluded": out} for one, out in chosen.items()]
        _linking(tables.groups, (tables.link, "group_id", "is_excluded")).run(tx, groups)


def leave_audience(tx: Transaction, workspace_id: int, tables: AudienceTables, thing_id: int) -> None:
    """Links a broadcast or start to nobody."""
    for links in (tables.contacts, tables.groups):
        tx.execute(delete(links).where(links.c.workspace_id == workspace_id, links.c[tables.link] == thing_id))


@dataclass(frozen=True, slots=True)
class AudiencePage:
    """Some contacts of an audience, the id after which to continue, and whether these were the last."""

    contact_ids: Sequence[int]
    last_contact_id: int
    is_end: bool


class SavedAudience:
    """The current audience of a broadcast or start. Its groups are read, and its query is parsed, once. Contacts given
    by reference may have any status; members of groups and matches of the query are active. Raises QueryError for a
    query that is not, or no longer, valid.
    """

    def __init__(
        self, tx: Transaction, workspace: Workspace, tables: AudienceTables, thing_id: int, query: str | None
    ) -> None:
        self.tx = tx
        links = tables.groups.c
        of_groups = select(links.group_id, links.is_excluded).where(links[tables.link] == thing_id)
        groups = tx.execute(of_groups.order_by(links.group_id)).all()
        exists = (contact.c.workspace_id == workspace.id) & ~contact.c.is_deleted
        named = tables.contacts.c
        of_thing = select(named.contact_id).join(contact, contact.c.id == named.contact_id)
        sources: list[Select[Any]] = [of_thing.where(exists, named[tables.link] == thing_id)]
        rows = group_membership.c
        members = select(rows.contact_id).join(contact, contact.c.id == rows.contact_id)
        sources += [
            members.where(exists, contact.c.status == ACTIVE, rows.group_id == group_id)
            for group_id, is_excluded in groups
            if not is_excluded
        ]
        if query:
            # As above.
            from flows.queries import parse_query  # noqa: PLC0415
            from persistence.contacts.queries import find_matches, open_scope  # noqa: PLC0415

            scope = open_scope(tx, workspace)
            matches = find_matches(
                workspace.id, parse_query(query, scope.environment, scope.resolver, clock=scope.clock), scope
            )
            sources.append(select(contact.c.id.label("contact_id")).where(matches, contact.c.status == ACTIVE))
        excluded = [group_id for group_id, is_excluded in groups if is_excluded]
        if excluded:
            left_out = contact.c.id.in_(select(rows.contact_id).where(rows.group_id.in_(excluded)))
            sources = [source.where(~left_out) for source in sources]
        self._sources = sources

    def next_page(self, after_id: int, size: int) -> AudiencePage:
        """Up to `size` contacts after an id; the cost does not depend on the number of members of the groups."""
        parts = [_cut(source, after_id, size) for source in self._sources]
        ids = self.tx.execute(union(*parts).order_by("contact_id").limit(size)).scalars().all()
        return AudiencePage(ids, ids[-1] if ids else after_id, len(ids) < size)

    def count(self) -> int:
        """How many contacts there are now."""
        everybody = union(*self._sources).subquery()
        return self.tx.execute(select(func.count()).select_from(everybody)).scalar_one()


def list_contacts(of: AudienceTables, shown: Record | ColumnElement[Any]) -> Related:
    """The contacts of a broadcast or start, for its record."""
    links = of.contacts.c
    named = of.contacts.join(contact, contact.c.id == links.contact_id)
    return Related(links[of.link], named, shown, contact.c.id, where=links.is_named)


def list_groups(of: AudienceTables, shown: Record | ColumnElement[Any]) -> Related:
    """The groups of a broadcast or start, for its record."""
    links = of.groups.c
    chosen = of.groups.join(group, group.c.id == links.group_id)
    return Related(links[of.link], chosen, shown, group.c.id, where=~links.is_excluded)


def _by_id(shown: Mapping[int, Shown]) -> list[Shown]:
    return [shown[one] for one in sorted(shown)]


@cache
def _linking(table: Table, names: tuple[str, ...]) -> Statement[[Sequence[Values]]]:
    return insert_rows(table, ("workspace_id", *names))


def _cut(source: Select[Any], after_id: int, size: int) -> Select[Any]:
    """The first rows after a contact, as a subquery: only in subqueries can the parts of a union have limits on
    every database."""
    column = source.selected_columns[0]
    first = source.where(column > after_id).order_by(column).limit(size).subquery()
    return select(first.c.contact_id)
