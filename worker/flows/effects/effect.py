"""What an effect is: a module with the types of its events, and what they change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from persistence.contacts.leases import LeasedContact
from persistence.database import Transaction
from persistence.workspaces import Workspace
from worker.flows.sprint_events import SprintEvent


@dataclass(frozen=True, slots=True)
class Recording:
    """The transaction that records sprints of one workspace.

    `rows` are those of their contacts, locked; `flow_ids` the workspace's flows by uuid.
    """

    tx: Transaction
    workspace: Workspace
    flow_ids: Mapping[str, int]
    rows: Sequence[LeasedContact]


class Effect(Protocol):
    """A module of this folder."""

    @property
    def TYPES(self) -> tuple[str, ...]:
        """The types of events it carries out, or looks at beside them."""

    def carry_out(self, recording: Recording, events: Sequence[SprintEvent]) -> None:
        """Does what the events of these types ask for, those of all sprints in their order; never called for none."""
