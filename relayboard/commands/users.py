"""`relayboard user create|list|show|change|remove`."""

from typing import Any

import orjson

from persistence.accounts.accounts import Ended, read_account
from persistence.database import Transaction
from persistence.lists import ListQuery, read_list
from persistence.users import USERS, add_member, change_role, remove_member
from persistence.workspaces import Workspace
from relayboard.commands.output import CommandFailed, print_json, print_record, print_records, reading_in, writing_in
from relayboard.commands.sessions import tell_of_ended
from relayboard.usage.parts import Options


def run_create(options: Options) -> None:
    with writing_in(options) as (tx, workspace):
        names = {"first_name": options.first_name, "last_name": options.last_name}
        joined = add_member(tx, workspace.id, options.email, options.role, **names)
        record = _read(tx, workspace, options.email)
        found = read_account(tx, joined.id)
    if joined.ended is not None:
        tell_of_ended(found.email)
    print_json(record | {"workspace": workspace.uuid} | _show(joined.ended))


def _show(ended: Ended | None) -> dict[str, Any]:
    if ended is None:
        return {}
    lost = {"two_factor": ended.two_factor, "sessions": ended.sessions, "tokens": ended.tokens}
    return {"ended": {"password": True, **lost}}


def run_list(options: Options) -> None:
    with reading_in(options) as (tx, workspace):
        records = read_list(ListQuery(tx, workspace), USERS)
    print_records(records)


def run_show(options: Options) -> None:
    with reading_in(options) as (tx, workspace):
        found = read_list(ListQuery(tx, workspace, {"email": [options.email.strip()]}), USERS)
    if not found:
        raise CommandFailed(f"{options.email} is not a user of this workspace")
    print_record(found[0])


def run_change(options: Options) -> None:
    with writing_in(options) as (tx, workspace):
        change_role(tx, workspace.id, options.email, options.role)
        record = _read(tx, workspace, options.email)
    print_json(record)


def run_remove(options: Options) -> None:
    with writing_in(options) as (tx, workspace):
        remove_member(tx, workspace.id, options.email)
    print_json({"removed": options.email})


def _read(tx: Transaction, workspace: Workspace, email: str) -> dict[str, Any]:
    (record,) = read_list(ListQuery(tx, workspace, {"email": [email.strip()]}), USERS)
    found: dict[str, Any] = orjson.loads(record)
    return found
