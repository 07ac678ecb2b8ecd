"""One resolver for all options that name a record: by UUID, by name, by the key of a field, or by an address."""

from persistence.accounts.accounts import find_account
from persistence.channels.channels import find_channel_workspace, find_channels_named
from persistence.contacts.owners import find_contacts_called
from persistence.database import Transaction
from persistence.lists import ListQuery, find_named, find_record
from persistence.resthooks import is_subscriber
from persistence.sql.columns import is_uuid
from persistence.users import find_members_called
from persistence.workspaces.records import Workspace, list_workspaces
from relayboard.commands.kinds import KINDS
from relayboard.commands.output import CommandFailed, opened_database, workspace_named
from relayboard.usage.parts import LISTS, Options

USER, RECEIVER = "user", "receiver"
LONGEST_ID = 18
"""Digits of a number that the database can hold."""


def resolve_names(options: Options, nouns: dict[str, str]) -> None:
    """Puts the UUIDs of records in place of their names; `nouns` says which option names what. Raises CommandFailed for
    a name that nothing has, or several. What a list is limited to must exist by its UUID too: an empty list would say
    that it has no records. Other commands look their records up themselves.
    """
    is_list = options.action in LISTS
    named = {
        name: noun
        for name, noun in nouns.items()
        if is_list or noun == USER or any(not is_uuid(each) for each in _texts(options, name))
    }
    if not named:
        return
    with opened_database() as database, database.reading() as tx:
        given = getattr(options, "workspace", None)
        workspaces = [workspace_named(tx, given)] if given else list_workspaces(tx)
        for name, noun in named.items():
            found = [resolve_name(tx, workspaces, noun, text, must_exist=is_list) for text in _texts(options, name)]
            setattr(options, name, found if isinstance(getattr(options, name), list) else found[0])


def _texts(options: Options, name: str) -> list[str]:
    value = getattr(options, name)
    return value if isinstance(value, list) else [] if value is None else [value]


def resolve_name(
    tx: Transaction, workspaces: list[Workspace], noun: str, text: str, *, must_exist: bool = False
) -> str:
    """The UUID of the record of this kind, the key of a field, the address of a user, or the id of a subscriber. Raises
    CommandFailed for a name that nothing or several have, and for a UUID of nothing where the record must exist.
    """
    if noun == USER:
        return _resolve_user(tx, workspaces, text)
    if is_uuid(text):
        if must_exist and not any(_is_there(tx, each, noun, text) for each in workspaces):
            raise CommandFailed(f"there is no {noun} {text}")
        return text
    found = list(dict.fromkeys(uuid for each in workspaces for uuid in _find(tx, each, noun, text)))
    if not found:
        raise CommandFailed(f'there is no {noun} "{text}"')
    if len(found) > 1:
        raise CommandFailed(f'several have the name "{text}", say which {noun} by its UUID: {", ".join(found)}')
    return found[0]


def _resolve_user(tx: Transaction, workspaces: list[Workspace], text: str) -> str:
    """The address of a user. One who has an account and left the workspace is named by the address only, as in the
    audit log; what such a user can do is a question for the command."""
    found = list(dict.fromkeys(email for each in workspaces for email in find_members_called(tx, each.id, text)))
    if not text.strip():  # people without a name
        raise CommandFailed(f'there is no user "{text}"')
    if len(found) > 1:
        raise CommandFailed(f'several have the name "{text}", say which user by the address: {", ".join(found)}')
    if not found and find_account(tx, text) is None:
        raise CommandFailed(f'there is no user "{text}"')
    return found[0] if found else text


def _is_there(tx: Transaction, workspace: Workspace, noun: str, uuid: str) -> bool:
    """Whether the workspace has the record; a channel stays one of its channels when it is released."""
    if noun in ("channel", RECEIVER):
        return find_channel_workspace(tx, uuid) == workspace.id
    return find_record(ListQuery(tx, workspace), KINDS[noun].spec, "uuid", uuid) is not None


def _find(tx: Transaction, workspace: Workspace, noun: str, text: str) -> list[str]:
    if noun == "contact":
        return find_contacts_called(tx, workspace, text)
    if noun == RECEIVER and text.isascii() and text.isdecimal():
        return [text] if len(text) < LONGEST_ID and is_subscriber(tx, workspace.id, int(text)) else []
    if noun in ("channel", RECEIVER):
        return find_channels_named(tx, workspace.id, text)
    kind = KINDS[noun]
    if kind.key != "uuid" and find_record(ListQuery(tx, workspace), kind.spec, kind.key, text) is not None:
        return [text.lower()]
    if "name_key" not in kind.spec.table.c:
        raise CommandFailed(f'there is no {noun} "{text}": name it by its UUID')
    found = find_named(ListQuery(tx, workspace), kind.spec, text, kind.key)
    return [] if found is None else [found]
