"""The webhook calls of flows."""

import time
from collections.abc import Callable, Collection, Sequence
from typing import Any
from urllib.parse import urlsplit

from flows.engine.services import WebhookReply, WebhookRequest
from persistence.deliveries.signers import find_subscriber_signer
from persistence.sql.columns import new_uuid
from worker.http.errors import SendFailed
from worker.http.safe_http import HttpResponse
from worker.runtime import Runtime
from worker.webhooks.attempts import DAMAGED, secrets_of
from worker.webhooks.signing import signature_headers

LONGEST_DELAYS_SECONDS = (0.25, 1.0, 4.0)
"""A contact waits for the response, so these attempts follow each other faster than those of events."""
BLOCKED = ("address", "header", "url")
RETRIED_STATUSES = (400, 500, 502, 503, 504)


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
            if _is_worth_retrying(answer, failure) and not self._runtime.stopping.wait(delay):
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


def _is_worth_retrying(answer: HttpResponse | None, failure: SendFailed | None) -> bool:
    if answer is not None:
        return answer.status in RETRIED_STATUSES
    return failure is not None and failure.kind not in BLOCKED


def _trace_request(request: WebhookRequest, headers: dict[str, str]) -> str:
    return _trace(f"{request.method} {request.url} HTTP/1.1", list(headers.items()), request.body)


def _trace_response(answer: HttpResponse) -> str:
    return _trace(f"HTTP/1.1 {answer.status}", list(answer.headers.items()), answer.body.decode("utf-8", "replace"))


def _trace(first: str, headers: Sequence[tuple[str, Any]], body: str) -> str:
    lines = [first, *(f"{name}: {value}" for name, value in headers), "", body]
    return "\r\n".join(lines)
