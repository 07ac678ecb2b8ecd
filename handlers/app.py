"""The API as one ASGI application, whose layers are told that the process stops before the server waits for open
connections.
"""

import functools
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import anyio.to_thread
from connexion.exceptions import ProblemException
from connexion.middleware import ConnexionMiddleware
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from handlers.asgi.console import Bypass, Console
from handlers.asgi.explorer import Explorer
from handlers.asgi.gateway import Callbacks, GatewayCalls
from handlers.asgi.guard import CrossOrigin, Guard
from handlers.asgi.health import Check, Health, Traced
from handlers.asgi.plain_responses import (
    RETRY_AFTER_SECONDS,
    ArchiveFiles,
    ClientGone,
    Explain,
    MediaFiles,
    PlainResponse,
    PrivateFiles,
    Refusal,
    detail_response,
)
from handlers.asgi.rate_limiter import Calls, RateLimiter
from handlers.asgi.response_check import ResponseCheck
from handlers.asgi.uploads import UploadPlaces
from handlers.asgi.webchat import ADDRESS_PART, WebChat
from handlers.contract.operations import load_contract, whole_paths
from handlers.contract.resolver import HandlerResolver
from handlers.contract.routing import SECURITY, VALIDATORS, Endpoints, middlewares, trusted_documents
from handlers.errors import (
    TooManyRequests,
    answer_database,
    answer_gone,
    answer_http,
    answer_lost_race,
    answer_refusal,
    answer_rule,
    answer_store,
    answer_too_many,
    answer_too_many_attempts,
    answer_unexpected,
    explain_database,
)
from handlers.held_syncs import SHARE_OF_CONNECTIONS, HeldSyncs
from handlers.listeners import Listeners
from handlers.request import Service, context_of
from handlers.threads import SLOW_AT_ONCE, ReadLanes, WriteLanes, process_threads
from handlers.token_notes import TokenNotes
from openapi.bundle import GENERATIONS, Document, bundle, parameters
from persistence.accounts.passwords import Passwords
from persistence.accounts.signing_in import TooManyAttempts
from persistence.channels.visitors import read_visitor_changes
from persistence.database import Database, Wake, open_serving_database
from persistence.errors import DatabaseError, LostRace, RuleBroken
from persistence.media.incoming import is_expected
from persistence.media.store import StoreUnavailable, open_store
from persistence.service.diagnosis import Trouble
from persistence.sql.standby import Standby, open_standby
from relayboard.base.settings import Settings

POSTGRES_THREADS = 4
SQLITE_THREADS = 1


class Stopping:
    """What to do when the process stops; everything that is added is called once."""

    def __init__(self) -> None:
        self._calls: list[Callable[[], None]] = []

    def add(self, call: Callable[[], None]) -> None:
        self._calls.append(call)

    def begin(self) -> None:
        for call in self._calls:
            call()


def create_app(
    settings: Settings,
    *,
    database: Database | None = None,
    wake: Wake | None = None,
    passwords: Passwords | None = None,
    stopping: Stopping | None = None,
    check_responses: bool = False,
    checks: Mapping[str, Check] | None = None,
) -> ASGIApp:
    """The whole service: guard, health and explorer pages, then Connexion for the generations of the API. With
    `check_responses` (used in tests), a response that does not match the contract raises an exception; `passwords` with
    small parameters make tests quick. `stopping` ends streams when the process stops, `checks` are more conditions of
    readiness.
    """
    connections_kept = 2 * POSTGRES_THREADS + SLOW_AT_ONCE + 2
    database = database or open_serving_database(settings, connections_kept)
    if wake is not None:
        database.wake = wake
    threads = SQLITE_THREADS if database.sqlite else POSTGRES_THREADS
    limiter = RateLimiter(database, settings.rate_limit.requests, settings.rate_limit.period)
    callbacks = RateLimiter(database, settings.callback_limit.requests, settings.callback_limit.period)
    pool = process_threads()
    uploads = UploadPlaces(settings.max_uploads, settings.max_workspace_uploads)
    notes = TokenNotes(database, settings.secret_key)
    store = open_store(settings)
    listeners, visitors = _listeners(settings, database)
    most_held = settings.max_connections // SHARE_OF_CONNECTIONS
    held_syncs = HeldSyncs(database, pool, most=most_held, seconds=settings.sync_hold_seconds)
    if stopping is not None:
        stopping.add(listeners.stop)
        stopping.add(visitors.stop)
        stopping.add(held_syncs.stop)
    service = Service(
        settings,
        database,
        threads,
        limiter,
        callbacks,
        notes,
        store,
        uploads,
        pool,
        ReadLanes(threads, pool),
        WriteLanes(threads, pool),
        listeners,
        visitors,
        held_syncs,
        passwords or Passwords(),
        open_standby(settings, database, connections_kept),
    )
    app: ASGIApp = Guard(_route(service, checks or {}), settings)
    if settings.traces:
        app = Traced(app)
    return ResponseCheck(app) if check_responses else app


def _listeners(settings: Settings, database: Database) -> tuple[Listeners, Listeners]:
    """Those of workspaces, and of visitors of sites."""
    members = Listeners(
        database,
        most=max(1, settings.max_connections // 2),
        most_of_workspace=settings.max_workspace_streams,
        seconds=settings.stream_seconds,
    )
    visitors = Listeners(
        database,
        most=max(1, settings.max_connections // 4),
        most_of_workspace=settings.max_workspace_visitors,
        seconds=settings.stream_seconds,
        read=read_visitor_changes,
    )
    return members, visitors


def _route(service: Service, checks: Mapping[str, Check]) -> ASGIApp:
    """The API, and the layers of pages, which requests for whole paths of the contract pass by."""
    settings, database, api = service.settings, service.database, _connexion_app()
    most, period = settings.callback_limit.requests // ADDRESS_PART, settings.callback_limit.period.total_seconds()
    calls = Calls(max(1, most), period)
    app: ASGIApp = _with_service(WebChat(Callbacks(GatewayCalls(api), calls), calls), service)
    app = Explorer(app, settings)
    app = Console(app)
    app = MediaFiles(app, settings, _explain_expected(service))
    app = ArchiveFiles(app, settings, database.clock)
    app = PrivateFiles(app, settings, database.clock)
    if service.standby is not None:
        checks = {"standby": _follows(service.standby), **checks}
    app = Health(app, settings, database, checks=checks, limiter=service.limiter)
    return Bypass(_with_service(CrossOrigin(api), service), app, whole_paths())


def _explain_expected(service: Service) -> Explain:
    """Whoever asks for a file of an incoming message before it is there is told to come back."""

    def look(name: str) -> PlainResponse | None:
        try:
            with service.database.reading() as tx:
                is_coming = is_expected(tx, name.rpartition("/")[2].partition(".")[0])
        except DatabaseError as error:
            return detail_response(*explain_database(error))
        headers = {"Retry-After": RETRY_AFTER_SECONDS, "Cache-Control": "no-store"}
        return detail_response(404, "The file is being fetched; try again.", headers) if is_coming else None

    async def explain(name: str) -> PlainResponse | None:
        return await service.pool.run(functools.partial(look, name), service.limiter)

    return explain


def _follows(standby: Standby) -> Check:
    async def check() -> Sequence[Trouble]:
        standby.begin()
        behind = standby.describe_lag()
        return [] if behind is None else [Trouble("standby", behind, "", stops=False)]

    return check


def _with_service(app: ASGIApp, service: Service) -> ASGIApp:
    async def with_service(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            context_of(scope).service = service
        await app(scope, receive, closing_first(send) if scope["type"] == "lifespan" else send)

    def closing_first(send: Send) -> Send:
        """Sends `Connection: close` before what follows: later data may be cut off."""

        async def send_closed(message: Message) -> None:
            if message["type"].startswith("lifespan.shutdown."):
                await anyio.to_thread.run_sync(service.token_notes.close)
                if service.standby is not None:
                    await anyio.to_thread.run_sync(service.standby.close)
            await send(message)

        return send_closed

    return with_service


@functools.cache
def _connexion_app() -> ASGIApp:
    """Routing and validation of all generations; created once, because it holds no state of a service."""
    logging.getLogger("connexion").setLevel(logging.WARNING)
    app = ConnexionMiddleware(Endpoints(), import_name="relayboard", middlewares=middlewares())
    for generation in GENERATIONS:
        load_contract(generation)
        with trusted_documents():
            app.add_api(
                _document(generation),
                resolver=HandlerResolver(generation),
                validator_map=VALIDATORS,
                security_map=SECURITY,
                name=generation,
            )
    handlers: dict[type[Exception], Any] = {
        RuleBroken: answer_rule,
        LostRace: answer_lost_race,
        TooManyRequests: answer_too_many,
        TooManyAttempts: answer_too_many_attempts,
        Refusal: answer_refusal,
        ClientGone: answer_gone,
        ProblemException: answer_http,
        HTTPException: answer_http,
        DatabaseError: answer_database,
        StoreUnavailable: answer_store,
        Exception: answer_unexpected,
    }
    for kind, handler in handlers.items():
        app.add_error_handler(kind, handler)
    application: ASGIApp = app
    return application


def _document(generation: str) -> Document:
    document = bundle(generation)
    for name, scheme in document["components"].get("securitySchemes", {}).items():
        scheme["x-apikeyInfoFunc"] = f"handlers.auth.{name}_info"
        if scheme["in"] == "cookie":
            # We read the whole header, because Connexion fails on cookies of other programs.
            scheme |= {"in": "header", "name": "Cookie"}
    # Our validators read parameters, because Connexion does not support alternatives in schemas.
    for part in parameters(document):
        part["schema"] = {"type": "string"}
    return document
