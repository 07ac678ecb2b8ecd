"""What can be hung into a unit of work."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from sqlalchemy import CursorResult, Table

if TYPE_CHECKING:
    from persistence.database import Transaction


class BeforeCommit(Protocol):
    """What a unit of work does last, so that rows for which many transactions wait are locked only briefly. `is_last`
    marks the hook that runs after all others.
    """

    is_last: bool

    def flush(self, tx: "Transaction") -> None:
        """Runs the hook just before the commit; it may be called again, with new work or without any."""
        ...


class Watcher(Protocol):
    """Executes the statements of a unit of work that change rows, and notes who changes what."""

    def execute(
        self, tx: "Transaction", statement: Any, parameters: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None
    ) -> CursorResult[*tuple[Any, ...]]: ...

    def note_created(self, tx: "Transaction", table: Table, row: Mapping[str, Any]) -> None: ...

    def note_deed(
        self,
        tx: "Transaction",
        workspace_id: int,
        resource: str,
        action: str,
        uuid: str | None,
        name: str,
        changes: Any,
    ) -> None: ...
