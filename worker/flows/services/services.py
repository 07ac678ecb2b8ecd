"""The services of the engine, each with the settings it needs: webhooks, e-mail, airtime, language models, classifiers,
and the check whom they may call.
"""

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

import orjson

from flows.asset_kinds import Classifier, Llm
from flows.engine.services import (
    AirtimeTransfer,
    Classification,
    LlmReply,
    ServiceError,
    Services,
    WebhookReply,
    WebhookRequest,
)
from flows.environment import parse_moment
from flows.numbers import NumberError, parse_decimal, render_decimal
from flows.urns import Urn
from persistence.contacts.owners import find_owners
from persistence.database import Database
from persistence.deliveries.receivers import find_subscriber_signer
from persistence.sessions.parking import Address
from persistence.sql.columns import new_uuid
from persistence.workspaces.records import Workspace
from worker.flows.services.email import FlowEmail
from worker.http.connections import SendFailed
from worker.http.safe_http import HttpResponse
from worker.runtime import Runtime
from worker.webhooks.dispatcher import DAMAGED, secrets_of
from worker.webhooks.signing import signature_headers

logger = logging.getLogger("relayboard.worker")

BUSY_STATUSES = (429, 500, 502, 503, 504)

ID_CHARACTERS = 255

KEPT_BYTES = 10_000
"""The maximum size of a webhook's response that is stored with a result."""

OUTPUT_CHARACTERS = 10_000
LONGEST_DELAYS_SECONDS = (0.25, 1.0, 4.0)
"""A contact waits for the response, so these attempts follow each other faster than those of events."""
BLOCKED = ("address", "header", "url")
RETRIED_STATUSES = (400, 500, 502, 503, 504)


class UrnClaims:
    """Tells which URNs are free in a workspace; they are assigned when the sprint is recorded."""

    def __init__(self, database: Database, workspace_id: int) -> None:
        self._database = database
        self._workspace_id = workspace_id

    def claim(self, contact_uuid: str, urn: Urn) -> bool:
        """Whether no other contact has this URN."""
        with self._database.reading() as tx:
            owner = find_owners(tx, self._workspace_id, [urn]).get(urn.identity)
        return owner is None or owner.uuid == contact_uuid


class CallbackAddresses:
    """Gives the addresses at which other systems continue flows of a workspace that wait for them."""

    def __init__(self, root: str, secret_key: str, workspace_id: int) -> None:
        self._root = root
        self._secret_key = secret_key
        self._workspace_id = workspace_id

    def address(self, contact_uuid: str, session_uuid: str, session_began_on: str, number: int) -> str:
        """The URL of a wait; the same one each time."""
        began_on = parse_moment(session_began_on)
        assert began_on is not None, "the engine wrote it"
        address = Address(self._workspace_id, contact_uuid, session_uuid, began_on, number)
        return f"{self._root}/callbacks/{address.write(self._secret_key)}"


def open_outside(runtime: Runtime, workspace: Workspace, before_call: Callable[[], None]) -> Services:
    """The engine's services for sprints of one workspace; `before_call` is called before anything slow."""
    settings = runtime.settings

    def find_service(name: str, url: str, key: str, delays_seconds: Sequence[float] = ()) -> JsonService | None:
        return JsonService(name, url, key, runtime, before_call, delays_seconds) if url else None

    model = find_service("the language model", settings.llm_url, settings.llm_key)
    classifier = find_service("the classifier", settings.classifier_url, settings.classifier_key)
    # A transfer has an idempotency key, so repeating the request is safe.
    airtime = find_service(
        "the airtime service", settings.airtime_url, settings.airtime_key, list_delays_seconds(runtime)
    )
    mail_server, root = settings.smtp_url, settings.base_url.rstrip("/")
    return Services(
        webhook=FlowWebhooks(runtime, before_call, workspace.id),
        email=None if mail_server is None else FlowEmail(runtime, mail_server, before_call),
        classifier=None if classifier is None else FlowClassifier(classifier),
        llm=None if model is None else FlowLanguageModel(model, settings.llm_model),
        airtime=None if airtime is None else FlowAirtime(airtime),
        urns=UrnClaims(runtime.database, workspace.id),
        callbacks=CallbackAddresses(root, settings.secret_key, workspace.id) if root else None,
    )


@dataclass(frozen=True, slots=True)
class JsonService:
    """One URL that gets JSON by POST; `name` is used in messages, `before_call` is called before each attempt. A
    request is sent once, and once more after each of `delays_seconds` while the service is busy, cannot be reached or
    sends an incomplete response; such delays are only for services that recognize repeats. A response that is cut off,
    because it is too large or the connection broke, counts as none.
    """

    name: str
    url: str
    key: str
    runtime: Runtime
    before_call: Callable[[], None]
    delays_seconds: Sequence[float] = ()

    def __repr__(self) -> str:
        return f"JsonService({self.name!r})"

    def ask(self, question: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> dict[str, Any]:
        """The JSON object of a 2xx response. Raises ServiceError, which never contains the URL or the key."""
        sent = {"Content-Type": "application/json", "Accept": "application/json", **(headers or {})}
        if self.key:
            sent["Authorization"] = f"Bearer {self.key}"
        body = orjson.dumps(question)
        answer = self._try(sent, body)
        for delay in self.delays_seconds:
            if _is_worth_retrying(answer) and not self.runtime.stopping.wait(delay):
                answer = self._try(sent, body)
        if isinstance(answer, SendFailed):
            raise self.fail(f"could not be reached ({answer.kind})") from answer
        if not answer.is_complete:
            raise self.fail("could not be reached (its response was cut off)")
        return self._read(answer)

    def fail(self, problem: str) -> ServiceError:
        """The error for a problem, which is also logged."""
        logger.warning("%s of flows %s", self.name, problem)
        return ServiceError(f"{self.name} {problem}")

    def _try(self, headers: Mapping[str, str], body: bytes) -> HttpResponse | SendFailed:
        self.before_call()
        try:
            return self.runtime.http.send("POST", self.url, headers=headers, body=body)
        except SendFailed as failure:
            return failure

    def _read(self, answer: HttpResponse) -> dict[str, Any]:
        if not 200 <= answer.status < 300:
            raise self.fail(f"responded with status {answer.status}")
        try:
            content = orjson.loads(answer.body)
        except orjson.JSONDecodeError:
            content = None
        if not isinstance(content, dict):
            raise self.fail("did not return a JSON object")
        return content


@dataclass(frozen=True, slots=True)
class FlowAirtime:
    """Requests transfers from the service in the settings, each with a UUID by which the service recognizes a
    repeat."""

    service: JsonService

    def transfer(
        self, sender: Urn | None, recipient: Urn, amounts: Mapping[str, Decimal], transfer_uuid: str
    ) -> AirtimeTransfer:
        """The transfer that the service reports. Raises ServiceError."""
        offered = {currency: amount for currency, amount in amounts.items() if amount > 0}
        if not offered:
            raise ServiceError("there is no amount to transfer")
        question = {
            "uuid": transfer_uuid,
            "recipient": recipient.identity,
            "sender": None if sender is None else sender.identity,
            "amounts": {currency: render_decimal(amount) for currency, amount in offered.items()},
        }
        answer = self.service.ask(question, {"Idempotency-Key": transfer_uuid})
        currency = answer.get("currency")
        actual = _read_amount(answer.get("amount"))
        if not isinstance(currency, str) or currency not in offered or actual is None:
            raise self.service.fail("did not return an amount in one of the currencies")
        return AirtimeTransfer(_read_id(answer.get("id")), currency, offered[currency], actual)


def _read_text(text: object) -> str:
    if not isinstance(text, str) or not _clean(text):
        raise ValueError("no text")
    return _clean(text)


def _read_confidence(number: object) -> Decimal:
    if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number <= 1:
        raise ValueError("no confidence")
    return Decimal(str(number))


def _clean(text: str) -> str:
    return text.replace("\0", "")


@dataclass(frozen=True, slots=True)
class FlowClassifier:
    """Asks the service in the settings, for every classifier of the workspace."""

    service: JsonService

    def classify(self, classifier: Classifier, text: str) -> Classification:
        """The intents of a text, best first, and its entities. Raises ServiceError."""
        named = {"uuid": classifier.uuid, "name": classifier.name, "type": classifier.type}
        question = {"classifier": {**named, "intents": list(classifier.intents)}, "text": text}
        answer = self.service.ask(question)
        entities = answer.get("entities") or {}
        if len(orjson.dumps(answer)) > KEPT_BYTES:
            raise self.service.fail(f"returned more than {KEPT_BYTES} bytes")
        try:
            intents = _read_candidates(answer.get("intents"), "name")
            found = {_clean(name): _read_candidates(each, "value") for name, each in entities.items()}
        except (AttributeError, TypeError, ValueError, KeyError) as error:
            raise self.service.fail("did not return intents and entities") from error
        return Classification(intents, found)


@dataclass(frozen=True, slots=True)
class FlowLanguageModel:
    """Uses the model in the settings for every model that a flow names."""

    service: JsonService
    model: str

    def respond(self, llm: Llm, instructions: str, text: str) -> LlmReply:
        """The model's answer to an input with instructions. Raises ServiceError."""
        messages = [{"role": "system", "content": instructions}, {"role": "user", "content": text}]
        started = time.monotonic()
        answer = self.service.ask({"model": self.model, "messages": messages})
        elapsed_ms = round((time.monotonic() - started) * 1000)
        output = _find_output(answer)
        if output is None:
            raise self.service.fail("responded without a text")
        usage = answer.get("usage")
        tokens = [_count(usage, name) for name in ("prompt_tokens", "completion_tokens")]
        return LlmReply(output.strip()[:OUTPUT_CHARACTERS], tokens[0], tokens[1], elapsed_ms)


def _trace(first: str, headers: Sequence[tuple[str, Any]], body: str) -> str:
    lines = [first, *(f"{name}: {value}" for name, value in headers), "", body]
    return "\r\n".join(lines)


class FlowWebhooks:
    """Makes calls with `SafeHttp`; failed ones (400, 5xx, no connection) up to three times more. Domains that the
    operator blocked are not called. `before_call` is called before each attempt, because calls may take long. Calls to
    subscribers of resthooks are signed with their secrets.
    """

    def __init__(self, runtime: Runtime, before_call: Callable[[], None], workspace_id: int) -> None:
        self._runtime = runtime
        self._before_call = before_call
        self._workspace_id = workspace_id
        self._delays = list_delays_seconds(runtime)

    def call(self, request: WebhookRequest) -> WebhookReply:
        """One call with its retries; returns the response of the last attempt."""
        blocked = find_blocked(request.url, self._runtime.settings.flow_blocked_domains)
        if blocked:
            return WebhookReply(0, "", blocked_hostname=blocked)
        started = time.monotonic()
        headers = {name: value for name, value in request.headers.items() if name}
        body = request.body.encode() if request.body else None
        if request.resthook:
            signature = self._sign(request, body or b"")
            if signature is None:
                return WebhookReply(0, "", problem=DAMAGED)
            headers |= signature
        answer, failure = self._try(request, headers, body)
        retries = 0
        for delay in self._delays:
            if _is_call_worth_retrying(answer, failure) and not self._runtime.stopping.wait(delay):
                retries += 1
                answer, failure = self._try(request, headers, body)
        elapsed_ms = round((time.monotonic() - started) * 1000)
        trace = _trace_request(request, headers)
        if answer is None:
            problem = failure.sentence if failure is not None and failure.kind in BLOCKED else ""
            size = len(trace.encode())
            return WebhookReply(0, trace, elapsed_ms=elapsed_ms, retries=retries, request_bytes=size, problem=problem)
        response = _trace_response(answer)
        return WebhookReply(
            answer.status,
            trace,
            response,
            answer.body,
            dict(answer.headers),
            elapsed_ms,
            retries,
            len(trace.encode()),
            len(response.encode()),
            is_oversized=not answer.is_complete,
        )

    def _sign(self, request: WebhookRequest, body: bytes) -> dict[str, str] | None:
        """The headers that sign a call to a subscriber; None if its secret cannot be decrypted."""
        with self._runtime.database.reading() as tx:
            signer = find_subscriber_signer(tx, self._workspace_id, request.resthook, request.url)
        now = self._runtime.database.clock()
        if signer is not None and signer.is_damaged:
            return None
        return signature_headers(new_uuid(), now, body, secrets_of(signer, now))

    def _try(
        self, request: WebhookRequest, headers: dict[str, str], body: bytes | None
    ) -> tuple[HttpResponse | None, SendFailed | None]:
        self._before_call()
        try:
            return self._runtime.http.send(request.method, request.url, headers=headers, body=body), None
        except SendFailed as failure:
            return None, failure


def find_blocked(url: str, domains: Collection[str]) -> str:
    """The host of a URL if it belongs to one of the domains; otherwise an empty string."""
    # A trailing dot does not change a host name.
    hostname = (urlsplit(url).hostname or "").rstrip(".")
    labels = hostname.split(".")
    return hostname if any(".".join(labels[start:]) in domains for start in range(len(labels))) else ""


def list_delays_seconds(runtime: Runtime) -> list[float]:
    """The delays before each retry of a call that a contact waits for."""
    wanted = runtime.settings.webhook_retry_delays_seconds
    return [min(pair) for pair in zip(wanted, LONGEST_DELAYS_SECONDS, strict=False)]


def _is_worth_retrying(answer: HttpResponse | SendFailed) -> bool:
    if isinstance(answer, SendFailed):
        return answer.kind not in BLOCKED
    return answer.status in BUSY_STATUSES or not answer.is_complete


def _read_amount(amount: object) -> Decimal | None:
    """A number above 0, given as a JSON number or a string; None for anything else."""
    if isinstance(amount, bool) or not isinstance(amount, int | float | str):
        return None
    try:
        number = parse_decimal(str(amount))
    except NumberError:
        return None
    return number if number > 0 else None


def _read_id(text: object) -> str:
    return text.replace("\0", "")[:ID_CHARACTERS] if isinstance(text, str) else ""


def _read_candidates(candidates: object, name: str) -> Sequence[tuple[str, Decimal]]:
    """Strings with their confidence, the most certain first."""
    if not isinstance(candidates, list):
        raise TypeError("no list")
    read = [(_read_text(each[name]), _read_confidence(each["confidence"])) for each in candidates]
    return sorted(read, key=lambda candidate: -candidate[1])


def _find_output(answer: dict[str, Any]) -> str | None:
    choices = answer.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    content = message.get("content") if isinstance(message, dict) else None
    return content.replace("\0", "") if isinstance(content, str) else None


def _count(usage: object, name: str) -> int:
    count = usage.get(name) if isinstance(usage, dict) else None
    return count if isinstance(count, int) and not isinstance(count, bool) and count >= 0 else 0


def _is_call_worth_retrying(answer: HttpResponse | None, failure: SendFailed | None) -> bool:
    if answer is not None:
        return answer.status in RETRIED_STATUSES
    return failure is not None and failure.kind not in BLOCKED


def _trace_request(request: WebhookRequest, headers: dict[str, str]) -> str:
    return _trace(f"{request.method} {request.url} HTTP/1.1", list(headers.items()), request.body)


def _trace_response(answer: HttpResponse) -> str:
    return _trace(f"HTTP/1.1 {answer.status}", list(answer.headers.items()), answer.body.decode("utf-8", "replace"))
