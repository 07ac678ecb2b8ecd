"""Clients of the last release go on working: its documents against those of today, and the rules by breaking them."""

import copy
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from openapi.bundle import bundle
from tests.contract.compatibility import Comparison

RELEASED = Path(__file__).with_name("released")
RELEASE = "0.2.0"


def released(generation: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(gzip.decompress((RELEASED / f"{RELEASE}-{generation}.json.gz").read_bytes()))
    return found


@pytest.mark.parametrize("generation", ["v1", "v2"])
def test_nothing_that_was_released_is_broken(generation: str) -> None:
    assert list(Comparison(released(generation), bundle(generation)).breaks()) == []


def contact(document: dict[str, Any], name: str = "Contact") -> dict[str, Any]:
    found: dict[str, Any] = document["components"]["schemas"][name]
    return found


def lists(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = document["paths"]["/contacts.json"]["get"]
    return found


BREAKS: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "an operation": (lambda it: it["paths"].pop("/groups.json"), "GET /groups.json is gone"),
    "its name": (lambda it: lists(it).update(operationId="all"), "GET /contacts.json has another operationId"),
    "a parameter": (lambda it: lists(it)["parameters"].pop(1), "GET /contacts.json parameter urn is gone"),
    "a new condition": (
        lambda it: lists(it)["parameters"].append({"in": "query", "name": "x", "required": True, "schema": {}}),
        "GET /contacts.json requires the new parameter x",
    ),
    "a success": (lambda it: lists(it)["responses"].pop("200"), "GET /contacts.json answers 200 no more"),
    "a property": (lambda it: contact(it)["properties"].pop("uuid"), "results[].uuid is gone"),
    "a certainty": (lambda it: contact(it)["required"].remove("urns"), "results[] may lack ['urns'] now"),
    "a type": (
        lambda it: contact(it)["properties"].update(uuid={"type": "integer"}),
        "results[].uuid is integer, not string",
    ),
    "null": (
        lambda it: contact(it)["properties"].update(uuid={"type": "string", "nullable": True}),
        "results[].uuid may be null now",
    ),
    "a demand": (lambda it: contact(it, "ContactWrite").update(required=["name"]), "body requires ['name'] now"),
    "a limit": (
        lambda it: contact(it, "ContactWrite")["properties"]["name"].update(maxLength=8),
        "body.name has a lower maxLength",
    ),
    "a choice": (
        lambda it: contact(it, "ContactActionName").update(enum=["add"]),
        "takes no",
    ),
}


@pytest.mark.parametrize("name", BREAKS)
def test_what_breaks_clients_is_named(name: str) -> None:
    break_it, sentence = BREAKS[name]
    newer = copy.deepcopy(released("v2"))
    break_it(newer)

    found = list(Comparison(released("v2"), newer).breaks())

    assert [each for each in found if sentence in each], found


def test_more_is_no_break() -> None:
    newer = copy.deepcopy(released("v2"))
    newer["paths"]["/new.json"] = newer["paths"]["/groups.json"]
    contact(newer)["properties"]["more"] = {"type": "string"}
    lists(newer)["parameters"].append({"in": "query", "name": "x", "schema": {}})

    assert list(Comparison(released("v2"), newer).breaks()) == []
