"""Which trigger matches a message or an event of a channel (flow format, incoming messages)."""

from collections.abc import Iterable, Sequence

from flows.engine import Contact
from flows.environment import Environment
from flows.words import collate, collated_tokens
from persistence.tables.triggers import FIRST_WORD
from persistence.triggers.triggers import CATCH_ALL, KEYWORD, NEW_CONVERSATION, Trigger

CHANNEL_POINTS, GROUP_POINTS, EXCLUSION_POINTS = 4, 2, 1


def choose_keyword_trigger(
    triggers: Iterable[Trigger], environment: Environment, contact: Contact, channel_uuid: str | None, text: str
) -> tuple[Trigger, str] | None:
    """The most specific trigger whose keyword is the first word of the message, or the only one, and that keyword."""
    words = [form for _, form in collated_tokens(environment, text)]
    if not words:
        return None
    found = [
        (trigger, keyword)
        for trigger in triggers
        if trigger.type == KEYWORD and _is_for(trigger, contact, channel_uuid)
        for keyword in trigger.keywords
        if collate(environment, keyword) == words[0] and (trigger.match == FIRST_WORD or len(words) == 1)
    ]
    return max(found, key=lambda pair: _specificity(pair[0])) if found else None


def choose_trigger(
    triggers: Iterable[Trigger], kinds: Sequence[str], contact: Contact, channel_uuid: str | None
) -> Trigger | None:
    """The most specific trigger for this contact and channel, of the first of these types that has one."""
    candidates = [trigger for trigger in triggers if trigger.type in kinds and _is_for(trigger, contact, channel_uuid)]
    return max(candidates, key=lambda each: (-kinds.index(each.type), _specificity(each)), default=None)


def message_kinds(is_new: bool) -> tuple[str, ...]:
    """The types of triggers that match a message without a keyword, the most specific first."""
    return (NEW_CONVERSATION, CATCH_ALL) if is_new else (CATCH_ALL,)


def _is_for(trigger: Trigger, contact: Contact, channel_uuid: str | None) -> bool:
    groups = set(contact.groups)
    return (
        trigger.channel_uuid in (None, channel_uuid)
        and (not trigger.group_uuids or bool(groups & set(trigger.group_uuids)))
        and not groups & set(trigger.excluded_group_uuids)
    )


def _specificity(trigger: Trigger) -> tuple[int, int]:
    """Points of specificity; among equals the newest trigger wins."""
    points = CHANNEL_POINTS if trigger.channel_uuid else 0
    points += GROUP_POINTS if trigger.group_uuids else 0
    points += EXCLUSION_POINTS if trigger.excluded_group_uuids else 0
    return points, trigger.id
