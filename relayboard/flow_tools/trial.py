"""Imports a file for a trial: reports what an import would refuse, skip and report; nothing of it is kept."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flows.definition import Finding, Flow, Inspection, list_findings, list_findings_of
from flows.definition.exports import is_definition, update_file
from flows.definition.model import Place
from persistence.database import Database, Transaction
from persistence.definitions.assets import read_problem
from persistence.definitions.importing import ImportReport, import_definitions
from persistence.errors import InvalidInput, RuleBroken
from persistence.tables.complete import metadata
from persistence.workspaces.records import Workspace
from persistence.workspaces.writes import create_workspace

REFUSED, SKIPPED_TRIGGER = "refused", "skipped_trigger"

OpenWorkspace = Callable[[Transaction], Workspace]


class _TrialOver(Exception):
    """Ends the transaction of a trial, so that it is rolled back."""


@dataclass(frozen=True, slots=True)
class FoundInFlow:
    """A finding with the name of its flow, which is empty for findings outside of flows."""

    flow_name: str
    finding: Finding

    def to_json(self) -> dict[str, Any]:
        """One object."""
        return {"flow_name": self.flow_name, **self.finding.to_json()}


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


def try_import(database: Database, open_workspace: OpenWorkspace, document: object) -> list[FoundInFlow]:
    """The findings of an import of the file into the workspace; the database is not changed."""
    found: list[FoundInFlow] = []
    try:
        with database.writing() as tx:
            found = _import(tx, open_workspace(tx), document)
            raise _TrialOver
    except _TrialOver:
        return found


def _import(tx: Transaction, workspace: Workspace, document: object) -> list[FoundInFlow]:
    inspected: list[tuple[Flow, Inspection]] = []
    try:
        report = import_definitions(
            tx, workspace, document, inspected=lambda flow, inspection: inspected.append((flow, inspection))
        )
    except RuleBroken as error:
        problem = read_problem(error) if isinstance(error, InvalidInput) else str(error)
        return _list_faults(document) or [_find(REFUSED, problem, is_fatal=True)]
    found = [
        FoundInFlow(flow.name, finding)
        for flow, inspection in inspected
        for finding in list_findings_of(flow, inspection)
    ]
    return [*found, *_list_skipped(report)]


def _list_skipped(report: ImportReport) -> Iterator[FoundInFlow]:
    for each in report.skipped:
        name = str(each["flow"].get("name") or "")
        yield _find(SKIPPED_TRIGGER, f"a trigger is skipped: {each['problem']}", flow_name=name)


def _list_faults(document: object) -> list[FoundInFlow]:
    """All faults for which the flows of a file are refused; an import reports only the first one."""
    if not isinstance(document, Mapping):
        return []
    content = update_file({"flows": [document]} if is_definition(document) else document)
    flows = content.get("flows")
    definitions = [each for each in flows if isinstance(each, Mapping)] if isinstance(flows, list) else []
    return [
        FoundInFlow(str(definition.get("name") or definition.get("uuid") or ""), finding)
        for definition in definitions
        for finding in list_findings(definition)
        if finding.is_fatal
    ]


def _find(kind: str, message: str, *, flow_name: str = "", is_fatal: bool = False) -> FoundInFlow:
    return FoundInFlow(flow_name, Finding(kind, message, "", Place(""), is_fatal=is_fatal))
