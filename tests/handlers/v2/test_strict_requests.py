"""`Prefer: handling=strict`: a request with something that the service does not know is refused, instead of the unknown
part being ignored.
"""

from typing import Any

import pytest

from handlers.contract.operations import handler_name, load_contract
from openapi.bundle import bundle, operations
from tests.api import Api

LABELS, CONTACTS, UPSERTS = "/api/v2/labels.json", "/api/v2/contacts.json", "/api/v2/contact_upserts.json"
STRICT = {"Prefer": "handling=strict"}


@pytest.mark.together
@pytest.mark.parametrize(
    ("prefer", "status"),
    [
        ("handling=strict", 400),
        ('respond-async, Handling = "strict"; wait=5', 400),
        ("handling=lenient", 200),
        ("return=minimal", 200),
        ("handling=stricter", 200),
        ("", 200),
    ],
)
def test_unknown_parameters_are_named_if_the_client_prefers_that(api: Api, prefer: str, status: int) -> None:
    headers = {"Authorization": f"Token {api.token}", "Prefer": prefer}

    response = api.client.get(f"{LABELS}?nmae=A&uuid=&colour", headers=headers)

    assert response.status_code == status
    assert status == 200 or response.json()["detail"] == "Unknown parameters: nmae, colour."


@pytest.mark.parametrize(
    ("path", "body", "problems"),
    [
        (LABELS, {"name": "A", "colour": "red", "size": 1}, {"colour", "size"}),
        (CONTACTS, {"nmae": "A", "fields": {}}, {"nmae"}),
        (UPSERTS, {"contacts": [{"urns": ["ext:1"], "nmae": "A"}]}, {"contacts"}),
    ],
)
def test_unknown_body_fields_are_named_and_nothing_is_written(
    api: Api, path: str, body: dict[str, Any], problems: set[str]
) -> None:
    response = api.post(path, body, headers=STRICT)

    assert response.status_code == 400, response.text
    assert response.extensions["code"] == "unknown_field"
    assert response.json().keys() == problems
    assert api.results(LABELS) == api.results(CONTACTS) == []
    assert api.post(path, body).status_code in (200, 201)


def test_a_request_that_is_all_known_is_carried_out(api: Api) -> None:
    assert api.post(LABELS, {"name": "A"}, headers=STRICT).status_code == 201
    made = api.post(CONTACTS, {"name": "A", "urns": ["ext:1"], "fields": {}, "groups": []}, headers=STRICT)
    changed = api.post(CONTACTS, {"name": None}, headers=STRICT, uuid=made.json()["uuid"])

    assert (made.status_code, changed.status_code, changed.json()["name"]) == (201, 200, None)


def test_generation_1_ignores_what_it_does_not_know(api: Api) -> None:
    headers = {"Authorization": f"Token {api.token}", **STRICT}

    assert api.client.get("/api/v1/labels.json?nmae=A", headers=headers).status_code == 200


def test_every_body_has_a_strict_form_that_its_examples_fit() -> None:
    for _, _, operation in operations(bundle("v2")):
        rules = load_contract("v2")[handler_name("v2", operation)]
        assert (rules.strict_body is None) == (rules.body is None)
        if rules.strict_body is not None:
            assert rules.strict_body.errors({"no_such_field": 1}), rules.id
            for name, example in operation["requestBody"]["content"]["application/json"].get("examples", {}).items():
                assert rules.strict_body.errors(example["value"]) == {}, f"{rules.id} {name}"
