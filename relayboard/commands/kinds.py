"""The kinds of records that have the commands `list`, `show`, `create`, `change` and `delete`: a table, of which each
command loads only its own kind. What takes long to load is imported inside the functions.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import orjson

from persistence.database import Transaction
from persistence.errors import RecordMissing
from persistence.lists import ListQuery, ListSpec, find_record
from persistence.workspaces.records import Workspace
from relayboard.refusal import CommandFailed
from relayboard.usage.parts import Options

if TYPE_CHECKING:
    from persistence.teams import TeamForm

Write = Callable[[Transaction, Workspace, Options], int]
"""Creates or changes the record of the options; returns its id. Raises RecordMissing for one that is not there."""
Delete = Callable[[Transaction, Workspace, str], None]


@dataclass(frozen=True, slots=True)
class Kind:
    """Where the list of a kind of record is declared, the attribute that names a record (its UUID, or the key of fields
    and globals), and what can be done with it beside reading it.
    """

    declared: str
    key: str = "uuid"
    create: Write | None = None
    change: Write | None = None
    delete: Delete | None = None

    @property
    def spec(self) -> ListSpec:
        spec: ListSpec = _load(self.declared)
        return spec


def _load(name: str) -> Any:
    module, _, name = name.rpartition(".")
    return getattr(import_module(module), name)


def _created(function: str) -> Write:
    """Records that begin with a name and nothing else."""
    return lambda tx, workspace, given: int(_load(function)(tx, workspace.id, given.name))


def _renamed(function: str) -> Write:
    return lambda tx, workspace, given: int(_load(function)(tx, workspace.id, given.uuid, given.name))


def _deleted(function: str) -> Delete:
    def delete(tx: Transaction, workspace: Workspace, key: str) -> None:
        _load(function)(tx, workspace.id, key)

    return delete


def _present(tx: Transaction, workspace: Workspace, spec: ListSpec, name: str, value: str) -> dict[str, Any]:
    record = find_record(ListQuery(tx, workspace), spec, name, value)
    if record is None:
        raise RecordMissing
    present: dict[str, Any] = orjson.loads(record)
    return present


def _create_campaign(tx: Transaction, workspace: Workspace, given: Options) -> int:
    from persistence.campaigns.records import create_campaign, find_any_group

    return create_campaign(tx, workspace.id, given.name, find_any_group(tx, workspace.id, given.group, field="group"))


def _change_campaign(tx: Transaction, workspace: Workspace, given: Options) -> int:
    from persistence.campaigns.records import CAMPAIGNS, change_campaign, find_any_group

    present = _present(tx, workspace, CAMPAIGNS, "uuid", given.uuid)
    group_id = find_any_group(tx, workspace.id, given.group or present["group"]["uuid"], field="group")
    return change_campaign(tx, workspace.id, given.uuid, given.name or present["name"], group_id)


def _create_classifier(tx: Transaction, workspace: Workspace, given: Options) -> int:
    from persistence.classifiers import create_classifier

    return create_classifier(tx, workspace.id, given.name, given.type, given.intent)


def _change_classifier(tx: Transaction, workspace: Workspace, given: Options) -> int:
    from persistence.classifiers import change_classifier

    return change_classifier(tx, workspace.id, given.uuid, given.name, given.intent or None)


def _create_field(tx: Transaction, workspace: Workspace, given: Options) -> int:
    from persistence.fields import create_field

    return create_field(tx, workspace.id, given.name, given.type, access=given.agents)


def _change_field(tx: Transaction, workspace: Workspace, given: Options) -> int:
    from persistence.fields import FIELDS, change_field

    present = _present(tx, workspace, FIELDS, "key", given.key)
    return change_field(tx, workspace.id, given.key, given.name or present["name"], given.type or present["type"])


def _delete_field(tx: Transaction, workspace: Workspace, key: str) -> None:
    from persistence.fields import delete_field

    delete_field(tx, workspace, key)


def _create_global(tx: Transaction, workspace: Workspace, given: Options) -> int:
    from persistence.globals import create_global
    from relayboard.commands.secret_input import given_text

    return create_global(tx, workspace.id, given.name, given_text(given, "value") or "")


def _change_global(tx: Transaction, workspace: Workspace, given: Options) -> int:
    from persistence.globals import GLOBALS, change_global
    from relayboard.commands.secret_input import given_text

    stays = str(_present(tx, workspace, GLOBALS, "key", given.key)["value"])
    value = given_text(given, "value")
    return change_global(tx, workspace.id, given.key, stays if value is None else value, given.name)


def _create_group(tx: Transaction, workspace: Workspace, given: Options) -> int:
    if given.query is None:
        from persistence.groups.groups import create_group

        return create_group(tx, workspace.id, given.name)
    from persistence.groups.smart_groups import create_query_group

    return create_query_group(tx, workspace, given.name, given.query, sees_urns=True)


def _create_team(tx: Transaction, workspace: Workspace, given: Options) -> int:
    from persistence.teams import create_team

    return create_team(tx, workspace.id, given.name, _read_team(tx, workspace, given))


def _change_team(tx: Transaction, workspace: Workspace, given: Options) -> int:
    from persistence.teams import TEAMS, change_team

    name = given.name or _present(tx, workspace, TEAMS, "uuid", given.uuid)["name"]
    return change_team(tx, workspace.id, given.uuid, name, _read_team(tx, workspace, given))


def _read_team(tx: Transaction, workspace: Workspace, given: Options) -> "TeamForm":
    """What was given of a team; its users must have a role in the workspace."""
    from persistence.teams import TeamForm
    from persistence.users import find_member_uuid

    found = [(email, find_member_uuid(tx, workspace.id, email)) for email in given.member]
    for email, uuid in found:
        if uuid is None:
            raise CommandFailed(f"{email} is not a user of this workspace")
    members = [uuid for _, uuid in found if uuid is not None]
    in_turn = None if given.in_turn is None else given.in_turn == "yes"
    return TeamForm(topics=given.topic or None, members=members or None, assigns_in_turn=in_turn)


def _create_template(tx: Transaction, workspace: Workspace, given: Options) -> int:
    from persistence.templates import Translation, set_translation

    translation = Translation(given.channel, given.locale, given.content, given.namespace, given.status)
    return set_translation(tx, workspace.id, given.name, translation)


def _create_ticketer(tx: Transaction, workspace: Workspace, given: Options) -> int:
    from persistence.tickets.ticketers import create_ticketer

    return create_ticketer(tx, workspace.id, given.name, given.type)


def _change_ticket(tx: Transaction, workspace: Workspace, given: Options) -> int:
    from persistence.sql.columns import is_uuid
    from persistence.tables.contacts import CLOSED, OPEN
    from persistence.tickets import actions
    from persistence.tickets.records import find_assignee
    from persistence.tickets.topics import find_topic

    if not is_uuid(given.uuid):
        raise RecordMissing
    chosen = actions.choose_tickets(tx, workspace.id, [given.uuid])
    if given.assignee is not None or given.unassign:
        assignee_id = None if given.unassign else find_assignee(tx, workspace.id, given.assignee)
        actions.assign_tickets(tx, workspace.id, chosen, assignee_id, None)
    if given.topic is not None:
        topic_id = find_topic(tx, workspace.id, given.topic) if is_uuid(given.topic) else None
        if topic_id is None:
            raise CommandFailed(f"there is no topic {given.topic}")
        actions.change_topic(tx, workspace, chosen, topic_id, None)
        chosen = actions.choose_tickets(tx, workspace.id, [given.uuid])
    if given.status == CLOSED:
        actions.close_tickets(tx, workspace, chosen, None)
    elif given.status == OPEN and chosen[0].status == CLOSED and actions.reopen_tickets(tx, workspace, chosen, None):
        raise CommandFailed("the contact has another open ticket")
    return chosen[0].id


KINDS = {
    "broadcast": Kind(
        "persistence.broadcasts.records.BROADCASTS", delete=_deleted("persistence.broadcasts.forms.delete_draft")
    ),
    "campaign": Kind("persistence.campaigns.records.CAMPAIGNS", create=_create_campaign, change=_change_campaign),
    "classifier": Kind("persistence.classifiers.CLASSIFIERS", create=_create_classifier, change=_change_classifier),
    "contact": Kind("persistence.contacts.records.CONTACTS"),
    "field": Kind("persistence.fields.FIELDS", "key", create=_create_field, change=_change_field, delete=_delete_field),
    "flow": Kind("persistence.flows.records.FLOWS"),
    "global": Kind(
        "persistence.globals.GLOBALS",
        "key",
        create=_create_global,
        change=_change_global,
        delete=_deleted("persistence.globals.delete_global"),
    ),
    "group": Kind(
        "persistence.groups.groups.GROUPS",
        create=_create_group,
        change=_renamed("persistence.groups.groups.rename_group"),
        delete=_deleted("persistence.groups.groups.delete_group"),
    ),
    "label": Kind(
        "persistence.labels.LABELS",
        create=_created("persistence.labels.create_label"),
        change=_renamed("persistence.labels.rename_label"),
        delete=_deleted("persistence.labels.delete_label"),
    ),
    "message": Kind("persistence.messages.records.MESSAGES"),
    "optin": Kind(
        "persistence.optins.OPTINS",
        create=_created("persistence.optins.create_optin"),
        change=_renamed("persistence.optins.rename_optin"),
        delete=_deleted("persistence.optins.delete_optin"),
    ),
    "resthook": Kind(
        "persistence.resthooks.RESTHOOKS", "slug", delete=_deleted("persistence.resthooks.delete_resthook")
    ),
    "start": Kind("persistence.flow_starts.flow_starts.STARTS"),
    "team": Kind(
        "persistence.teams.TEAMS",
        create=_create_team,
        change=_change_team,
        delete=_deleted("persistence.teams.delete_team"),
    ),
    "template": Kind("persistence.templates.TEMPLATES", create=_create_template),
    "ticketer": Kind(
        "persistence.tickets.ticketers.TICKETERS",
        create=_create_ticketer,
        change=_renamed("persistence.tickets.ticketers.rename_ticketer"),
    ),
    "ticket": Kind("persistence.tickets.records.TICKETS", change=_change_ticket),
    "topic": Kind(
        "persistence.tickets.topics.TOPICS",
        create=_created("persistence.tickets.topics.create_topic"),
        change=_renamed("persistence.tickets.topics.rename_topic"),
        delete=_deleted("persistence.tickets.topics.delete_topic"),
    ),
    "trigger": Kind("persistence.triggers.records.TRIGGERS"),
}
