"""Imports that tell all that is wrong with a file: what they refuse, what they skip, and the problems of its flows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flows.definition import DefinitionError, Finding, Flow, Inspection, inspect, list_findings, list_findings_of, load
from flows.definition.exports import is_definition, update_file
from flows.definition.model import Place
from flows.definition.references import find_references
from persistence.channels.channels import Networks
from persistence.database import Transaction
from persistence.definitions.assets import MADE, ImportedAssets, Known, read_problem
from persistence.definitions.importing import PRIVATE_ADDRESS, ImportReport, import_definitions, tell_private
from persistence.errors import InvalidInput, RuleBroken
from persistence.flows.assets import STORED
from persistence.sql.columns import is_uuid, new_uuid
from persistence.sql.names import check_name
from persistence.tables.contacts import FIELD_KEY as KEY
from persistence.tables.contacts import FIELD_KEY_LENGTH as KEY_LENGTH
from persistence.workspaces.records import Workspace

REFUSED, SKIPPED_TRIGGER = "refused", "skipped_trigger"
MADE_BY_KEY = ("field", "global")


@dataclass(frozen=True, slots=True)
class FoundInFlow:
    """A finding with the name of its flow, which is empty for findings outside of flows."""

    flow_name: str
    finding: Finding

    def to_json(self) -> dict[str, Any]:
        """One object."""
        return {"flow_name": self.flow_name, **self.finding.to_json()}


@dataclass(frozen=True, slots=True)
class CheckedImport:
    """What an import did and found. If `refusal` says why there was none, the unit of work must be undone."""

    report: ImportReport
    found: Sequence[FoundInFlow]
    refusal: RuleBroken | None = None


def check_import(
    tx: Transaction,
    workspace: Workspace,
    document: object,
    *,
    media_url: str = "",
    networks: Networks = None,
    user_id: int | None = None,
) -> CheckedImport:
    """Imports the content of a file, as `import_definitions` does, and tells all findings. A file that is refused is
    told with all faults for which its flows are, of which an import tells only the first.
    """
    inspected: list[tuple[Flow, Inspection]] = []
    try:
        report = import_definitions(
            tx,
            workspace,
            document,
            media_url=media_url,
            networks=networks,
            user_id=user_id,
            inspected=lambda flow, inspection: inspected.append((flow, inspection)),
        )
    except RuleBroken as error:
        problem = read_problem(error) if isinstance(error, InvalidInput) else str(error)
        found = _list_faults(document) or [_find(REFUSED, problem, is_fatal=True)]
        return CheckedImport(ImportReport(made={plural: [] for plural in MADE}), found, error)
    found = [
        FoundInFlow(flow.name, finding)
        for flow, inspection in inspected
        for finding in list_findings_of(flow, inspection)
    ]
    return CheckedImport(report, [*found, *_list_private(report), *_list_skipped(report)])


class TrialAssets(ImportedAssets):
    """What an import would find in the workspace or make there; nothing is made."""

    def expect(self, kind: str, identity: str) -> None:
        """Counts a field or global that an import would make as one that is there."""
        if KEY.match(identity) and len(identity) <= KEY_LENGTH and not self.knows(kind, identity):
            self._note(kind, (identity, identity))

    def _make(self, kind: str, uuid: str, name: str) -> Known | None:
        if kind not in STORED or STORED[kind].make is None:
            return None
        try:
            check_name(name)
        except InvalidInput:
            return None
        known = (uuid.lower() if is_uuid(uuid) else new_uuid(), name.strip())
        self._note(kind, known)
        return known


@dataclass(frozen=True, slots=True)
class CheckedDefinition:
    """What is wrong with a definition, and what else its inspection told; that is None if it cannot be read."""

    found: Sequence[FoundInFlow]
    inspection: Inspection | None


def check_definition(
    tx: Transaction, workspace: Workspace, definition: Mapping[str, Any], networks: Networks = None
) -> CheckedDefinition:
    """What `check_import` would find in one definition. It only reads."""
    tx.may_pause()
    assets = TrialAssets(tx, workspace)
    try:
        flow = load(definition, resolve=assets.resolve)
    except DefinitionError:
        name = str(definition.get("name") or "")
        return CheckedDefinition([FoundInFlow(name, each) for each in list_findings(definition)], None)
    assets.add_flow(flow.uuid, (flow.uuid, flow.name))
    for each in find_references(flow).found:
        if each.reference.kind in MADE_BY_KEY:
            assets.expect(each.reference.kind, each.reference.identity)
    inspection = inspect(flow, assets)
    found = [FoundInFlow(flow.name, each) for each in list_findings_of(flow, inspection)]
    report = ImportReport(flows=[{"uuid": flow.uuid, "name": flow.name, "issues": []}])
    tell_private(report, [flow.raw], networks or ())
    return CheckedDefinition([*found, *_list_private(report)], inspection)


def _list_private(report: ImportReport) -> Iterator[FoundInFlow]:
    for record in report.flows:
        for issue in record["issues"]:
            if issue["type"] == PRIVATE_ADDRESS:
                place = Place(issue["node_uuid"], issue["action_uuid"], "url")
                finding = Finding(PRIVATE_ADDRESS, issue["description"], record["uuid"], place)
                yield FoundInFlow(record["name"], finding)


def _list_skipped(report: ImportReport) -> Iterator[FoundInFlow]:
    for each in report.skipped:
        name = str(each["flow"].get("name") or "")
        yield _find(SKIPPED_TRIGGER, f"a trigger is skipped: {each['problem']}", flow_name=name)


def _list_faults(document: object) -> list[FoundInFlow]:
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
