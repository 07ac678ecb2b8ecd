"""The audit log: the list for administrators, and the witness of a unit of work, which sees each statement that changes
an audited table and writes what changed and who changed it into the same transaction. Which changes are told, the
policy of each table says. What no change of a table tells, `tell_deed` does: who merged contacts, who read a secret. A
failed sign-in is told by nobody's witness (`tell_failed_sign_in`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from sqlalchemy import BindParameter, ClauseElement, CursorResult, Insert, Table, Update, select
from sqlalchemy.sql.dml import UpdateBase

from persistence.database import Parameters, Transaction
from persistence.lists import ListSpec, equals, within
from persistence.pages import Order
from persistence.records import Record
from persistence.secrets.encryption import Sealed, SecretDamaged, SecretKeyChanged, sealed_text
from persistence.sql.columns import new_uuid, time_text
from persistence.statements import Change, insert_rows
from persistence.tables.accounts import ADDRESS_LENGTH, membership, user, workspace
from persistence.tables.policies import Audited, policy_of
from persistence.tables.service import audit_event

AUDIT_EVENTS = ListSpec(
    audit_event,
    Record(
        {
            "uuid": audit_event.c.uuid,
            "created_on": audit_event.c.created_on,
            "resource": audit_event.c.resource,
            "action": audit_event.c.action,
            "record": Record({"uuid": audit_event.c.record_uuid, "name": audit_event.c.record_name}),
            "changes": audit_event.c.changes,
            "via": audit_event.c.via,
            "user": audit_event.c.actor_email,
            "token": audit_event.c.token,
            "command": audit_event.c.command,
            "address": audit_event.c.address,
        }
    ),
    Order(audit_event.c.created_on, audit_event.c.id),
    filters={
        "resource": equals(audit_event.c.resource),
        "action": equals(audit_event.c.action),
        "record": equals(audit_event.c.record_uuid),
        "user": lambda _query, email: audit_event.c.actor_email == email.strip().lower(),
        **within(audit_event.c.created_on),
    },
)

CREATED, CHANGED, DELETED = "created", "changed", "deleted"
MERGED, READ, FAILED = "merged", "read", "failed"
BY_SESSION, BY_TOKEN, BY_COMMAND = "session", "token", "command"
HIDDEN = "hidden"
UNREADABLE = object()
"""What a secret is taken for whose key is lost: the log says that there was one."""
LONGEST_VALUE = 500

Row = Mapping[str, Any]
Changes = dict[str, list[Any]]

_insert_events = insert_rows(audit_event, [each.key for each in audit_event.c if each.key != "id"])

NAMES = {
    "contact_uuid": "contact",
    "is_active": "active",
    "is_archived": "archived",
    "is_anonymous": "anon",
    "user_id": "user",
    "definition_revision": "revision",
    "totp_confirmed_on": "two_factor",
    "password_hash": "password",
    "recovery_hashes": "recovery_codes",
    "webhook_secret": "webhook_secret",
    "retry_delays": "retry_delays_seconds",
    "per_second": "requests_per_second",
}
"""What a column is called in the log, if it has another name there."""


@dataclass(frozen=True, slots=True)
class Actor:
    """Who changes something: `via` a session, a token (its public part) or a command of an operator."""

    via: str
    email: str | None = None
    token: str | None = None
    command: str | None = None
    address: str | None = None


def _columns(table: Table, rule: Audited) -> list[Any]:
    others = ("id", "uuid", "workspace_id", "user_id", rule.name)
    told = [each for each in table.c if each.key in {*rule.columns, *others}]
    return [sealed_text(each).label(each.key) if isinstance(each.type, Sealed) else each for each in told]


def _opened(tx: Transaction, table: Table, row: Row) -> dict[str, Any]:
    """A row with its secrets opened, to compare them; one that no key opens differs from every other value."""
    values = dict(row)
    for name, value in row.items():
        kind = table.c[name].type
        if isinstance(kind, Sealed) and value is not None:
            try:
                values[name] = kind.process_result_value(value, tx.dialect)
            except (SecretDamaged, SecretKeyChanged):
                values[name] = UNREADABLE
    return values


def _shown(value: Any, is_hidden: bool) -> Any:
    if value is None or is_hidden:
        return None if value is None else HIDDEN
    if isinstance(value, datetime):
        return time_text(value)
    if isinstance(value, date):
        return value.isoformat()
    return value[:LONGEST_VALUE] if isinstance(value, str) else value


def _own_id(tx: Transaction, row: Row) -> int:
    """The id of a workspace, which the values of a new one do not have."""
    return tx.connection.execute(select(workspace.c.id).where(workspace.c.uuid == row["uuid"])).scalar_one()


def _named(tx: Transaction, rule: Audited, row: Row, workspace_id: int) -> dict[str, Any]:
    """A row that belongs to a user: it is called by the user's address unless it has a name, and named by the user's
    UUID unless it has one of its own.
    """
    of_user = select(user.c.uuid, user.c.email).where(user.c.id == row["user_id"])
    uuid, email = tx.connection.execute(of_user).first() or (None, "")
    name = email if rule.name in (None, "email") and rule.resource != "invitations" else str(row.get(rule.name or ""))
    return {"workspace_id": workspace_id, "record_uuid": row.get("uuid") or uuid, "record_name": name}


class Witness:
    """Executes the statements of a unit of work that change rows, for `Transaction.witness`."""

    def __init__(self, actor: Actor) -> None:
        self.actor = actor

    def execute(
        self, tx: Transaction, statement: UpdateBase, parameters: Parameters | None
    ) -> CursorResult[*tuple[Any, ...]]:
        """Execute a statement, and tell what it changed."""
        table = statement.table
        rule = policy_of(table).audited if isinstance(table, Table) else None
        if rule is None or not isinstance(table, Table) or not _concerns(rule, statement):
            return tx.connection.execute(statement, parameters)
        if not isinstance(statement, Insert):
            return self._of_present(tx, table, statement, parameters, rule)
        former = _read_upserted(tx, table, statement, rule)
        result = tx.connection.execute(statement, parameters)
        given = result.context.compiled_parameters
        found = [self._of_insert(rule, dict(each), former) for each in given]
        is_upsert = type(statement) is not Insert  # but that of a kind of database
        found = [] if is_upsert and result.rowcount == 0 else found
        self._tell(tx, rule, [each for each in found if each is not None])
        return result

    def note_created(self, tx: Transaction, table: Table, row: Row) -> None:
        """Tell of a row that was inserted by a statement that this has not seen."""
        rule = policy_of(table).audited
        found = None if rule is None else self._of_insert(rule, row, None)
        if rule is not None and found is not None:
            self._tell(tx, rule, [found])

    def note_deed(
        self, tx: Transaction, workspace_id: int, resource: str, action: str, uuid: str | None, name: str, changes: Any
    ) -> None:
        """Tell of something that no change of a table tells."""
        where = {"workspace_id": workspace_id, "record_uuid": uuid, "record_name": name}
        event = {**self._who(tx), **where, "action": action, "resource": resource, "changes": changes}
        _insert_events.run(tx, [event])

    def _of_present(
        self, tx: Transaction, table: Table, statement: UpdateBase, parameters: Parameters | None, rule: Audited
    ) -> CursorResult[*tuple[Any, ...]]:
        """Execute an UPDATE or DELETE, once for each set of its parameters, and tell what it changed."""
        found: list[tuple[str, Row, Changes]] = []
        for each in [parameters] if parameters is None or isinstance(parameters, Mapping) else parameters:
            new = _set(statement, each) if isinstance(statement, Change) else None
            if new is not None and not _can_tell(rule, new):
                continue
            for row in _read(tx, table, rule, statement, each):
                if new is None:
                    found.append((DELETED, row, _differences(rule, row, {})))
                else:
                    found += self._of_update(rule, row, {**row, **new})
        result = tx.connection.execute(statement, parameters)
        self._tell(tx, rule, found)
        return result

    def _of_insert(self, rule: Audited, row: Row, former: Row | None) -> tuple[str, Row, Changes] | None:
        if former is not None or not rule.tells_creation:
            changes = _differences(rule, former or {}, {**(former or {}), **row})
            return (CHANGED, row, changes) if changes else None
        return CREATED, row, _differences(rule, {}, row)

    def _of_update(self, rule: Audited, row: Row, after: Row) -> list[tuple[str, Row, Changes]]:
        if any(_is_end(row, after, name, end) for name, end in rule.ended.items()):
            return [(DELETED, row, {})]
        if rule.resource == "channels" and row["workspace_id"] != after["workspace_id"]:
            # A phone that moves tells neither workspace what it is called in the other.
            claimed: tuple[str, Row, Changes] = (CREATED, after, _differences(rule, {}, after))
            return [claimed] if row["workspace_id"] is None else [(DELETED, row, {}), claimed]
        changes = {} if rule.only_end else _differences(rule, row, after)
        return [(CHANGED, after, changes)] if changes else []

    def _tell(self, tx: Transaction, rule: Audited, found: Sequence[tuple[str, Row, Changes]]) -> None:
        events = [
            {**self._who(tx), **who, "action": action, "resource": rule.resource, "changes": changes or None}
            for action, row, changes in found
            for who in _whose(tx, rule, row)
        ]
        if events:
            _insert_events.run(tx, events)

    def _who(self, tx: Transaction) -> dict[str, Any]:
        who = self.actor
        return {
            "uuid": new_uuid(),
            "created_on": tx.now,
            "via": who.via,
            "actor_email": who.email,
            "token": who.token,
            "command": who.command,
            "address": None if who.address is None else who.address[:ADDRESS_LENGTH],
        }


def tell_deed(
    tx: Transaction,
    workspace_id: int,
    resource: str,
    action: str,
    uuid: str | None,
    name: str = "",
    changes: Changes | None = None,
) -> None:
    """Tell the audit log what somebody did that changes no row of an audited table."""
    if tx.witness is not None:
        tx.witness.note_deed(tx, workspace_id, resource, action, uuid, name, changes)


def tell_failed_sign_in(tx: Transaction, email: str, address: str) -> None:
    """Tell in each workspace of an account that somebody could not sign in. Nobody knows who it was."""
    theirs = select(membership.c.workspace_id, user.c.uuid, user.c.email).join(user, user.c.id == membership.c.user_id)
    witness = Witness(Actor(BY_SESSION, address=address))
    for row in tx.execute(theirs.where(user.c.email_key == email.strip().lower())).all():
        witness.note_deed(tx, row.workspace_id, "sessions", FAILED, row.uuid, row.email, None)


def _concerns(rule: Audited, statement: UpdateBase) -> bool:
    """Whether a statement can change what is told; most updates set counters and times."""
    if not isinstance(statement, Update):
        return not isinstance(statement, Insert) or rule.tells_creation or rule.resource == "account"
    if not isinstance(statement, Change):
        raise TypeError("the audit log knows an UPDATE only if persistence.statements.update made it")
    return bool(statement.sets.keys() & {*rule.columns, *(("workspace_id",) if rule.resource == "channels" else ())})


def _can_tell(rule: Audited, new: Row) -> bool:
    """Whether an UPDATE with these values can be told, so that its rows have to be read before."""
    return not rule.only_end or any(end is None or new.get(name, end) == end for name, end in rule.ended.items())


def _read(tx: Transaction, table: Table, rule: Audited, statement: UpdateBase, parameters: Row | None) -> list[Row]:
    """The rows that an UPDATE or DELETE will change."""
    chosen = getattr(statement, "whereclause", None)
    wanted = select(*_columns(table, rule))
    rows = tx.connection.execute(wanted if chosen is None else wanted.where(chosen), parameters).mappings()
    return [_opened(tx, table, dict(row)) for row in rows]


def _read_upserted(tx: Transaction, table: Table, statement: UpdateBase, rule: Audited) -> Row | None:
    """The row that an upsert of an account may change."""
    if not isinstance(statement, Insert) or rule.resource != "account":
        return None
    owner = select(*_columns(table, rule)).where(
        table.c.user_id == statement.compile(dialect=tx.dialect).params["user_id"]
    )
    row = tx.connection.execute(owner).mappings().first()
    return None if row is None else _opened(tx, table, dict(row))


def _set(statement: Change, parameters: Row | None) -> dict[str, Any]:
    """The new values of an UPDATE, without those that the database computes."""
    given = parameters or {}
    values: dict[str, Any] = dict(given)
    for name, value in statement.sets.items():
        if isinstance(value, BindParameter):
            values[name] = given.get(value.key, value.value)
        elif not isinstance(value, ClauseElement):
            values[name] = value
    return values


def _is_end(before: Row, after: Row, name: str, end: object) -> bool:
    if end is None:
        return before[name] is None and after[name] is not None
    return bool(before[name] != end and after[name] == end)


def _differences(rule: Audited, before: Row, after: Row) -> Changes:
    """What differs, by the names of the log: the former and the new value."""
    found = {}
    for name in (*rule.shown, *rule.hidden):
        former, present = before.get(name), after.get(name)
        if former != present:
            is_hidden = name in rule.hidden
            found[NAMES.get(name, name)] = [_shown(value, is_hidden) for value in (former, present)]
    return found


def _whose(tx: Transaction, rule: Audited, row: Row) -> list[dict[str, Any]]:
    """The workspaces that are told of a row's change, and what the row is called there."""
    if rule.of_user is None and "user_id" not in row and rule.resource != "users":
        name = "" if rule.name is None else str(row.get(rule.name) or "")
        workspace_id = _own_id(tx, row) if rule.resource == "workspace" else row["workspace_id"]
        return [{"workspace_id": workspace_id, "record_uuid": row.get("uuid"), "record_name": name}]
    if rule.of_user is None:
        return [_named(tx, rule, row, row["workspace_id"])]
    user_id = row[rule.of_user]
    of_user = select(membership.c.workspace_id).where(membership.c.user_id == user_id)
    return [_named(tx, rule, {**row, "user_id": user_id}, each) for each in tx.connection.execute(of_user).scalars()]
