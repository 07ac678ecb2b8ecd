"""Performs jobs with the data of a workspace: imports, exports and requests of persons, in a worker or a command."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from persistence.contact_imports.reading import BadFile, ReaderDied
from persistence.data_jobs import (
    Held,
    IsStopping,
    LeaseLost,
    Stopped,
    fail,
    give_back,
    leave,
)
from persistence.database import Database
from persistence.errors import DatabaseError, RuleBroken, is_temporary, took_too_long
from persistence.media.store import MediaStore
from persistence.tables.data_jobs import READING, data_request, export
from persistence.workspaces import Workspace, find_workspace

logger = logging.getLogger("relayboard.worker")

Note = Callable[[int, int], None]
"""Called with how many rows or records are done, and how many there are."""


def _ignore(_done: int, _count: int) -> None:
    return None


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Performer:
    """Performs jobs until the process stops; `note` is told of the progress. `is_forced` lets all wait for as long as
    it takes to rewrite a large database."""

    database: Database
    store: MediaStore
    is_stopping: IsStopping = _never
    note: Note = field(default=_ignore)
    is_forced: bool = False

    def perform(self, held: Held) -> None:
        """Does a job, or as much of it as can be done. A job that cannot be done fails, with the reason."""
        with self.database.reading() as tx:
            workspace = find_workspace(tx, held.row.workspace_id)
        if workspace is None:
            return
        try:
            self._perform_or_fail(held, workspace)
        except LeaseLost:
            logger.info("another worker continues %s %s", held.table.name, held.row.uuid)
        except Stopped:
            leave(self.database, held)
        except ReaderDied as error:
            logger.warning("%s %s: %s", held.table.name, held.row.uuid, error)
            if held.is_last_attempt:
                fail(self.database, held, str(error))
            else:
                give_back(self.database, held)
        except Exception as error:
            is_dear = isinstance(error, DatabaseError) and took_too_long(error)
            if isinstance(error, DatabaseError) and is_temporary(error) and not is_dear:
                leave(self.database, held)
            elif held.is_last_attempt and is_dear:
                fail(self.database, held, "This takes the database too long; ask for less at a time.")
            elif held.is_last_attempt:
                fail(self.database, held, f"An error inside the service ended each attempt: {type(error).__name__}.")
            raise

    def _perform_or_fail(self, held: Held, workspace: Workspace) -> None:
        try:
            self._perform(held, workspace)
        except (BadFile, RuleBroken) as error:
            fail(self.database, held, str(error))

    def _perform(self, held: Held, workspace: Workspace) -> None:
        """Loads only what this kind of job needs: a command does one job."""
        if held.table is export:
            from persistence.exports.exports import run_export  # noqa: PLC0415  # see above

            run_export(self.database, self.store, held, workspace, self.is_stopping)
        elif held.table is data_request:
            from persistence.data_requests.requests import run_request  # noqa: PLC0415  # see above

            run_request(self.database, self.store, held, workspace, is_forced=self.is_forced)
        else:
            self._import(held, workspace)

    def _import(self, held: Held, workspace: Workspace) -> None:
        from persistence.contact_imports import running  # noqa: PLC0415  # see above

        if held.row.taken_back_on is not None:
            from persistence.contact_imports.taking_back import run_taking_back  # noqa: PLC0415  # see above

            run_taking_back(self.database, held, workspace, self.is_stopping, self.note)
        elif held.row.cancelled_on is not None:
            running.end_cancelled(self.database, self.store, held)
        elif held.row.status == READING:
            running.preview(self.database, self.store, held, workspace)
        else:
            running.run_import(self.database, self.store, held, workspace, self.is_stopping, self.note)
