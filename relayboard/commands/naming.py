"""One resolver for all options that name a record: by UUID, by name, or by the address of a contact."""

from persistence.channels.channels import find_channel_workspace, find_channels_named
from persistence.contacts.finding import find_contacts_called
from persistence.database import Transaction
from persistence.lists import ListQuery, find_named, find_record
from persistence.sql.columns import is_uuid
from persistence.workspaces import Workspace, list_workspaces
from relayboard.commands.output import CommandFailed, opened_database, workspace_named
from relayboard.commands.records import kind_of
from relayboard.usage.parts import LISTS, Options


def resolve_names(options: Options, nouns: dict[str, str]) -> None:
    """Puts the UUIDs of records in place of their names; `nouns` says which option names what. Raises CommandFailed for
    a name that nothing has, or several. What a list is limited to must exist by its UUID too: an empty list would say
    that it has no records. Other commands look their records up themselves.
    """
    is_list = options.action in LISTS
    named = {
        name: noun
        for name, noun in nouns.items()
        if is_list or any(not is_uuid(each) for each in _texts(options, name))
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
    """The UUID of the record of this kind. Raises CommandFailed for a name that nothing or several have, and for a UUID
    of nothing where the record must exist.
    """
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


def _is_there(tx: Transaction, workspace: Workspace, noun: str, uuid: str) -> bool:
    """Whether the workspace has the record; a channel stays one of its channels when it is released."""
    if noun == "channel":
        return find_channel_workspace(tx, uuid) == workspace.id
    return find_record(ListQuery(tx, workspace), kind_of(noun).spec, "uuid", uuid) is not None


def _find(tx: Transaction, workspace: Workspace, noun: str, text: str) -> list[str]:
    if noun == "contact":
        return find_contacts_called(tx, workspace, text)
    if noun == "channel":
        return find_channels_named(tx, workspace.id, text)
    uuid = find_named(ListQuery(tx, workspace), kind_of(noun).spec, text)
    return [] if uuid is None else [uuid]
