"""Numbers that people write: every door reads the same in the number format of a workspace's country."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from relayboard.cli import main
from testbed.flow_rows import ask, definition, node, say, store_flow
from tests.api import Api
from tests.thinned import EVERY_CASE
from tests.worker.flows.conftest import Stage

TEXTS = (
    *(
        "27,5",
        "27.5",
        "-27,5",
        "1.234",
        "1,234",
        "1.234,5",
        "1,234.5",
        "1 234,5",
        "1\u202f234",
        "1'234.5",
        "1\u2019234",
    ),
    *("12,34,567", "1,00,000", "1,2345", "0,123", "1.234.567", "1,234,567", "٣٫٥", "١٬٢٣٤٫٥", "२७"),
)
COMMANDED = len(TEXTS) if EVERY_CASE else 5
"""A command is a client of the API, and takes as long as all other doors together."""
ALWAYS = {"٣٫٥": "3.5", "١٬٢٣٤٫٥": "1234.5", "२७": "27"}
POINT = {"27.5": "27.5", "1.234": "1.234", "1,234": "1234", "1,234.5": "1234.5", "1,234,567": "1234567"}
COMMA = {
    "27,5": "27.5",
    "-27,5": "-27.5",
    "1.234": "1234",
    "1,234": "1.234",
    "1.234,5": "1234.5",
    "1,2345": "1.2345",
    "0,123": "0.123",
    "1.234.567": "1234567",
}
SPACE = {
    "27,5": "27.5",
    "-27,5": "-27.5",
    "1,234": "1.234",
    "1 234,5": "1234.5",
    "1\u202f234": "1234",
    "1,2345": "1.2345",
    "0,123": "0.123",
}
APOSTROPHE = {"27.5": "27.5", "1.234": "1.234", "1'234.5": "1234.5", "1\u2019234": "1234"}
WEIGH = {"type": "has_number", "arguments": []}


def weighing() -> dict[str, Any]:
    """A flow that asks for a number, and says as which it was read."""
    asking = ask("weight", {"Number": "yes"}, "no", result="Weight", actions=[say("Which weight?")])
    asking["router"]["cases"][0] |= WEIGH
    return definition("Weights", [asking, node("yes", [say("@results.weight.value")]), node("no", [say("no number")])])


def read_in_flow(stage: Stage) -> list[str | None]:
    phones = [f"+25078800{1000 + place}" for place in range(len(TEXTS))]
    people = [stage.add_contact(phone) for phone in phones]
    stage.start(store_flow(stage.database, stage.workspace, weighing()), *people)
    stage.work()
    for phone, text in zip(phones, TEXTS, strict=True):
        stage.receive(phone, text)
    stage.work()
    said = [stage.sent_to(each) for each in people]
    assert {len(each) for each in said} == {2}
    return [None if answer == "no number" else answer for _, answer in said]


def read_by_api(api: Api, path: str, prefix: str) -> list[str | None]:
    """What contacts hold whose field was given as a string, as the second generation of the API shows it."""
    for place, text in enumerate(TEXTS):
        body = {"urns": [f"tel:{prefix}{1000 + place}"], "fields": {"weight": text}}
        assert api.post(path, body).status_code == 201
    return read_fields(api, prefix)


def read_fields(api: Api, prefix: str) -> list[str | None]:
    found = {urn: each["fields"]["weight"] for each in api.all_results("/api/v2/contacts.json") for urn in each["urns"]}
    return [found[f"tel:{prefix}{1000 + place}"] for place in range(len(TEXTS))]


def write_file(path: Path, prefix: str) -> str:
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = [(f"{prefix}{1000 + place}", text) for place, text in enumerate(TEXTS)]
        csv.writer(file).writerows([("Phone", "Weight"), *rows])
    return str(path)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(("country", "numbers"), [("IN", POINT), ("BR", COMMA), ("FR", SPACE), ("CH", APOSTROPHE)])
def test_every_door_reads_a_number_in_the_format_of_the_country(
    stage: Stage,
    api: Api,
    country: str,
    numbers: dict[str, str],
    database_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The decimal sign of the file is given: its values have those of all formats, and say none."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RELAYBOARD_DATABASE_URL", database_url)
    monkeypatch.delenv("RELAYBOARD_EVERY_CASE", raising=False)  # no setting of the program
    head = api.as_role("administrator")
    head.post("/api/v2/workspace_settings.json", {"country": country, "number_format": "by_country"})
    head.post("/api/v2/fields.json", {"name": "Weight", "type": "number"})

    def command(*words: str) -> Any:
        assert main(["contact", *words, "--workspace", api.workspace.uuid]) == 0
        return json.loads(capsys.readouterr().out)

    decimal = "," if numbers in (COMMA, SPACE) else "."
    command("import", write_file(tmp_path / "people.csv", "+25078830"), "--decimal", decimal)
    doors = {
        "API v1": read_by_api(api, "/api/v1/contacts.json", "+25078810"),
        "API v2": read_by_api(api, "/api/v2/contacts.json", "+25078820"),
        "file": read_fields(api, "+25078830"),
        "flow": read_in_flow(stage),
    }
    commanded = [command("create", "--field", f"weight={text}")["fields"]["weight"] for text in TEXTS[:COMMANDED]]

    expected = [(ALWAYS | numbers).get(text) for text in TEXTS]
    assert doors == dict.fromkeys(doors, expected)
    assert commanded == expected[:COMMANDED]
