"""What is copied, in this order: what others refer to comes first."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from persistence.database import Transaction
from persistence.move import moves
from persistence.move.contacts import write_contacts
from persistence.move.history import write_broadcasts, write_events, write_messages, write_starts
from persistence.move.moves import Move
from persistence.move.runs import write_runs, write_tickets
from persistence.move.setup import (
    write_channels,
    write_classifiers,
    write_fields,
    write_globals,
    write_groups,
    write_labels,
    write_optins,
    write_resthooks,
    write_subscribers,
    write_templates,
    write_topics,
    write_users,
)
from relayboard.move import reading
from relayboard.move.source import SourceFailed

Record = dict[str, Any]
Write = Callable[[Transaction, Move, Sequence[Record]], None]

CHANGED, CREATED = "modified_on", "created_on"
MARGIN = timedelta(minutes=5)
"""Clocks differ, and transactions end late: what changed shortly before the last pass is read again."""
SETTLING = timedelta(days=3)
"""Lists by time of creation do not show what changed: the newest records are read again while they may still change."""


@dataclass(frozen=True, slots=True)
class Kind:
    """Records of one list. `moment` is the time by which the list can be limited (`after`), None if it is read whole
    in each pass. `people` are the places of contacts in a record, which are carried before it. `is_newest_first` lists
    are in the order of that time on all servers."""

    name: str
    title: str
    path: str
    read: Callable[[reading.Raw], Record]
    write: Write | None
    moment: str | None = None
    people: tuple[str, ...] = ()
    is_newest_first: bool = False

    def records(self, page: Sequence[reading.Raw]) -> list[Record]:
        """The records of a page. Raises SourceFailed for one that has another shape than all servers give it."""
        try:
            return [record for each in page if (record := self.read(each))["reference"]]
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise SourceFailed(f"the other server gives a record in its list of {self.title} another shape") from error

    @property
    def overlap(self) -> timedelta:
        return SETTLING if self.moment == CREATED else MARGIN


def _write_contacts(tx: Transaction, move: Move, records: Sequence[Record]) -> None:
    is_first = not move.state.get("kinds", {}).get(moves.CONTACT, {}).get("since")
    write_contacts(tx, move, records, is_first=is_first)


KINDS = (
    Kind(moves.USER, "users", "users", reading.read_user, write_users),
    Kind(moves.CHANNEL, "channels", "channels", reading.read_named, write_channels),
    Kind(moves.FIELD, "fields", "fields", reading.read_field, write_fields),
    Kind(moves.GLOBAL, "globals", "globals", reading.read_global, write_globals),
    Kind(moves.GROUP, "groups", "groups", reading.read_group, write_groups),
    Kind(moves.LABEL, "labels", "labels", reading.read_named, write_labels),
    Kind(moves.TOPIC, "topics", "topics", reading.read_named, write_topics),
    Kind(moves.OPTIN, "opt-ins", "optins", reading.read_named, write_optins),
    Kind(moves.CLASSIFIER, "classifiers", "classifiers", reading.read_named, write_classifiers),
    Kind(moves.RESTHOOK, "resthooks", "resthooks", reading.read_resthook, write_resthooks),
    Kind(moves.SUBSCRIBER, "resthook subscribers", "resthook_subscribers", reading.read_subscriber, write_subscribers),
    Kind(moves.TEMPLATE, "templates", "templates", reading.read_template, write_templates),
    Kind(moves.FLOW, "flows", "flows", reading.read_flow, None, CHANGED),
    Kind(moves.CAMPAIGN, "campaigns", "campaigns", reading.read_campaign, None),
    Kind(moves.CONTACT, "contacts", "contacts", reading.read_contact, _write_contacts, CHANGED, is_newest_first=True),
    Kind(moves.TICKET, "tickets", "tickets", reading.read_ticket, write_tickets, None, ("contact",)),
    Kind(
        moves.BROADCAST,
        "broadcasts",
        "broadcasts",
        reading.read_broadcast,
        write_broadcasts,
        CREATED,
        ("contacts",),
    ),
    Kind(
        moves.MESSAGE,
        "messages",
        "messages",
        reading.read_message,
        write_messages,
        CREATED,
        ("contact",),
        is_newest_first=True,
    ),
    Kind(
        moves.START,
        "flow starts",
        "flow_starts",
        reading.read_start,
        write_starts,
        CHANGED,
        ("contacts",),
    ),
    Kind(moves.RUN, "runs", "runs", reading.read_run, write_runs, CHANGED, ("contact",), is_newest_first=True),
    Kind(
        moves.EVENT,
        "channel events",
        "channel_events",
        reading.read_event,
        write_events,
        CREATED,
        ("contact",),
    ),
    Kind(moves.ARCHIVE, "archives", "archives", reading.read_archive, None),
)
CAMPAIGN_EVENTS = Kind(moves.CAMPAIGN_EVENT, "campaign events", "campaign_events", reading.read_campaign_event, None)
"""They come with the definitions of campaigns, and are only compared."""
COMPARED = tuple(
    each for kind in KINDS for each in ((kind, CAMPAIGN_EVENTS) if kind.name == moves.CAMPAIGN else (kind,))
)
BY_NAME = {kind.name: kind for kind in KINDS}


def people_of(kind: Kind, records: Sequence[Record]) -> set[str]:
    """The UUIDs of the contacts that these records refer to."""
    found: set[str] = set()
    for each in records:
        for place in kind.people:
            given = each[place]
            found.update(given if isinstance(given, list) else [given] if given else [])
    return found


def writing(kind: Kind, move: Move, records: Sequence[Record]) -> Callable[[Transaction], None]:
    """What writes these records in a unit of work."""
    assert kind.write is not None
    write = kind.write
    return lambda tx: write(tx, move, records)
