"""The way of a request through Connexion without what our operations do not need, such as its validation of documents
at each start: tests validate ours before they are shipped. An operation without path parameters is found in a table;
Connexion's router, which tries the pattern of one path after the other, finds the rest. Validators with compiled
schemas replace Connexion's (by its documented `validator_map`). Endpoints have no arguments that Connexion would have
to find in the request.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import anyio.to_thread
from connexion.apps.asynchronous import AsyncApi, AsyncASGIApp, AsyncOperation
from connexion.middleware import ConnexionMiddleware
from connexion.middleware.abstract import ROUTING_CONTEXT, RoutedMiddleware
from connexion.middleware.context import ContextMiddleware
from connexion.middleware.request_validation import (
    RequestValidationAPI,
    RequestValidationMiddleware,
    RequestValidationOperation,
)
from connexion.middleware.response_validation import ResponseValidationMiddleware
from connexion.middleware.routing import RoutingMiddleware
from connexion.middleware.security import SecurityMiddleware
from connexion.middleware.swagger_ui import SwaggerUIMiddleware
from connexion.security import NO_VALUE, ApiKeySecurityHandler
from connexion.spec import OpenAPISpecification
from starlette.types import ASGIApp, Receive, Scope, Send

from handlers.asgi.plain_responses import Refusal, header
from handlers.asgi.request_body import (
    TYPED_PREFIXES,
    StrictJsonError,
    check_form_type,
    check_json_type,
    parse_strict,
    replay,
)
from handlers.asgi.uploads import in_threads, receive_upload
from handlers.contract.operations import FIELDS, handler_name, rules_of
from handlers.contract.schemas import check_known, check_lookups, check_members, read_query
from handlers.request import context_of
from openapi.bundle import operations
from persistence.errors import InvalidInput
from persistence.sql.columns import new_uuid

STRICT = re.compile(rb"(?:^|,)\s*handling\s*=\s*\"?strict\"?\s*(?=[,;]|$)", re.IGNORECASE)
"""In the header Prefer."""
DEEPEST = 4
"""Levels of keys in a 400."""
MOST_VALUES = 1_000_000
"""In a body: empty lists take fifty times their size in memory."""
LONG_BODY_BYTES = 262_144
"""Longer ones are parsed in a thread: the event loop would keep everybody waiting."""


class QueryValidator:
    """Reads and checks the query parameters; the handler gets only these values."""

    def __init__(self, *_arguments: Any, **_options: Any) -> None:
        return None

    def validate(self, scope: Scope) -> None:
        rules = rules_of(scope)
        if rules.generation == "relay":
            return  # requests of phones are read leniently, by their handlers
        if is_strict(scope):
            check_known(scope["query_string"], rules.parameters)
        values = read_query(scope["query_string"], rules.parameters)
        check_lookups(values, rules.parameters, needed=rules.lookup_is_needed)
        if rules.members and FIELDS in values:
            check_members(values[FIELDS], rules.members)
        context_of(scope).query = values


class JsonBodyValidator:
    """Reads and checks the body; strings are trimmed first, except in fields with the client's own data."""

    def __init__(self, **_options: Any) -> None:
        return None

    async def wrap_receive(self, receive: Receive, *, scope: Scope) -> tuple[Receive, Scope]:
        context, rules = context_of(scope), rules_of(scope)
        if rules.generation == "relay":
            return receive, scope  # requests of phones are read leniently, by their handlers
        receive = await read_json(scope)
        schema = rules.strict_body if is_strict(scope) else rules.body
        given = context.json
        if not isinstance(given, dict):
            raise InvalidInput.across("The request body must be a JSON object.")
        body = {name: value if name in rules.verbatim_fields else trim(value) for name, value in given.items()}
        if schema is not None and not schema.accepts(body):
            raise InvalidInput(*schema.examine(body))
        context.json = body
        return receive, scope


class UploadValidator:
    """Writes the file of a multipart body into the media store; it is deleted after the request unless a handler
    keeps it."""

    def __init__(self, **_options: Any) -> None:
        return None

    async def wrap_receive(self, receive: Receive, *, scope: Scope) -> tuple[Receive, Scope]:
        context = context_of(scope)
        form_type = check_form_type(context.declared_type)
        service = context.service
        context.closing.enter_context(service.uploads.take(context.workspace_id, is_visitor=context.caller is not None))
        uuid = new_uuid()
        context.closing.push_async_callback(context.discard_upload, uuid)
        async with in_threads(service.media_store.receiving(uuid)) as file:
            context.upload = await receive_upload(context.body, form_type, file, uuid)
        # Connexion would read the form too if it got it.
        headers = [pair for pair in scope["headers"] if pair[0].lower() != b"content-type"]
        return replay(b"", receive), {**scope, "headers": headers}


def is_strict(scope: Scope) -> bool:
    """Whether the client wants to hear of parameters and body fields that the service does not know, instead of having
    them ignored (RFC 7240, 4.4). Requests of generation 1 are read as they always were.
    """
    given = [value for name, value in scope["headers"] if name == b"prefer"]
    return bool(given) and rules_of(scope).generation == "v2" and STRICT.search(b",".join(given)) is not None


async def read_json(scope: Scope) -> Receive:
    """Store `raw_body` and `json` ({} for no body) in the request's context; returns the receive callable for later
    layers. Raises Refusal (400, 413, 415, 503) or ClientGone.
    """
    context = context_of(scope)
    raw = await context.body.read()
    check_json_type(context.declared_type, has_body=bool(raw))
    if len(raw) > MOST_VALUES and sum(map(raw.count, (b",", b"[", b"{"))) > MOST_VALUES:
        raise Refusal(413, f"The request body has more than {MOST_VALUES:,} values.")
    try:
        is_long = len(raw) > LONG_BODY_BYTES
        context.json = await anyio.to_thread.run_sync(parse_strict, raw) if is_long else parse_strict(raw)
    except StrictJsonError as error:
        if not error.path:
            raise Refusal(400, str(error)) from error
        problem: object = [str(error)]
        for step in reversed(error.path[:DEEPEST]):
            problem = {step: problem}
        assert isinstance(problem, dict)
        raise InvalidInput(problem, "wrong_form") from error
    context.raw_body = raw
    return replay(raw, context.body.receive)


def trim(value: object) -> Any:
    """The value with white space removed from both ends of every string in it."""
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


Place = tuple[str, str]
"""A method in upper case and a whole path."""
UNUSED = (SwaggerUIMiddleware, ResponseValidationMiddleware, ContextMiddleware)


class ExactRouting(RoutingMiddleware):
    """Adds to the scope what Connexion's own routing adds. Neither it nor the endpoints redirect: paths with a slash
    more or less would get a 307, which no contract lists, to a host that may not be the one that clients use.
    """

    def __init__(self, app: ASGIApp) -> None:
        super().__init__(app)
        self.router.redirect_slashes = False
        self._found: dict[Place, dict[str, str]] = {}

    def add_api(self, specification: Any, base_path: str | None = None, **options: Any) -> None:
        super().add_api(specification, base_path=base_path, **options)
        self.router.routes[-1].app.redirect_slashes = False
        base = specification.base_path if base_path is None else base_path
        for path, method, operation in operations(specification.raw):
            if "{" not in path:
                name = handler_name(options["resolver"].generation, operation)
                self._found[method.upper(), base + path] = {"api_base_path": base, "operation_id": name}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = self._found.get((scope["method"], scope["path"])) if scope["type"] == "http" else None
        if found is None or scope.get("root_path"):
            await super().__call__(scope, receive, send)
            return
        extensions = {**(scope.get("extensions") or {}), ROUTING_CONTEXT: dict(found)}
        await self.app({**scope, "path_params": {}, "extensions": extensions}, receive, send)


class Endpoint(AsyncOperation):
    """An operation that calls its endpoint with the request as it is."""

    def __init__(self, fn: Callable[..., Any], **options: Any) -> None:
        super().__init__(fn, **options)
        self.endpoint = fn

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self.endpoint(scope, receive)
        await response(scope, receive, send)


class EndpointApi(AsyncApi):
    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.router.redirect_slashes = False

    def make_operation(self, operation: Any) -> Endpoint:
        made: Endpoint = Endpoint.from_operation(
            operation, pythonic_params=self.pythonic_params, jsonifier=self.jsonifier
        )
        return made


class Endpoints(AsyncASGIApp):
    api_cls = EndpointApi

    def __init__(self) -> None:
        super().__init__()
        self.router.redirect_slashes = False


class KeyHandler(ApiKeySecurityHandler):
    """Calls our functions as they are, with what a header contains; Connexion would inspect their parameters at each
    request.
    """

    def _get_verify_func(self, api_key_info_func: Callable[..., Any], loc: str, name: str, _scopes: Any) -> Any:
        assert loc == "header"
        wanted = name.lower().encode()

        def verify(request: Any) -> Any:
            key = header(request.scope, wanted)
            return NO_VALUE if key is None else api_key_info_func(key.decode("latin-1"), request=request)

        return verify


SECURITY = {"apiKey": KeyHandler}


class OperationLookup(RoutedMiddleware):
    """A layer that finds its operation by one look at a table; Connexion goes through the contracts each time."""

    def __init__(self, app: ASGIApp) -> None:
        super().__init__(app)
        self._known: dict[str, ASGIApp] = {}

    def add_api(self, specification: Any, **options: Any) -> Any:
        api = super().add_api(specification, **options)
        self._known.update(api.operations)
        return api

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        name = scope["extensions"][ROUTING_CONTEXT].get("operation_id") if scope["type"] == "http" else None
        operation = self._known.get(name or "")
        await (operation or super().__call__)(scope, receive, send)


class SecurityLayer(OperationLookup, SecurityMiddleware):
    """Connexion's layer of security."""


class Validation(RequestValidationOperation):
    """Calls our validators as they are, unless Connexion has to check the media type of a body (`checks_type`). It
    would look for the schema, too, which our validators know.
    """

    def __init__(
        self, next_app: ASGIApp, *, operation: Any, validator_map: Any, checks_type: bool, **options: Any
    ) -> None:
        super().__init__(next_app, operation=operation, validator_map=validator_map, **options)
        self._parameters, self._body = validator_map["parameter"](), None
        self._is_theirs = checks_type and bool(operation.request_body)
        if operation.request_body and not checks_type:
            (media_type,) = operation.consumes
            self._body = validator_map["body"][media_type]()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._is_theirs:
            await super().__call__(scope, receive, send)
            return
        self._parameters.validate(scope)
        if self._body is not None:
            receive, scope = await self._body.wrap_receive(receive, scope=scope)
        await self.next_app(scope, receive, send)


class ValidationApi(RequestValidationAPI):
    def make_operation(self, operation: Any) -> Validation:
        return Validation(
            self.next_app,
            operation=operation,
            strict_validation=self.strict_validation,
            validator_map=self.validator_map,
            # Elsewhere the guard has set the one type that the operation has.
            checks_type=not f"{self.base_path}/".startswith(TYPED_PREFIXES),
        )


class ValidationLayer(OperationLookup, RequestValidationMiddleware):
    api_cls = ValidationApi


REPLACED = {
    RoutingMiddleware: ExactRouting,
    SecurityMiddleware: SecurityLayer,
    RequestValidationMiddleware: ValidationLayer,
}


def middlewares() -> list[Any]:
    """Connexion's layers without those that do nothing here: its explorer, its check of responses, and what makes the
    request known to functions without arguments.
    """
    kept = [each for each in ConnexionMiddleware.default_middlewares if each not in UNUSED]
    return [REPLACED.get(each, each) for each in kept]


@contextmanager
def trusted_documents() -> Iterator[None]:
    """Connexion accepts every document meanwhile; validating ours takes it 0.4 seconds of CPU time."""
    schema = OpenAPISpecification.openapi_schema
    OpenAPISpecification.openapi_schema = {}
    try:
        yield
    finally:
        OpenAPISpecification.openapi_schema = schema
