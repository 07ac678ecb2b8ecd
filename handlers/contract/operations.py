"""The contract as the service uses it: what each operation accepts, who may call it, and what it may return.

Who may do what: the role and the token's limits against what the contract says beside each operation.

`x-roles` are the roles. `x-area` is the area that a limited token needs, `x-shows` names areas whose records the
operation always shows or changes too. `x-actions` says of single actions in the body which other areas they need, and
that they are for fewer roles, because another operation refuses the same deed to the others.
"""

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from typing import Any

from starlette.types import Scope

from handlers.contract.schemas import Parameter, Schema, draft4, resolve
from openapi.bundle import GENERATIONS, bundle, operations
from persistence.errors import NotAllowed
from persistence.tokens import Credentials, check_area, covers

ROUTING = "connexion_routing"

JSON_TYPE = "application/json"
EVENT_STREAM = "text/event-stream"
FIELDS = "fields"
"""The parameter with which a client chooses members of records."""

OPEN = "open"
"""For every token: what tells clients who and where they are, and the accounts of people."""
EACH = "each"
"""For every token, with the records whose areas the token covers; those of other areas do not exist for it."""
OTHER_WORDS = {
    "delivery": "deliveries",
    "link": "sessions",
    "org": "workspace",
    "sign": "sessions",
    "simulations": "flows",
}
"""The resources of paths whose first word is not that of a resource, nor with an s."""
ROLE_REFUSED = "Your role does not allow this operation."


@dataclass(frozen=True, slots=True)
class OperationRules:
    """One operation, compiled from its YAML. One that `changes_credentials` changes what each request of the workspace
    begins with: its settings, or who may do what in it. If it `runs_itself`, its handler opens its transactions; if it
    `keeps_no_answer`, its answer has a secret and there is no Idempotency-Key. If it `tells_reading`, the audit log is
    told who reads, in a unit of work that writes. A request whose body has what `may_be_dry` names only reads; what is
    absent counts as false. One that `reads_only` takes a body, and stores nothing. The answers of one that `has_etag`
    tell the state of a record. `members` are those that a client can choose of its records, and `partial` is what it
    gets then. `media_types` are those of what it answers.
    """

    id: str
    generation: str
    path: str
    method: str
    function: Callable[..., Any]
    roles: frozenset[str]
    area: str
    shows: tuple[str, ...]
    actions: Mapping[str, Mapping[str, Sequence[str]]]
    rate_scope: str
    lookup_is_needed: bool
    parameters: Mapping[str, Parameter]
    body: Schema | None
    strict_body: Schema | None
    verbatim_fields: frozenset[str]
    is_upload: bool
    is_setting_up: bool
    tells_reading: bool
    changes_credentials: bool
    media_types: frozenset[str]
    runs_itself: bool
    keeps_no_answer: bool
    may_be_dry: Mapping[str, bool]
    reads_only: bool
    has_etag: bool
    responses: Mapping[str, Schema | None] = field(default_factory=dict)
    members: frozenset[str] = frozenset()
    partial: Schema | None = None

    @property
    def is_writing(self) -> bool:
        return self.method != "get"

    @property
    def is_stream(self) -> bool:
        return EVENT_STREAM in self.media_types


def only_reads(rules: OperationRules, body: Any) -> bool:
    """Whether a request with this body needs no unit of work that writes, which others would wait for."""
    if not rules.is_writing or rules.reads_only:
        return True
    dry = rules.may_be_dry
    return (
        bool(dry) and isinstance(body, Mapping) and all(body.get(name, False) is is_on for name, is_on in dry.items())
    )


def handler_name(generation: str, operation: Mapping[str, Any]) -> str:
    """`handlers.v2.labels.list_labels`: generation, first tag and operation id. Answers are kept under this name, so it
    stays when a handler moves.
    """
    return f"handlers.{generation}.{operation['tags'][0]}.{operation['operationId']}"


def handler_module(generation: str, word: str) -> str:
    """The module of the handlers of a tag or of a path that begins with this word: `handlers.v2.contacts` for
    `contacts`, `contact_actions` and `contact_notes`.
    """
    first = word.partition("_")[0]
    names = (f"handlers.{generation}.{name}" for name in (word, OTHER_WORDS.get(first, first), f"{first}s"))
    return next(name for name in names if find_spec(name))


@cache
def load_contract(generation: str) -> dict[str, OperationRules]:
    """All operations of a generation by handler name."""
    document = bundle(generation)
    base = document["servers"][0]["url"]
    components = document["components"]
    named = {name: draft4(part) for name, part in components.get("schemas", {}).items()}
    rules = {}
    for path, method, operation in operations(document):
        name = handler_name(generation, operation)
        rules[name] = _compile(generation, base + path, method, operation, components, named)
    return rules


def whole_paths() -> set[str]:
    """The paths of all operations that have no parameter in them."""
    return {rules.path for name in GENERATIONS for rules in load_contract(name).values() if "{" not in rules.path}


def check_permission(credentials: Credentials, rules: OperationRules) -> None:
    """Raises NotAllowed when the role or the token's scope or areas do not cover the operation."""
    if credentials.role not in rules.roles:
        raise NotAllowed(ROLE_REFUSED, "role_not_allowed")
    if rules.is_writing and credentials.scope != "write":
        raise NotAllowed("This API token may only read.", "token_only_reads")
    for area in _areas_of(rules):
        check_area(credentials.areas, area)


def check_action(credentials: Credentials, rules: OperationRules, body: Any) -> None:
    """The same for the action that a body asks for."""
    rule = rules.actions.get(str(body.get("action"))) if rules.actions and isinstance(body, Mapping) else None
    if rule is None:
        return
    if credentials.role not in rule.get("roles", rules.roles):
        raise NotAllowed(ROLE_REFUSED, "role_not_allowed")
    for area in rule.get("areas", ()):
        check_area(credentials.areas, area)


def may_use(credentials: Credentials, operation_id: str) -> bool:
    """Whether an operation of generation 2 that reads would be answered: what it shows may be shown elsewhere."""
    rules = _by_operation_id()[operation_id]
    return credentials.role in rules.roles and all(covers(credentials.areas, area) for area in _areas_of(rules))


def _compile(
    generation: str,
    path: str,
    method: str,
    operation: Mapping[str, Any],
    components: Mapping[str, Any],
    named: Mapping[str, Any],
) -> OperationRules:
    name = handler_name(generation, operation)
    module = importlib.import_module(handler_module(generation, operation["tags"][0]))
    function = getattr(module, operation["operationId"])
    definitions = [resolve(part, components) for part in operation.get("parameters", [])]
    content = resolve(operation["requestBody"], components)["content"] if "requestBody" in operation else {}
    members, partial = _partial_answer(operation, components, named)
    return OperationRules(
        id=name,
        generation=generation,
        path=path,
        method=method,
        function=function,
        roles=frozenset(operation.get("x-roles", ())),
        area=operation.get("x-area", ""),
        shows=tuple(operation.get("x-shows", ())),
        actions=operation.get("x-actions", {}),
        rate_scope=operation.get("x-rate-scope", "other"),
        lookup_is_needed=(method == "delete" and generation == "v2" and not operation.get("x-lookup-is-optional"))
        or any(part.get("x-lookup") and part.get("required") for part in definitions),
        parameters={
            part["name"]: Parameter.compile(part, components, named) for part in definitions if part["in"] == "query"
        },
        body=Schema(content[JSON_TYPE]["schema"], named) if JSON_TYPE in content else None,
        strict_body=Schema(content[JSON_TYPE]["schema"], named, is_closed=True) if JSON_TYPE in content else None,
        verbatim_fields=_verbatim_fields(content, components),
        is_setting_up=bool(operation.get("x-sets-up")),
        changes_credentials=bool(operation.get("x-changes-credentials")),
        tells_reading=bool(operation.get("x-tells-reading")),
        keeps_no_answer=bool(operation.get("x-keeps-no-answer")),
        may_be_dry=operation.get("x-may-be-dry", {}),
        reads_only=bool(operation.get("x-only-reads")),
        has_etag=bool(operation.get("x-has-etag")),
        runs_itself=bool(operation.get("x-runs-itself")),
        is_upload="multipart/form-data" in content,
        media_types=frozenset(operation["responses"].get("200", {}).get("content", {})),
        responses={
            status: _response_schema(resolve(response, components), named)
            for status, response in operation["responses"].items()
        },
        members=members,
        partial=partial,
    )


def _verbatim_fields(content: Mapping[str, Any], components: Mapping[str, Any]) -> frozenset[str]:
    """The body fields with a client's own data, which is stored unchanged."""
    schema = resolve(content[JSON_TYPE]["schema"], components) if JSON_TYPE in content else {}
    return frozenset(name for name, part in schema.get("properties", {}).items() if part.get("x-verbatim"))


def _partial_answer(
    operation: Mapping[str, Any], components: Mapping[str, Any], named: Mapping[str, Any]
) -> tuple[frozenset[str], Schema | None]:
    """The members of the records that an operation reads, and its answer with some of them."""
    if not any(resolve(part, components)["name"] == FIELDS for part in operation.get("parameters", [])):
        return frozenset(), None
    content = resolve(operation["responses"]["200"], components)["content"]
    answer = resolve(content[JSON_TYPE]["schema"], components)
    listed = answer["properties"].get("results")
    record = answer if listed is None else resolve(listed["items"], components)
    part = {key: value for key, value in record.items() if key != "required"}
    if listed is not None:
        part = {**answer, "properties": {**answer["properties"], "results": {**listed, "items": part}}}
    return frozenset(record["properties"]), Schema(part, named)


def _response_schema(response: Mapping[str, Any], named: Mapping[str, Any]) -> Schema | None:
    content = response.get("content", {})
    return Schema(content[JSON_TYPE]["schema"], named) if JSON_TYPE in content else None


def _areas_of(rules: OperationRules) -> list[str]:
    return [area for area in (rules.area, *rules.shows) if area not in (OPEN, EACH)]


@cache
def _by_operation_id() -> dict[str, OperationRules]:
    return {name.rpartition(".")[2]: rules for name, rules in load_contract("v2").items()}


def rules_of(scope: Scope) -> OperationRules:
    """The rules of the operation a request was routed to."""
    operation_id: str = scope["extensions"][ROUTING]["operation_id"]
    return load_contract(operation_id.split(".")[1])[operation_id]


def matches(template: str, path: str) -> bool:
    """Whether a path matches a template such as `/relayers/relayer/sync/{relayer_id}/`."""
    wanted, given = template.split("/"), path.split("/")
    return len(wanted) == len(given) and all(
        part == other or part.startswith("{") for part, other in zip(wanted, given, strict=True)
    )
