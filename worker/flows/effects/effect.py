"""The interface of an effect: a module with the types of its events, and what they change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from persistence.contacts.leases import LeasedContact
from persistence.database import Transaction
from persistence.workspaces import Workspace
from worker.flows.sprints import SprintEvent


@dataclass(frozen=True, slots=True)
class Recording:
    """The transaction that records sprints of one workspace. `rows` are the locked rows of their contacts; `flow_ids`
    the workspace's flows by UUID.
    """

    tx: Transaction
    workspace: Workspace
    flow_ids: Mapping[str, int]
    rows: Sequence[LeasedContact]


class Effect(Protocol):
    """A module of this folder."""

    @property
    def TYPES(self) -> tuple[str, ...]:
        """The types of events that it performs or also reads."""

    def carry_out(self, recording: Recording, events: Sequence[SprintEvent]) -> None:
        """Performs the events of these types, of all sprints in their order; never called without events."""
