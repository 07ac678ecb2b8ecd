"""Imports a file for a trial: reports what an import would refuse, skip and report; nothing of it is kept."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from persistence.database import Database, Transaction
from persistence.definitions.checking import FoundInFlow, check_import
from persistence.tables.complete import metadata
from persistence.workspaces.records import Workspace
from persistence.workspaces.writes import create_workspace

OpenWorkspace = Callable[[Transaction], Workspace]


class _TrialOver(Exception):
    """Ends the transaction of a trial, so that it is rolled back."""


@contextmanager
def empty_database() -> Iterator[Database]:
    """A temporary database."""
    with tempfile.TemporaryDirectory() as folder:
        database = Database(f"sqlite:///{Path(folder) / 'trial.db'}")
        try:
            metadata.create_all(database.engine, checkfirst=False)  # the file is new
            yield database
        finally:
            database.close()


def open_new_workspace(tx: Transaction) -> Workspace:
    """An empty workspace, for trials without an existing one."""
    return create_workspace(tx, "Trial")


def try_import(database: Database, open_workspace: OpenWorkspace, document: object) -> Sequence[FoundInFlow]:
    """The findings of an import of the file into the workspace; the database is not changed."""
    found: Sequence[FoundInFlow] = ()
    try:
        with database.writing() as tx:
            found = check_import(tx, open_workspace(tx), document).found
            raise _TrialOver
    except _TrialOver:
        return found
