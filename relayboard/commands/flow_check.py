"""`relayboard flow check`: the problems that an import of a file would report."""

from collections.abc import Iterator

from flows.definition import Finding
from relayboard.commands.output import opened_database, workspace_named
from relayboard.commands.printing import print_line
from relayboard.flow_tools.files import read_document
from relayboard.flow_tools.trial import FoundInFlow, empty_database, open_new_workspace, try_import
from relayboard.usage.parts import Options


def run(options: Options) -> int:
    """Prints each issue with its place; returns 1 if there are any."""
    found = _check(options)
    if options.json:
        print_line([each.to_json() for each in found])
    else:
        for each in found:
            print(f"{options.file}: {_describe(each)}")
    return 1 if found else 0


def _check(options: Options) -> list[FoundInFlow]:
    document = read_document(options.file)
    if options.workspace is None:
        with empty_database() as database:
            return try_import(database, open_new_workspace, document)
    with opened_database() as database:
        return try_import(database, lambda tx: workspace_named(tx, options.workspace), document)


def _describe(found: FoundInFlow) -> str:
    place = ", ".join(part for part in (found.flow_name, *_list_place(found.finding)) if part)
    message = f"{found.finding.message} ({found.finding.type})"
    return f"{place}: {message}" if place else message


def _list_place(finding: Finding) -> Iterator[str]:
    place = finding.place
    yield f"node {place.node_uuid}" if place.node_uuid else ""
    yield f"action {place.action_uuid}" if place.action_uuid else ""
    yield place.field
    yield f"translation {place.language}" if place.language else ""
