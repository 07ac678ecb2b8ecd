"""Valid requests of every operation in a filled workspace, made from the examples of the contract."""

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import cycle, islice, product
from typing import Any

from openapi.table import follow
from tests.contract.documents import Operation, document
from tests.contract.filled_workspace import Filled
from tests.contract.references import FIELDS, ONE_OR_THE_OTHER, PARAMETERS, Form, find_forms
from tests.thinned import EVERY_CASE

JSON_TYPE = "application/json"
ACTION_LIKE = {
    "remove": "add",
    "unlabel": "label",
    "unblock": "block",
    "interrupt": "block",
    "archive_messages": "block",
    "restore_messages": "block",
    "delete": "block archive",
    "restore": "archive",
}
"""An action without an example of its own, and the one whose example it looks like."""
OPPOSITES = {"label": "unlabel", "unarchive": "archive", "restore": "archive", "unblock": "block"}
"""An action that changes nothing as long as this other one was not done before."""
ONLY_FOR_SOME = ("group", "label", "label_name", "assignee", "topic")
"""Fields that only some actions take."""
MADE_NEW = {"contacts.urns", "contacts.add_urns", "v1/contacts.urns"}
"""Fields whose examples name what the request makes."""


@dataclass(frozen=True)
class Request:
    """What is sent: query parameters and, with POST, a body."""

    query: Mapping[str, Any] = field(default_factory=dict)
    body: Any = None


@dataclass(frozen=True)
class Case:
    """One reference of one operation in one form; `example` is the body around it."""

    operation: Operation
    place: str
    name: str
    form: Form
    example: Mapping[str, Any] | None

    def __str__(self) -> str:
        action = (self.example or {}).get("action", "")
        return f"{self.operation.generation} {self.operation.method} {resource_of(self.operation)} {action} " + (
            f"{self.place} {self.name} by {self.form.word}"
        )

    def preparation(self) -> "Case | None":
        """The same with the action that has to come before, if there is one."""
        before = OPPOSITES.get((self.example or {}).get("action", ""))
        return None if before is None else replace(self, example={**(self.example or {}), "action": before})

    def request(self, filled: Filled, reference: str | int) -> Request:
        """The request of this workspace with `reference` at the place of this case, and own records everywhere else."""
        body = None if self.example is None else own_body(self.operation, self.example, filled)
        if self.place == "parameter":
            return Request({self.name: reference}, body)
        assert body is not None
        for other in alternatives(self.operation, self.name):
            body.pop(other, None)
        shape = body.get(self.name) or example_shape(self.operation, self.name)
        return Request(own_query(self.operation, filled), body | {self.name: shaped(shape, reference)})


def alternatives(operation: Operation, name: str) -> tuple[str, ...]:
    """The fields instead of which this one stands."""
    return ONE_OR_THE_OTHER.get(f"{resource_of(operation)}.{name}", ONE_OR_THE_OTHER.get(name, ()))


def resource_of(operation: Operation) -> str:
    return operation.path.strip("/").removesuffix(".json")


def type_of(root: str, schema: Mapping[str, Any]) -> str:
    """The type of the values a schema takes, in a list or alone; `any` when there are several."""
    here = follow(schema, document(root))
    if here.get("type") == "array":
        return type_of(root, here["items"])
    if "anyOf" in here:
        kinds = {type_of(root, branch) for branch in here["anyOf"] if branch.get("maxLength") != 0}
        return kinds.pop() if len(kinds) == 1 else "any"
    return str(here.get("type", "any"))


def fields_of(operation: Operation) -> dict[str, dict[str, Any]]:
    """The schemas of the fields of a JSON body."""
    schema = operation.request_schemas().get(JSON_TYPE, {})
    properties = follow(schema, document(operation.root)).get("properties", {})
    return {name: follow(part, document(operation.root)) for name, part in properties.items()}


def forms_of_field(operation: Operation, name: str) -> list[Form]:
    kind = type_of(operation.root, fields_of(operation)[name])
    kind = "string" if kind == "object" else kind
    return list(find_forms(FIELDS, operation.generation, resource_of(operation), name, kind))


def all_cases(operations: list[Operation]) -> Iterator[Case]:
    """Every reference of every operation in each of its forms, and in each example body; with RELAYBOARD_EVERY_CASE=1
    each form in each body.
    """
    for operation in operations:
        examples = list(examples_of(operation))
        smallest = min(examples, key=len, default=None)
        for parameter in operation.parameters():
            if parameter["in"] != "query":
                continue
            kind = type_of(operation.root, parameter["schema"])
            for form in find_forms(PARAMETERS, operation.generation, resource_of(operation), parameter["name"], kind):
                yield Case(operation, "parameter", parameter["name"], form, smallest)
        for name in fields_of(operation):
            names = {name, *alternatives(operation, name)}
            around = [one for one in examples if names & set(one)] or examples[:1]
            forms = forms_of_field(operation, name)
            pairs = [*product(forms, around)]
            if forms and not EVERY_CASE:
                most = max(len(forms), len(around))
                pairs = [*islice(zip(cycle(forms), cycle(around), strict=False), most)]
            yield from (Case(operation, "field", name, form, example) for form, example in pairs)


def examples_of(operation: Operation) -> Iterator[dict[str, Any]]:
    """The example bodies of an operation, one for each action where it knows several."""
    content = operation.body.get("requestBody", {}).get("content", {}).get(JSON_TYPE, {})
    examples = [follow(part, document(operation.root))["value"] for part in content.get("examples", {}).values()]
    yield from examples
    actions = fields_of(operation).get("action", {}).get("enum", ())
    shown = {example.get("action"): example for example in examples}
    for action in actions:
        if action not in shown:
            model = next((shown[like] for like in ACTION_LIKE.get(action, "").split() if like in shown), None)
            if model is None:
                model = {name: value for name, value in examples[0].items() if name not in ONLY_FOR_SOME}
            yield {**model, "action": action} | ({"note": "hello"} if action == "add_note" else {})


def own_query(operation: Operation, filled: Filled) -> dict[str, Any]:
    """The parameters that the operation cannot do without."""
    query = {}
    for parameter in operation.parameters():
        if parameter.get("required") and parameter["in"] == "query":
            kind = type_of(operation.root, parameter["schema"])
            forms = find_forms(PARAMETERS, operation.generation, resource_of(operation), parameter["name"], kind)
            query[parameter["name"]] = forms[0].own(filled) if forms else parameter["example"]
    return query


def own_body(operation: Operation, example: Mapping[str, Any], filled: Filled) -> dict[str, Any]:
    """An example with this workspace's records instead of those it names."""
    body = copy.deepcopy(dict(example))
    for name, value in body.items():
        forms = forms_of_field(operation, name) if name in fields_of(operation) else []
        makes = name == "name" or f"{resource_of(operation)}.{name}" in MADE_NEW
        if forms and not makes and (operation.generation, resource_of(operation), name) != ("v1", "fields", "label"):
            body[name] = shaped(value, forms[0].own(filled))
    return body


def example_shape(operation: Operation, name: str) -> Any:
    """A list or an object, when the contract wants one."""
    kind = fields_of(operation)[name].get("type")
    return {"array": [""], "object": {"key": "27"}}.get(str(kind), "")


def shaped(model: Any, reference: str | int) -> Any:
    """The reference as the model stands: in a list, as the key of an object of values, in lists by language."""
    if isinstance(model, list):
        return [reference]
    if isinstance(model, dict) and any(isinstance(value, list) for value in model.values()):
        return {language: [reference] for language in model}
    if isinstance(model, dict):
        return {str(reference): "27"}
    return reference
