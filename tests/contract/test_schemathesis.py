"""`schemathesis run` as it comes, with all checks and phases, against a real server over a filled workspace."""

import base64
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from email import message_from_bytes
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from handlers.asgi.uploads import SIZE_LIMIT_BYTES
from openapi.bundle import operations, published
from testbed.running import RunningService, forked_service
from tests.channels.webchat.visitors import SITE, Browser, add_chat
from tests.contract.beyond_schemas import unexplained
from tests.contract.documents import all_operations, with_each_kind
from tests.contract.fuzz import EXAMPLES
from tests.factories import fill_workspace
from tests.thinned import EVERY_CASE

SEED = os.environ.get("RELAYBOARD_FUZZ_SEED", "20260302")
EXAMPLES_PER_OPERATION = os.environ.get(EXAMPLES, "1")
PHASES = ("examples", "coverage", "fuzzing", "stateful")
SOME: dict[tuple[str, ...], int] = {("examples", "fuzzing"): 8, ("coverage",): 24, ("stateful",): 8}
"""Coverage asks each operation everything that its parameters and its body can be wrong in: twenty times as
many requests as the others. Unless there are more examples or every case is wanted, these phases take one operation of
each kind of parameter and body, which the same code reads, and of the others one in so many. Every example of the
contract is sent by test_examples.py. Chains of requests go through all operations of the paths that are taken.
"""
ALIKE = ("v1", "v2")
"""Documents whose parameters and bodies the same code reads: one of them has to ask a kind."""
SMALL = 10
"""A document of fewer operations than these has all of them asked by examples and at random."""
IS_COMPLETE = EVERY_CASE or EXAMPLES in os.environ
CONTRACTS = {"v1": "/api/v1", "v2": "/api/v2", "relay": "/relayers/relayer", "chat": "/chat"}

UPLOADS = ("/api/v2/media.json", "/contact_imports.json", "/files")
UNLIMITED = "100000000/hour"


@pytest.fixture(params=list(CONTRACTS))
def generation(request: pytest.FixtureRequest) -> str:
    kind: str = request.param
    return kind


@pytest.fixture
def service(tmp_path: Path, generation: str) -> Iterator[RunningService]:
    url = f"sqlite:///{tmp_path / 'relayboard.db'}"
    limits = {"REGISTRATION_LIMIT": UNLIMITED, "VISITOR_LIMIT": UNLIMITED, "CALLBACK_LIMIT": UNLIMITED}
    with forked_service(url, tmp_path, processes=("api",), **limits, STREAM_SECONDS="0.2") as running:
        fill_workspace(running.database, running.workspace)
        yield running


def test_schemathesis_finds_nothing_that_the_contract_could_say(
    service: RunningService, generation: str, tmp_path: Path
) -> None:
    """No hook or exclusion goes in; a 400 for what no schema can say is told apart afterwards.

    Which rules these are is listed in beyond_schemas.py; a 400 for any other reason fails the test.
    """
    root = f"{service.url}{CONTRACTS[generation]}"
    contract, header = f"{root}/openapi.json", ["--header", f"Authorization: Token {service.token}"]
    if generation == "relay":
        header = []
    if generation == "chat":
        contract, header = chat_of(service, tmp_path, root)
    (tmp_path / "schemathesis.toml").write_text("" if IS_COMPLETE else fewer_operations(generation))
    found = run_schemathesis(tmp_path, contract, header)
    assert not found, f"seed {SEED}\n" + "\n".join(found)


def run_schemathesis(folder: Path, contract: str, options: list[str]) -> list[str]:
    """What it reports of a contract; all its phases have to end."""
    report = folder / "report.ndjson"
    command = [sys.executable, "-m", "schemathesis.cli", "run", contract, "--seed", SEED, "--continue-on-failure"]
    command += ["--phases", ",".join(PHASES), "--max-examples", EXAMPLES_PER_OPERATION, *options]
    command += ["--generation-database", "none", "--report", "ndjson", "--report-ndjson-path", str(report)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    events = [json.loads(line) for line in report.read_text().splitlines()]
    ended = [event["PhaseFinished"]["status"] for event in events if "PhaseFinished" in event]
    assert done.returncode in (0, 1), done.stdout[-4000:] + done.stderr[-4000:]
    assert len(ended) >= len(PHASES) and not any("NonFatalError" in event for event in events), done.stdout[-4000:]
    return [told for event in events if "ScenarioFinished" in event for told in reported(event["ScenarioFinished"])]


def fewer_operations(generation: str) -> str:
    """The configuration that leaves phases to operations with each kind of parameter and body, and some others."""
    mine = [each for each in all_operations() if each.generation == generation]
    alike = [each for each in all_operations() if each.generation in ALIKE] if generation in ALIKE else mine
    told = []
    for phases, some in SOME.items():
        chosen = [each for each in with_each_kind(alike) if each.generation == generation]
        some = 1 if len(mine) < SMALL and "fuzzing" in phases else some
        chosen += [each for each in mine if each not in chosen][some // 3 :: some]
        if "stateful" in phases:
            paths = {each.path for each in chosen}
            chosen = [each for each in mine if each.path in paths]
        names = "|".join(re.escape(f"{each.method.upper()} {each.path}") for each in chosen)
        told += ["[[operations]]", f"exclude-name-regex = '^({names})$'"]
        told += [f"phases.{phase}.enabled = false" for phase in phases]
    return "\n".join(told)


def chat_of(service: RunningService, folder: Path, root: str) -> tuple[str, list[str]]:
    """The contract of chats for one that there is, and the options with which a visitor of its site asks."""
    chat = add_chat(service, takes_files="true")
    visitor = Browser(service, chat)
    visitor.begin()
    document = published("chat")
    for _, _, operation in operations(document):
        (place,) = (part for part in operation["parameters"] if part["name"] == "channel")
        place |= {"schema": {"type": "string", "enum": [chat]}, "example": chat}
    path = folder / "chat.json"
    path.write_text(json.dumps(document))
    headers = ["--header", f"Origin: {SITE}", "--header", f"Authorization: Bearer {visitor.token}"]
    return str(path), ["--url", root, *headers]


def reported(scenario: dict[str, Any]) -> Iterator[str]:
    """What a scenario reports, but for refusals of what no schema can say."""
    recorder = scenario["recorder"]
    for case, checks in recorder.get("checks", {}).items():
        for check in checks:
            exchange = recorder["interactions"][case]
            if check["status"] == "failure" and not is_beyond_schemas(check["name"], exchange):
                request, failure = exchange["request"], check["failure_info"]["failure"]
                if TOO_LONG_FILE in failure["message"] and is_upload_that_fits(request):
                    continue
                if is_text_that_fits(failure["message"], exchange):
                    continue
                if check["name"] == "response_schema_conformance" and has_chosen_members(request["uri"]):
                    continue
                sent = f"{request['method']} {request['uri']} {text_of(request.get('body'))}"
                answered = text_of((exchange["response"] or {}).get("content"))
                yield f"{check['name']}: {failure['message']}\n  {sent}\n  {answered}"


def is_beyond_schemas(check: str, exchange: dict[str, Any]) -> bool:
    """Whether the service refused, for listed reasons only, what no schema can rule out."""
    request, response = exchange["request"], exchange["response"]
    if check != "positive_data_acceptance":
        return False
    if response["status_code"] == 412:  # No schema knows the state of a record.
        return any(name.lower() == "if-match" for name in request["headers"])
    if response["status_code"] != 400:
        return False
    sent, answered = text_of(request.get("body")), text_of(response["content"])
    return not unexplained(request["method"], request["uri"], sent, answered)


def has_chosen_members(uri: str) -> bool:
    """Whether a request asks for some members of records: it gets no others, also of those that are required. The
    service's own check of responses knows this (`handlers/asgi/response_check.py`).
    """
    return any(name == "fields" for name, _ in parse_qsl(urlsplit(uri).query))


TOO_LONG_FILE = "Invalid component: in body - violates `maxLength` at /properties/file ("


def is_upload_that_fits(request: dict[str, Any]) -> bool:
    """Whether a form that was meant to have a file that is too long has a good one: Schemathesis spoils the value of
    `file`, and then sends a file of its own making in its place.
    """
    if request["method"] != "POST" or not urlsplit(request["uri"]).path.endswith(UPLOADS):
        return False
    kind = {name.lower(): values[0] for name, values in request["headers"].items()}["content-type"]
    form = message_from_bytes(f"Content-Type: {kind}\r\n\r\n".encode() + base64.b64decode(request["body"]["$base64"]))
    parts = [part for part in form.walk() if part.get_filename() is not None]
    named = [part for part in parts if part.get_param("name", header="content-disposition") == "file"]
    return len(named) == 1 and 0 < len(named[0].get_payload(decode=True) or b"") <= SIZE_LIMIT_BYTES


TOO_LONG_TEXT = re.compile(r"in body - violates `maxLength` at \S*/properties/(\w+) \(")


def is_text_that_fits(message: str, exchange: dict[str, Any]) -> bool:
    """Whether a text that was meant to be too long is only so by the white space around it, which the service removed
    (docs/decisions-requests.md: length after trimming).
    """
    found, response = TOO_LONG_TEXT.search(message), exchange["response"]
    if found is None or response is None or response["status_code"] not in (200, 201):
        return False
    sent = json.loads(text_of(exchange["request"].get("body"))).get(found[1])
    return isinstance(sent, str) and json.loads(text_of(response["content"])).get(found[1]) == sent.strip() != sent


@pytest.mark.parametrize(
    ("sent", "answered", "status", "fits"),
    [
        (" \x1c" + "x" * 63, "x" * 63, 201, True),
        ("x" * 65, "x" * 65, 201, False),
        (" " + "x" * 65, "x" * 64, 201, False),
        (" " + "x" * 64, "x" * 64, 400, False),
        (5, 5, 201, False),
    ],
)
def test_only_a_text_that_fits_without_the_space_around_it_is_a_false_finding(
    sent: Any, answered: Any, status: int, fits: bool
) -> None:
    message = "Invalid component: in body - violates `maxLength` at /$ref/schema000001/properties/name (was x)"
    body, answer = (
        {"$base64": base64.b64encode(json.dumps({"name": value}).encode()).decode()} for value in (sent, answered)
    )
    exchange = {"request": {"body": body}, "response": {"status_code": status, "content": answer}}

    assert is_text_that_fits(message, exchange) is fits
    assert not is_text_that_fits(message.replace("body", "query"), exchange)


@pytest.mark.parametrize(
    ("parts", "fits"),
    [
        (('name="file"; filename="a.png"', "data"), True),
        (('name="*\U0009a571"', "x", 'name="file"; filename="a.png"', "data"), True),
        (('name="file"; filename="a.png"', ""), False),
        (('name="file"; filename="a.png"', "x" * (SIZE_LIMIT_BYTES + 1)), False),
        (('name="*\U0009a571"', "x"), False),
        (('name="file"', "x"), False),
    ],
)
def test_only_a_form_with_a_file_that_fits_is_a_false_finding(parts: tuple[str, ...], fits: bool) -> None:
    pairs = zip(parts[::2], parts[1::2], strict=True)
    body = (
        "".join(f"--x\r\nContent-Disposition: form-data; {name}\r\n\r\n{text}\r\n" for name, text in pairs)
        + "--x--\r\n"
    )
    request = {
        "method": "POST",
        "uri": "http://localhost/api/v2/media.json",
        "headers": {"Content-Type": ["multipart/form-data; boundary=x"]},
        "body": {"$base64": base64.b64encode(body.encode()).decode()},
    }

    assert is_upload_that_fits(request) is fits


@pytest.mark.parametrize(
    ("uri", "body", "answer"),
    [
        ("/api/v2/groups.json", {"name": "A"}, {"name": ["Some other rule."]}),
        ("/api/v2/groups.json", {"name": "A"}, {"name": ["A value is required."]}),
        ("/api/v2/groups.json", {"name": ""}, {"name": ["An empty value is not allowed."]}),
        ("/api/v2/groups.json", {"name": "A"}, {"name": ["This name is already taken.", "At most 64 characters."]}),
        (
            "/api/v2/messages.json",
            {"contact": "x"},
            {"non_field_errors": ["A text, an attachment or a template is required."]},
        ),
        ("/api/v2/groups.json", {"name": "A"}, {"name": ['Nothing found for "A".']}),
        ("/api/v2/groups.json", {"name": "A"}, {}),
        ("/api/v2/broadcasts.json", {"query": "age > 9"}, {"query": ["This cannot be searched now."]}),
    ],
)
def test_a_refusal_without_a_listed_reason_counts(uri: str, body: Any, answer: Any) -> None:
    assert unexplained("POST", f"http://localhost{uri}", json.dumps(body), json.dumps(answer))


@pytest.mark.parametrize(
    "sentence", ["unexpected '\\n' in query (character 3).", "can't convert 'x' to a number.", "query is too complex."]
)
def test_what_can_be_wrong_with_a_query_does_not_count(sentence: str) -> None:
    assert unexplained("POST", "/api/v2/broadcasts.json", "{}", json.dumps({"query": [sentence]})) == []


def test_a_refusal_for_a_listed_reason_does_not_count() -> None:
    uri = "http://localhost/api/v2/globals.json"
    assert unexplained("POST", uri, '{"value": "1"}', '{"name": ["A value is required."]}') == []
    assert unexplained("POST", uri, '{"name": " "}', '{"name": ["An empty value is not allowed."]}') == []


def text_of(part: Any) -> str:
    """A body of the report as text."""
    if isinstance(part, dict) and "$base64" in part:
        return base64.b64decode(part["$base64"]).decode("utf-8", "replace")
    return "" if part is None else str(part)
