"""What follows from changes of messages, broadcasts and channels: the time of the change, by the clock of the workspace
(`persistence.stamps`), and the conversations of the messages' contacts. Both are written at the end of the unit of
work, while the workspace's clock is locked: a conversation therefore shows what is visible once this unit is committed,
whatever other units do meanwhile.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from sqlalchemy import Table

from persistence.database import Transaction
from persistence.stamps import Stamps

MESSAGE = "message"
"""The kind of messages: the name of their table."""


@dataclass(slots=True)
class Noted:
    """Changed records of a workspace: ids by kind, new messages by UUID, the messages that change conversations, what
    runs did, by flow, kind, key and value, and failed attempts to send, by channel.
    """

    ids: dict[str, set[int]] = field(default_factory=dict)
    new_messages: set[str] = field(default_factory=set)
    moved: set[int] = field(default_factory=set)
    flows: Counter[tuple[int, str, str, str]] = field(default_factory=Counter)
    errors: Counter[int] = field(default_factory=Counter)


class Changes:
    """The changes of one unit of work."""

    is_last = True

    def __init__(self) -> None:
        self._noted: dict[int, Noted] = {}

    def of(self, tx: Transaction, workspace_id: int) -> Noted:
        tx.before_commit(Stamps).hold_clock(workspace_id)
        return self._noted.setdefault(workspace_id, Noted())

    def flush(self, tx: Transaction) -> None:
        """Writes the times and the conversations, workspace by workspace in the order of ids."""
        noted, self._noted = self._noted, {}
        stamps = tx.before_commit(Stamps)
        if not noted:
            return
        from persistence.change_effects import write_effects  # noqa: PLC0415  # most commands change no such record

        stamps.flush(tx)
        for workspace_id, found in sorted(noted.items(), key=lambda item: item[0]):
            write_effects(tx, workspace_id, found, stamps.moment(tx, workspace_id))


def note_changed(tx: Transaction, table: Table, workspace_id: int, ids: Iterable[int]) -> None:
    """Records of a table changed that are not listed by this time otherwise."""
    found = set(ids)
    if found:
        tx.before_commit(Changes).of(tx, workspace_id).ids.setdefault(table.name, set()).update(found)


def note_messages(tx: Transaction, workspace_id: int, ids: Iterable[int]) -> None:
    """These messages changed their status or visibility, so that their conversations may look different."""
    found = set(ids)
    if found:
        noted = tx.before_commit(Changes).of(tx, workspace_id)
        noted.ids.setdefault(MESSAGE, set()).update(found)
        noted.moved.update(found)


def note_new_messages(tx: Transaction, workspace_id: int, uuids: Iterable[str]) -> None:
    """Messages with these UUIDs were stored."""
    found = set(uuids)
    if found:
        tx.before_commit(Changes).of(tx, workspace_id).new_messages.update(found)


def note_passes(tx: Transaction, workspace_id: int, passes: Counter[tuple[int, str, str, str]]) -> None:
    """What runs did: (flow, `exit`, UUID of the exit, "") or (flow, `result`, key, category), and how often."""
    if passes:
        tx.before_commit(Changes).of(tx, workspace_id).flows.update(passes)


def note_errors(tx: Transaction, workspace_id: int, channel_id: int, number: int) -> None:
    """So many attempts to send messages by a channel failed."""
    if number:
        tx.before_commit(Changes).of(tx, workspace_id).errors[channel_id] += number
