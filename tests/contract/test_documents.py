"""The contract documents follow the project's rules for OpenAPI."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from openapi_spec_validator import validate

from handlers.contract.operations import EACH, OPEN
from handlers.contract.schemas import first_branch
from openapi.bundle import FOR_GENERATORS, GENERATIONS, published
from openapi.table import follow
from persistence.channels.event_form import CHANNEL_EVENTS
from persistence.deletions import KINDS
from persistence.stamps import EVENT_AREAS
from persistence.tokens import AREAS
from tests.contract.documents import (
    Operation,
    all_operations,
    complaints,
    document,
    properties_below,
    reachable,
    roots,
    rules_out,
    schemas_below,
)
from tests.each_case import holds_for_each

CONSOLE = Path(__file__).resolve().parents[2] / "console"
RESTHOOK = "ResthookEventBody"
SCHEMAS = document("v2/openapi.yaml")["components"]["schemas"]
EVENTS = {
    name: each["properties"]["event"]["enum"]
    for name, each in SCHEMAS.items()
    if "enum" in each.get("properties", {}).get("event", {})
}
"""The bodies of webhooks that have names of events, and these names."""
OF_WORKSPACE = {
    name: each["properties"]["type"]["enum"]
    for name, each in SCHEMAS.items()
    if name.startswith("Workspace") and name.endswith("Event")
}
"""The bodies of events of a workspace, and their types."""
OPERATIONS = all_operations()
ROOTS = roots()
API_OPERATIONS = [operation for operation in OPERATIONS if operation.generation in ("v1", "v2")]
ALWAYS = {"400", "401", "403", "405", "413", "429", "500", "503"}
MORE: dict[str, set[str]] = {"get": set(), "post": {"409", "415"}, "delete": {"415"}}

each_operation = holds_for_each(OPERATIONS)
each_api_operation = holds_for_each(API_OPERATIONS)
each_root = pytest.mark.parametrize("root", ROOTS)


def test_every_generation_has_a_document() -> None:
    assert {f"{generation}/openapi.yaml" for generation in GENERATIONS} <= set(ROOTS)


@each_root
def test_a_document_is_valid_openapi(root: str) -> None:
    validate(document(root))


@pytest.mark.parametrize("generation", GENERATIONS)
def test_a_served_document_has_no_private_keys(generation: str) -> None:
    def keys(node: Any) -> set[str]:
        if isinstance(node, list):
            return {key for item in node for key in keys(item)}
        if not isinstance(node, dict):
            return set()
        return set(node) | {key for item in node.values() for key in keys(item)}

    assert [key for key in keys(published(generation)) if key.startswith("x-") and key not in FOR_GENERATORS] == []


@pytest.mark.parametrize("generation", GENERATIONS)
def test_operation_ids_of_a_generation_are_unique(generation: str) -> None:
    ids = Counter(operation.body["operationId"] for operation in OPERATIONS if operation.generation == generation)
    assert [name for name, count in ids.items() if count > 1] == []


@each_operation
def test_a_summary_is_short_and_there_is_a_description(operation: Operation) -> None:
    assert 1 <= len(operation.body["summary"].split()) <= 8
    assert operation.body["description"]


@each_operation
def test_the_first_tag_is_described(operation: Operation) -> None:
    described = {tag["name"] for tag in document(operation.root)["tags"] if tag["description"]}
    assert operation.body["tags"][0] in described


@each_api_operation
def test_every_possible_status_is_listed(operation: Operation) -> None:
    wanted = ALWAYS | MORE[operation.method]
    looks_up = any(part.get("x-lookup") or part["name"] in ("cursor", "page") for part in operation.parameters())
    wanted |= {"404"} if looks_up else set()
    if operation.body.get("security") == []:
        wanted -= {"401"}
    assert wanted - set(operation.body["responses"]) == set()


@each_operation
def test_every_response_carries_the_request_id(operation: Operation) -> None:
    for status, part in operation.body["responses"].items():
        response = follow(part, document(operation.root))
        assert "X-Request-Id" in response.get("headers", {}), status


@each_api_operation
def test_successes_and_refusals_of_the_quota_carry_the_quota(operation: Operation) -> None:
    for status, part in operation.body["responses"].items():
        headers = follow(part, document(operation.root)).get("headers", {})
        if status.startswith("2") or status == "429":
            assert {"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"} <= set(headers), status


@each_api_operation
def test_the_description_ends_with_the_roles_that_are_enforced(operation: Operation) -> None:
    roles = operation.body["x-roles"]
    assert roles
    assert operation.body["description"].endswith(f"Roles: {', '.join(roles)}.")


@each_api_operation
def test_every_operation_belongs_to_exactly_one_area(operation: Operation) -> None:
    shown = operation.body.get("x-shows", [])
    assert operation.body["x-area"] in (*AREAS, OPEN, EACH)
    assert {*shown} <= {*AREAS} - {operation.body["x-area"]} and len(shown) == len({*shown})


@each_api_operation
def test_every_operation_names_its_rate_scope(operation: Operation) -> None:
    own = {"contacts", "messages", "runs", "broadcasts", "participants", "other"}
    scopes = {"v1"} if operation.generation == "v1" else own
    assert operation.body["x-rate-scope"] in scopes


@each_operation
def test_bodies_have_named_examples_that_fit(operation: Operation) -> None:
    root = operation.root
    parts = [("request", operation.body.get("requestBody", {}))]
    parts += [(status, follow(part, document(root))) for status, part in operation.body["responses"].items()]
    for name, part in parts:
        for media_type, content in part.get("content", {}).items():
            if media_type != "application/json":
                continue
            assert content["examples"], name
            for key, example in content["examples"].items():
                assert complaints(root, content["schema"], example["value"]) == {}, f"{name} {key}"


@each_operation
def test_parameters_have_a_description_and_an_example_that_fits(operation: Operation) -> None:
    for part in operation.parameters():
        assert part["description"], part["name"]
        assert complaints(operation.root, part["schema"], part["example"]) == {}, part["name"]


@each_root
def test_every_property_has_a_description_and_an_example(root: str) -> None:
    def is_complete(part: dict[str, Any]) -> bool:
        return bool(part.get("description")) and ("example" in part or "properties" in part)

    assert [where for where, part in properties_below(root) if not is_complete(part)] == []


@each_root
def test_examples_and_defaults_of_schemas_fit_them(root: str) -> None:
    named = list(document(root)["components"].get("schemas", {}).items())
    parts = [*named, *properties_below(root)]
    given = [(where, part, part[key]) for where, part in parts for key in ("example", "default") if key in part]
    wrong = [(where, problem) for where, part, value in given if (problem := complaints(root, part, value))]
    assert wrong == []


@each_root
def test_required_properties_exist(root: str) -> None:
    for name, schema in document(root)["components"].get("schemas", {}).items():
        assert set(schema.get("required", ())) <= set(schema.get("properties", {})), name


def is_bounded(schema: dict[str, Any]) -> bool:
    kind = schema.get("type")
    if "enum" in schema or kind in (None, "boolean"):
        return True
    if kind == "string":
        return "maxLength" in schema
    if kind == "array":
        return "maxItems" in schema
    if kind in ("integer", "number"):
        return "minimum" in schema and "maximum" in schema
    return "maxProperties" in schema or not schema.get("additionalProperties")


@each_operation
def test_everything_a_client_sends_is_bounded(operation: Operation) -> None:
    sent = [part["schema"] for part in operation.parameters()] + list(operation.request_schemas().values())
    unbounded = [part for schema in sent for part in reachable(operation.root, schema) if not is_bounded(dict(part))]
    assert unbounded == []


@each_api_operation
def test_every_query_parameter_has_a_plain_type_first(operation: Operation) -> None:
    for part in operation.parameters():
        schema = follow(part["schema"], document(operation.root))
        assert first_branch(schema, document(operation.root)["components"]).get("type"), part["name"]


@each_api_operation
def test_an_empty_parameter_is_declared_where_it_counts_as_absent(operation: Operation) -> None:
    for part in operation.parameters():
        schema = follow(part["schema"], document(operation.root))
        if part["in"] != "query" or part.get("x-lookup"):
            assert "allowEmptyValue" not in part, part["name"]
        elif schema.get("type") == "array":
            assert complaints(operation.root, schema, [""]) == {}, part["name"]
        else:
            assert part.get("allowEmptyValue") is True, part["name"]


@each_api_operation
def test_a_body_is_required_where_an_empty_one_is_refused(operation: Operation) -> None:
    if operation.method != "post" or "requestBody" not in operation.body or operation.generation == "relay":
        return
    schemas = [follow(schema, document(operation.root)) for schema in operation.request_schemas().values()]
    needs_fields = any(
        schema.get("required") or ("not" in schema and rules_out(operation.root, schema["not"], {}))
        for schema in schemas
    )
    assert bool(operation.body["requestBody"].get("required")) is needs_fields


@each_root
def test_null_is_allowed_beside_a_type_where_alone_it_has_an_effect(root: str) -> None:
    parts = [(where, part) for where, part in schemas_below(document(root)["components"].get("schemas", {}))]
    assert [where for where, part in parts if part.get("nullable") and "type" not in part] == []


@pytest.mark.parametrize("root", ["v1/openapi.yaml", "v2/openapi.yaml"])
def test_a_400_is_one_object_of_which_generators_make_one_class(root: str) -> None:
    refused = follow(document(root)["components"]["responses"]["BadRequest"], document(root))
    shape = follow(refused["content"]["application/json"]["schema"], document(root))

    assert (shape["type"], "anyOf" in shape, "oneOf" in shape) == ("object", False, False)
    assert "detail" in shape["properties"] and shape["additionalProperties"]


@each_operation
def test_links_lead_to_operations_and_parameters_of_the_generation(operation: Operation) -> None:
    targets = {other.body["operationId"]: other for other in OPERATIONS if other.generation == operation.generation}
    for response in operation.body["responses"].values():
        for link in follow(response, document(operation.root)).get("links", {}).values():
            names = {part["name"] for part in targets[link["operationId"]].parameters()}
            assert set(link["parameters"]) <= names
            # Expressions inside of a body mean nothing, and one generator refuses them.
            assert "requestBody" not in link


def test_webhook_payloads_are_published_with_examples() -> None:
    tag = next(tag for tag in document("v2/openapi.yaml")["tags"] if tag["name"] == "webhooks")
    for name in (*EVENTS, RESTHOOK, *OF_WORKSPACE, "WebhookReply"):
        assert f"`{name}`" in tag["description"]
        assert SCHEMAS[name]["example"]


def test_an_event_of_a_channel_is_known_in_the_contract_the_console_and_the_docs() -> None:
    accepted = SCHEMAS["WebhookReceiverWrite"]["properties"]["events"]["items"]["enum"]
    offered = re.search(r"const EVENTS = .*\(\[(.*)\]\)", (CONSOLE / "deliveries/receiver_form.js").read_text())
    texts = json.loads((CONSOLE / "deliveries/texts/en.json").read_text())
    page = "".join((CONSOLE.parent / "docs" / name).read_text() for name in ("webhooks.md", "subscriptions.md"))
    assert offered is not None
    known = sorted(CHANNEL_EVENTS)

    assert sorted(name for names in EVENTS.values() for name in names) == known
    assert sorted(accepted) == sorted([*known, *EVENT_AREAS])
    assert sorted(re.findall(r"\w+", offered[1])) == known
    assert sorted(key.partition(".")[2] for key in texts if key.startswith("webhook_event.")) == sorted(
        [*known, *EVENT_AREAS]
    )
    assert [
        name for name in (*CHANNEL_EVENTS, *EVENT_AREAS) if not re.search(rf"^\| .*`{name}`.* \|", page, re.M)
    ] == []


def test_an_event_of_a_workspace_has_a_body_an_example_of_it_and_an_area() -> None:
    root = "v2/openapi.yaml"
    operation = document(root)["paths"]["/webhook_subscriptions.json"]["post"]
    bodies = [
        request["post"]["requestBody"]["content"]["application/json"]
        for callback in operation["callbacks"].values()
        for request in callback.values()
    ]
    examples = {name: each["value"] for body in bodies for name, each in body["examples"].items()}
    wrong = [complaints(root, body["schema"], each["value"]) for body in bodies for each in body["examples"].values()]

    assert SCHEMAS["WorkspaceEventType"]["enum"] == list(EVENT_AREAS) == list(examples)
    assert sorted(name for names in OF_WORKSPACE.values() for name in names) == sorted(EVENT_AREAS)
    assert [each["type"] for each in examples.values()] == list(examples)
    assert [each for each in wrong if each] == []


def test_mirrors_are_told_of_what_the_contract_names() -> None:
    assert SCHEMAS["DeletionType"]["enum"] == sorted(KINDS)


@pytest.mark.parametrize(
    ("root", "events"), [("v1/openapi.yaml", EVENTS), ("v2/openapi.yaml", (*EVENTS, RESTHOOK, *OF_WORKSPACE))]
)
def test_every_event_is_a_callback_of_what_leads_to_it(root: str, events: tuple[str, ...]) -> None:
    called = [
        follow(callback, document(root))
        for operation in OPERATIONS
        if operation.root == root
        for callback in operation.body.get("callbacks", {}).values()
    ]
    bodies = [request["post"]["requestBody"]["content"] for callback in called for request in callback.values()]
    schemas = [{part["schema"]["$ref"].rpartition("/")[2] for part in content.values()} for content in bodies]
    assert all(len(forms) == 1 for forms in schemas), "all forms of an event have one schema"
    assert sorted(name for forms in schemas for name in forms) == sorted(events)
    forms = {form for content in bodies for form in content}
    assert forms == {"application/x-www-form-urlencoded", "application/json"}
