"""Connexion's validators, replaced by compiled ones (its documented `validator_map`)."""

from typing import Any

from handlers.auth import rules_of
from handlers.parameters import check_lookups, read_query
from handlers.service import state_of
from persistence.errors import InvalidInput


class QueryValidator:
    """Reads and checks the query parameters; the handler gets exactly these values."""

    def __init__(self, *_arguments: Any, **_options: Any) -> None:
        return None

    def validate(self, scope: Any) -> None:
        rules = rules_of(scope)
        if rules.generation == "relay":
            return  # phones are read leniently, by their handlers
        values = read_query(scope["query_string"], rules.parameters)
        check_lookups(values, rules.parameters, needed=rules.lookup_is_needed)
        state_of(scope)["query"] = values


class JsonBodyValidator:
    """Checks the body that the guard parsed; texts are trimmed first, but not in fields of the client's own data."""

    def __init__(self, **_options: Any) -> None:
        return None

    async def wrap_receive(self, receive: Any, *, scope: Any) -> tuple[Any, Any]:
        state, rules = state_of(scope), rules_of(scope)
        if rules.generation == "relay":
            return receive, scope  # phones are read leniently, by their handlers
        schema = rules.body
        given = state.get("body", {})
        if not isinstance(given, dict):
            raise InvalidInput.across("The request body must be a JSON object.")
        body = {name: value if name in rules.verbatim_fields else trim(value) for name, value in given.items()}
        if schema is not None and not schema.accepts(body):
            raise InvalidInput(schema.errors(body))
        state["body"] = body
        return receive, scope


class UploadValidator:
    """Leaves multipart bodies to the endpoint, which reads the file and checks it."""

    def __init__(self, **_options: Any) -> None:
        return None

    async def wrap_receive(self, receive: Any, *, scope: Any) -> tuple[Any, Any]:
        return receive, scope


def trim(value: Any) -> Any:
    """The value with white space taken off both ends of every text in it."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, list):
        return [trim(item) for item in value]
    if isinstance(value, dict):
        return {key: trim(item) for key, item in value.items()}
    return value


VALIDATORS = {
    "parameter": QueryValidator,
    "body": {"application/json": JsonBodyValidator, "multipart/form-data": UploadValidator},
}
