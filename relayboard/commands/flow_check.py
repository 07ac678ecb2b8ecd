"""`relayboard flow check`: what is wrong with the flows of a file."""

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from flows.definition import Finding, list_findings
from flows.definition.exports import update_file
from relayboard.commands.output import CommandFailed, print_json
from relayboard.flow_files import ExportedAssets, as_export, is_export, read_document


def register(actions: Any) -> None:
    parser = actions.add_parser("check", help="say what is wrong with the flows of a file")
    parser.add_argument("file", type=Path, metavar="FILE", help="a definition or an export file")
    parser.add_argument("--json", action="store_true", help="print the issues as one JSON list")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Prints each issue with its place; 1 when there are any."""
    document = read_document(options.file)
    if is_export(document):
        # Flows of old files refer to one another by numbers.
        document = update_file(document)
    definitions = document["flows"] if is_export(document) else [document]
    if not all(isinstance(definition, Mapping) for definition in definitions):
        raise CommandFailed(f"{options.file} holds something that is no flow")
    assets = ExportedAssets(document) if is_export(document) else None
    found = [(definition, finding) for definition in definitions for finding in list_findings(definition, assets)]
    if options.json:
        print_json([{"flow_name": _name(definition), **finding.to_json()} for definition, finding in found])
    else:
        for definition, finding in found:
            print(f"{options.file}: {_describe(definition, finding)}")
    if is_export(document) and not any(finding.is_fatal for _, finding in found):
        # What is wrong around the flows has no place in one of them.
        as_export(document)
    return 1 if found else 0


def _describe(definition: Mapping[str, Any], finding: Finding) -> str:
    place = ", ".join(part for part in (_name(definition), *_list_place(finding)) if part)
    return f"{place}: {finding.message} ({finding.type})"


def _list_place(finding: Finding) -> Iterator[str]:
    place = finding.place
    yield f"node {place.node_uuid}" if place.node_uuid else ""
    yield f"action {place.action_uuid}" if place.action_uuid else ""
    yield place.field
    yield f"translation {place.language}" if place.language else ""


def _name(definition: Mapping[str, Any]) -> str:
    metadata = definition.get("metadata")
    name = definition.get("name") or (metadata.get("name") if isinstance(metadata, Mapping) else "")
    return str(name or definition.get("uuid") or "")
