"""Plays the cases of each channel type and preset, `channels/NAME/cases.yaml` and `channels/presets/cases/NAME.yaml`:
what a message becomes (`send`), what a response means (`accept`), what a callback says (`hear`), how an incoming file
is fetched (`fetch`), what tells the provider our URL (`connect`), whether the settings work (`check`), and which
templates a response lists (`templates`).
"""

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode

import orjson
import pytest
import yaml

import channels
from channels import calls
from channels.calls import (
    Attachment,
    BadSignature,
    Callback,
    Media,
    Message,
    QuickReply,
    Request,
    Response,
    Template,
    Unread,
)
from channels.presets import TYPE, list_presets, read_preset
from channels.types import GATEWAYS, TYPES
from openapi.bundle import YAML_LOADER

ROOT = Path(channels.__path__[0])
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
URL = "https://relayboard.example.org/c/x/0b0a4c0e-0000-4000-8000-000000000001/secret-of-the-channel/"
SECRET = "secret-of-the-channel"
OUTCOMES = {"sent": calls.Sent, "refused": calls.Refused, "later": calls.Later}
EVENTS = {"received": calls.Received, "status": calls.Status, "stopped": calls.Stopped, "call": calls.Call}
SECTIONS = ("send", "accept", "hear", "fetch", "connect", "check", "templates")
PLAY = "play"
"""The section that `tests/worker/channels/test_every_type.py` plays over the service."""

Case = dict[str, Any]
PLAYED = TYPES | {f"preset {name}": TYPES[TYPE] for name in list_presets()}


def read_file(name: str) -> Case | None:
    """The cases of a type or preset, with the settings that all of them have."""
    preset = name.removeprefix("preset ")
    path = ROOT / name / "cases.yaml" if name in GATEWAYS else ROOT / "presets" / "cases" / f"{preset}.yaml"
    if not path.exists():
        return None
    file: Case = yaml.load(path.read_text(), YAML_LOADER)
    if name not in GATEWAYS:
        file["settings"] = read_preset(preset).fill(file.pop("fields")) | file.get("settings", {})
    return file


FILES = {name: file for name in PLAYED if (file := read_file(name)) is not None}


def cases(section: str) -> list[Any]:
    return [
        pytest.param(
            name,
            case | {"settings": FILES[name].get("settings", {}) | case.get("settings", {})},
            id=f"{name}: {case['case']}",
        )
        for name in FILES
        for case in FILES[name].get(section, [])
    ]


def body_of(given: Case) -> bytes:
    """The body as a case writes it: `json`, `form`, `text` or `hex`."""
    if "json" in given:
        return orjson.dumps(given["json"])
    if "form" in given:
        return urlencode(given["form"], doseq=True).encode()
    return bytes.fromhex(given["hex"]) if "hex" in given else str(given.get("text", "")).encode()


def small(headers: dict[str, Any]) -> dict[str, str]:
    return {str(name).lower(): value if value is None else str(value) for name, value in headers.items()}


def is_as_written(request: Request | None, wanted: Case | None) -> None:
    """Compares a request: method, url, the headers that the case names, and the body in its form."""
    assert (request is None) == (wanted is None)
    if request is None or wanted is None:
        return
    assert (request.method, request.url) == (wanted.get("method", "POST"), wanted["url"])
    headers = small(request.headers)
    assert {name: headers.get(name) for name in small(wanted.get("headers", {}))} == small(wanted.get("headers", {}))
    if "json" in wanted:
        assert orjson.loads(request.body or b"") == wanted["json"]
    elif "form" in wanted:
        found = parse_qs((request.body or b"").decode(), keep_blank_values=True)
        assert found == {
            name: [*map(str, each)] if isinstance(each, list) else [str(each)] for name, each in wanted["form"].items()
        }
    elif "text" in wanted:
        assert (request.body or b"").decode() == wanted["text"]
    else:
        assert not request.body


def message_of(given: Case) -> Message:
    made = {
        "attachments": tuple(Attachment(*each.split(":", 1)) for each in given.get("attachments", [])),
        "quick_replies": tuple(
            QuickReply(**each) if isinstance(each, dict) else QuickReply(each)
            for each in given.get("quick_replies", [])
        ),
    }
    template = given.get("template")
    if template is not None:
        made["template"] = Template(**template | {"variables": tuple(template.get("variables", ()))})
    return Message(**{"uuid": "5d1d1a52-0000-4000-8000-000000000007", "id": 7, **given, **made})


def response_of(given: Case) -> Response:
    return Response(given.get("status", 200), small(given.get("headers", {})), body_of(given))


def as_written(value: Any, kinds: dict[str, Any]) -> Case:
    """An outcome or event as cases write it: its kind, and what differs from the usual."""
    kind = next(name for name, each in kinds.items() if isinstance(value, each))
    fields = {
        name: each.isoformat() if isinstance(each, datetime) else each
        for name, each in asdict(value).items()
        if each not in (None, "", (), {}, 0, False)
    }
    if fields.get("attachments"):
        fields["attachments"] = [{name: each for name, each in file.items() if each} for file in fields["attachments"]]
    return {kind: fields}


@pytest.mark.parametrize(("name", "case"), cases("send"))
def test_a_message_becomes_the_requests_of_its_type(name: str, case: Case) -> None:
    made = PLAYED[name].requests(message_of(case["message"]), case["settings"])

    for request, wanted in zip(made, case["requests"], strict=True):
        is_as_written(request, wanted)


@pytest.mark.parametrize(("name", "case"), cases("accept"))
def test_a_response_means_what_its_type_says(name: str, case: Case) -> None:
    outcome = PLAYED[name].accepted(response_of(case), case["settings"])

    wanted = case["becomes"]
    assert as_written(outcome, OUTCOMES) == ({wanted: {}} if isinstance(wanted, str) else wanted)


@pytest.mark.parametrize(("name", "case"), cases("hear"))
def test_a_callback_says_what_its_type_reads(name: str, case: Case) -> None:
    given, events = case["callback"], PLAYED[name].events
    query = urlencode(given.get("query", {}), doseq=True)
    kinds = {"json": calls.JSON_TYPE, "form": calls.FORM_TYPE}
    usual = {"content-type": next((kind for form, kind in kinds.items() if form in given), "text/plain")}
    callback = Callback(
        now=NOW,
        method=given.get("method", "POST"),
        url=URL + (f"{given['action']}/" if given.get("action") else "") + ("?" + query if query else ""),
        action=given.get("action", ""),
        headers=usual | small(given.get("headers", {})),
        body=body_of(given),
        secret=SECRET,
    )

    assert events is not None
    if case.get("error") == "signature":
        with pytest.raises(BadSignature):
            events(callback, case["settings"])
        return
    if "error" in case:
        with pytest.raises(Unread) as refused:
            events(callback, case["settings"])
        assert case["error"] in str(refused.value)
        return
    heard = events(callback, case["settings"])
    assert [as_written(each, EVENTS) for each in heard.events] == case.get("events", [])
    if "answer" in case:
        assert heard.answer is not None
        assert {name: getattr(heard.answer, name) for name in case["answer"]} == case["answer"]


@pytest.mark.parametrize(("name", "case"), cases("fetch"))
def test_an_incoming_file_is_fetched_step_by_step(name: str, case: Case) -> None:
    fetch, responses = TYPES[name].fetch, list[Response]()

    assert fetch is not None
    for step in case["steps"]:
        is_as_written(fetch(Media(**case["media"]), case["settings"], responses), step["request"])
        responses.append(response_of(step["response"]))
    assert fetch(Media(**case["media"]), case["settings"], responses) is None


@pytest.mark.parametrize(("name", "case"), cases("connect"))
def test_the_provider_is_told_our_address(name: str, case: Case) -> None:
    connect = TYPES[name].connect

    assert connect is not None
    for request, wanted in zip(connect(case["settings"], URL, SECRET), case["requests"], strict=True):
        is_as_written(request, wanted)


@pytest.mark.parametrize(("name", "case"), cases("check"))
def test_one_request_shows_whether_the_settings_work(name: str, case: Case) -> None:
    check = TYPES[name].check

    assert check is not None
    is_as_written(check(case["settings"]), case["request"])


@pytest.mark.parametrize(("name", "case"), cases("templates"))
def test_templates_are_read_page_by_page(name: str, case: Case) -> None:
    ask, read = TYPES[name].templates, TYPES[name].read_templates

    assert ask is not None
    assert read is not None
    is_as_written(ask(case["settings"], case.get("after", "")), case["request"])
    found, following = read(response_of(case["response"]))
    assert [asdict(each) for each in found] == case["found"]
    assert following == case.get("next", "")


def test_each_type_has_cases_for_all_that_it_does() -> None:
    wanted = {
        name: ({"hear"} if each.events else set())
        | ({"send", "accept"} if each.transport == "http" else set())
        | {part for part in ("fetch", "connect", "check", "templates") if getattr(each, part) is not None}
        for name, each in PLAYED.items()
        if not each.is_relayer
    }

    missing = {name: sorted(parts - FILES.get(name, {}).keys()) for name, parts in wanted.items()}
    assert {name: parts for name, parts in missing.items() if parts} == {}


def test_cases_have_no_section_that_nobody_plays() -> None:
    assert {name: [*file.keys() - {"settings", PLAY, *SECTIONS}] for name, file in FILES.items()} == {
        name: [] for name in FILES
    }
