"""Which trigger an incoming message pulls (flow format, incoming messages). A keyword comes before the flow in which
the sender waits, unless that flow ignores triggers; the other types come after it, and a new conversation before
catch-all. Of several triggers that fit, the most specific one wins: one of the channel weighs more than one of a
group, and this more than one that excludes groups; of equals the newest.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Executable, select

from flows.environment import Environment
from flows.words import collate, collated_tokens
from persistence.channels.channels import SEEN_UUID
from persistence.contacts.urns import environment_of
from persistence.database import Transaction
from persistence.messages.incoming import has_written
from persistence.sessions.sessions import load_waiting
from persistence.statements import statement
from persistence.tables.campaigns import FIRST_WORD, trigger, trigger_group
from persistence.tables.contacts import ACTIVE, STOPPED, contact, group, group_membership
from persistence.tables.flows import flow
from persistence.triggers.records import CATCH_ALL, KEYWORD, NEW_CONVERSATION, SOURCE
from persistence.workspaces.records import Workspace

CHANNEL_POINTS, GROUP_POINTS, EXCLUSION_POINTS = 4, 2, 1
OTHER_EVENT, NOT_NEW = "other_event", "not_new"
OTHER_CHANNEL, NOT_IN_GROUPS, IN_EXCLUDED_GROUP = "other_channel", "not_in_groups", "in_excluded_group"
OTHER_WORD, MORE_WORDS = "other_word", "more_words"
FLOW_IGNORES_TRIGGERS, WAITS_IN_FLOW = "flow_ignores_triggers", "waits_in_flow"
NOT_ACTIVE, OUTRANKED = "not_active", "outranked"
"""Why a trigger is not pulled, in the order in which it is asked."""
TO_TRIGGER, TO_FLOW, TO_INBOX = "trigger", "flow", "inbox"


@dataclass(frozen=True, slots=True)
class Sender:
    """What triggers ask about who writes: the UUIDs of groups, whether a conversation begins, and whether the flow in
    which the sender waits ignores triggers (None: waits in none).
    """

    groups: Collection[str] = ()
    is_new: bool = False
    waiting: bool | None = None


@dataclass(frozen=True, slots=True)
class Trigger:
    """An active trigger, with what messages and channel events are compared with."""

    id: int
    uuid: str
    type: str
    flow_uuid: str
    flow_name: str
    keywords: Sequence[str]
    match: str
    channel_uuid: str | None
    group_uuids: tuple[str, ...] = ()
    excluded_group_uuids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Match:
    """The trigger that a message pulls, and the keyword in it."""

    trigger: Trigger
    keyword: str | None = None


def choose_for_message(
    triggers: Sequence[Trigger], environment: Environment, sender: Sender, channel_uuid: str | None, text: str
) -> Match | None:
    """The trigger that a message of an active contact pulls, if one does."""
    if sender.waiting:
        return None
    found = choose_keyword_trigger(triggers, environment, sender.groups, channel_uuid, text)
    if found is not None:
        return Match(*found)
    if sender.waiting is not None:
        return None
    chosen = choose_trigger(triggers, message_kinds(sender.is_new), sender.groups, channel_uuid)
    return None if chosen is None else Match(chosen)


def choose_keyword_trigger(
    triggers: Iterable[Trigger], environment: Environment, groups: Collection[str], channel_uuid: str | None, text: str
) -> tuple[Trigger, str] | None:
    """The most specific trigger whose keyword is the first word of the message, or the only one, and that keyword."""
    words = [form for _, form in collated_tokens(environment, text)]
    found = [
        (trigger, keyword)
        for trigger in triggers
        if trigger.type == KEYWORD and _find_hindrance(trigger, groups, channel_uuid) is None
        for keyword in _find_keywords(trigger, environment, words)
        if trigger.match == FIRST_WORD or len(words) == 1
    ]
    return max(found, key=lambda pair: _specificity(pair[0])) if found else None


def choose_trigger(
    triggers: Iterable[Trigger], kinds: Sequence[str], groups: Collection[str], channel_uuid: str | None
) -> Trigger | None:
    """The most specific trigger for a contact in these groups and a channel, of the first of these types that has
    one.
    """
    fitting = [each for each in triggers if each.type in kinds and _find_hindrance(each, groups, channel_uuid) is None]
    return max(fitting, key=lambda each: (-kinds.index(each.type), _specificity(each)), default=None)


def message_kinds(is_new: bool) -> tuple[str, ...]:
    """The types of triggers that match a message without a keyword, the most specific first."""
    return (NEW_CONVERSATION, CATCH_ALL) if is_new else (CATCH_ALL,)


@dataclass(frozen=True, slots=True)
class Trial:
    """What a message would do, and why it would not pull each of the other active triggers, the newest first."""

    outcome: str
    match: Match | None
    contact_uuid: str | None
    others: Sequence[tuple[Trigger, str]]


def try_message(
    tx: Transaction, workspace: Workspace, text: str, contact_id: int | None, channel_uuid: str | None
) -> Trial:
    """What a message would do now, from a contact or from a stranger; nothing is stored."""
    triggers, environment = load_triggers(tx, workspace.id), environment_of(workspace)
    sender, contact_uuid, is_active = Sender(is_new=True), None, True
    if contact_id is not None:
        columns = (contact.c.uuid, contact.c.status)
        mine = (contact.c.workspace_id == workspace.id) & (contact.c.id == contact_id)
        contact_uuid, status = tx.execute(select(*columns).where(mine)).one()
        is_active = status in (ACTIVE, STOPPED)  # a message makes a stopped contact active
        session = load_waiting(tx, workspace.id, [contact_id]).get(contact_id)
        sender = Sender(
            load_groups(tx, workspace.id, [contact_id]).get(contact_id, set()),
            is_new=not has_written(tx, workspace.id, contact_id),
            waiting=None if session is None else session.ignores_triggers,
        )
    match = choose_for_message(triggers, environment, sender, channel_uuid, text) if is_active else None
    others = [
        (each, _explain(each, environment, sender, channel_uuid, text) if is_active else NOT_ACTIVE)
        for each in reversed(triggers)
        if match is None or each is not match.trigger
    ]
    waits = is_active and sender.waiting is not None
    return Trial(TO_TRIGGER if match else TO_FLOW if waits else TO_INBOX, match, contact_uuid, others)


def load_groups(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> dict[int, set[str]]:
    """The UUIDs of the groups of contacts; one statement."""
    links = group_membership.c
    statement = select(links.contact_id, group.c.uuid).join(group, group.c.id == links.group_id)
    mine = (group.c.workspace_id == workspace_id) & links.contact_id.in_(contact_ids)
    found: dict[int, set[str]] = {}
    for contact_id, uuid in tx.execute(statement.where(mine)):
        found.setdefault(contact_id, set()).add(uuid)
    return found


def _explain(trigger: Trigger, environment: Environment, sender: Sender, channel_uuid: str | None, text: str) -> str:
    """Why a message does not pull a trigger, by the rules that choose the one that it pulls."""
    if trigger.type not in (KEYWORD, *message_kinds(is_new=True)):
        return OTHER_EVENT
    if trigger.type not in (KEYWORD, *message_kinds(sender.is_new)):
        return NOT_NEW
    hindrance = _find_hindrance(trigger, sender.groups, channel_uuid)
    if hindrance is not None:
        return hindrance
    if trigger.type == KEYWORD:
        words = [form for _, form in collated_tokens(environment, text)]
        if not _find_keywords(trigger, environment, words):
            return OTHER_WORD
        if trigger.match != FIRST_WORD and len(words) > 1:
            return MORE_WORDS
    if sender.waiting:
        return FLOW_IGNORES_TRIGGERS
    return WAITS_IN_FLOW if sender.waiting is not None and trigger.type != KEYWORD else OUTRANKED


def _find_keywords(trigger: Trigger, environment: Environment, words: Sequence[str]) -> list[str]:
    """The keywords of a trigger that are the first of these words."""
    return [each for each in trigger.keywords if words and collate(environment, each) == words[0]]


def _find_hindrance(trigger: Trigger, groups: Collection[str], channel_uuid: str | None) -> str | None:
    """Why a trigger is not for a contact in these groups and a channel."""
    if trigger.channel_uuid not in (None, channel_uuid):
        return OTHER_CHANNEL
    if trigger.group_uuids and not set(groups) & set(trigger.group_uuids):
        return NOT_IN_GROUPS
    return IN_EXCLUDED_GROUP if set(groups) & set(trigger.excluded_group_uuids) else None


def _specificity(trigger: Trigger) -> tuple[int, int]:
    """Points of specificity; among equals the newest trigger wins."""
    points = CHANNEL_POINTS if trigger.channel_uuid else 0
    points += GROUP_POINTS if trigger.group_uuids else 0
    points += EXCLUSION_POINTS if trigger.excluded_group_uuids else 0
    return points, trigger.id


def load_triggers(tx: Transaction, workspace_id: int) -> list[Trigger]:
    """The active triggers of a workspace whose flow is not archived, oldest first; two statements."""
    found = [Trigger(*row) for row in _select_triggers.rows(tx, workspace_id)]
    groups = _load_groups(tx, workspace_id) if found else {}
    return [
        replace(
            each,
            group_uuids=tuple(groups.get((each.id, False), ())),
            excluded_group_uuids=tuple(groups.get((each.id, True), ())),
        )
        for each in found
    ]


def _load_groups(tx: Transaction, workspace_id: int) -> dict[tuple[int, bool], list[str]]:
    found: dict[tuple[int, bool], list[str]] = {}
    for trigger_id, is_excluded, uuid in _select_groups.rows(tx, workspace_id):
        found.setdefault((trigger_id, is_excluded), []).append(uuid)
    return found


@statement
def _select_triggers(workspace_id: int) -> Executable:
    rows = trigger.c
    columns = (rows.id, rows.uuid, rows.type, flow.c.uuid, flow.c.name, rows.keywords, rows.match, SEEN_UUID)
    mine = (rows.workspace_id == workspace_id) & ~rows.is_archived & ~flow.c.is_archived
    return select(*columns).select_from(SOURCE).where(mine).order_by(rows.id)


@statement
def _select_groups(workspace_id: int) -> Executable:
    return (
        select(trigger_group.c.trigger_id, trigger_group.c.is_excluded, group.c.uuid)
        .join(trigger, trigger.c.id == trigger_group.c.trigger_id)
        .join(group, group.c.id == trigger_group.c.group_id)
        .where(trigger.c.workspace_id == workspace_id, ~trigger.c.is_archived)
        .order_by(group.c.id)
    )
