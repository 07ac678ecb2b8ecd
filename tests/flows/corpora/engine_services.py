"""Stands in for the services of the outside world as case files describe them."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, urlsplit

from flows.engine.assets import Channel, Classifier, Llm
from flows.engine.services import (
    AirtimeTransfer,
    Classification,
    LlmReply,
    ServiceError,
    Services,
    WebhookReply,
    WebhookRequest,
)
from flows.urns import Urn

RESPONSE_BYTES_MAX = 100_000
BLOCKED_DOMAINS = ("graph.facebook.com",)
_LEET = str.maketrans("abegilost", "483911057")
Mock = dict[str, Any]


@dataclass
class CountingClock:
    """Goes on by a second at each look and counts UUIDs."""

    moment: datetime = datetime(2025, 5, 4, 12, 30, 0, 123456, tzinfo=UTC)
    drawn: Decimal = Decimal("0.5")
    count: int = 0
    is_standing: bool = False

    def now(self) -> datetime:
        if not self.is_standing:
            self.moment += timedelta(seconds=1)
        return self.moment

    def random(self) -> Decimal:
        return self.drawn

    def uuid(self) -> str:
        self.count += 1
        return f"10000000-0000-4000-8000-{self.count:012d}"


@dataclass
class MockedWeb:
    """Answers calls with prepared responses, in order for each address."""

    mocks: Mapping[str, list[Mock]] = field(default_factory=dict)
    used: dict[str, int] = field(default_factory=dict)

    def call(self, request: WebhookRequest) -> WebhookReply:
        trace = _trace_request(request)
        parts = urlsplit(request.url)
        if _is_blocked(parts.hostname or ""):
            return WebhookReply(0, trace, blocked_hostname=parts.hostname or "")
        mock = self._next_mock(request.url)
        if not mock["status"]:
            return WebhookReply(0, trace, request_bytes=len(trace.encode()))
        body = _read_body(mock)
        headers = {name: str(value) for name, value in (mock.get("headers") or {}).items()}
        is_oversized = len(body) > RESPONSE_BYTES_MAX
        sent = headers if "Content-Length" in headers else {"Content-Length": str(len(body)), **headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in sorted(sent.items()))
        status = f"{mock['status']} {HTTPStatus(mock['status']).phrase}"
        response = f"HTTP/1.0 {status}\r\n{head}\r\n".encode() + body
        return WebhookReply(
            mock["status"],
            trace,
            response.decode("utf-8", "replace"),
            body[:RESPONSE_BYTES_MAX],
            headers,
            request_bytes=len(trace.encode()),
            response_bytes=len(response),
            is_oversized=is_oversized,
        )

    def _next_mock(self, url: str) -> Mock:
        position = self.used.get(url, 0)
        self.used[url] = position + 1
        if url in self.mocks:
            return self.mocks[url][position]
        query = parse_qs(urlsplit(url).query)
        assert "content" in query, f"a call to {url} is not prepared"
        body = query["content"][0]
        kind = query.get("type", ["text/plain; charset=utf-8"])[0]
        headers = {"Content-Length": len(body), "Content-Type": kind, "Date": "Wed, 11 Apr 2018 18:24:30 GMT"}
        return {"status": 200, "body": body, "headers": headers}


def _is_blocked(hostname: str) -> bool:
    bare = hostname.rstrip(".")
    return any(bare == domain or bare.endswith(f".{domain}") for domain in BLOCKED_DOMAINS)


def _trace_request(request: WebhookRequest) -> str:
    parts = urlsplit(request.url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    body = request.body
    lines = {"Host": parts.netloc, "User-Agent": "goflow-testing"}
    if body:
        lines["Content-Length"] = str(len(body.encode()))
    lines |= dict(sorted(request.headers.items())) | {"Accept-Encoding": "gzip"}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"{request.method} {target} HTTP/1.1\r\n{head}\r\n{body}"


def _read_body(mock: Mock) -> bytes:
    body = mock.get("body") or ""
    text = body if isinstance(body, str) else json.dumps(body)
    content = base64.b64decode(text) if mock.get("body_encoding") == "base64" else text.encode()
    return content * int(mock.get("body_repeat") or 1)


@dataclass(frozen=True)
class PreparedEmail:
    """Delivers everything unless told to fail."""

    failure: str = ""

    def send(self, addresses: Sequence[str], subject: str, body: str) -> None:
        if self.failure:
            raise ServiceError(self.failure)


class PreparedLlm:
    """Fails, returns or categorizes as its input and instructions tell it to."""

    def respond(self, llm: Llm, instructions: str, text: str) -> LlmReply:
        if text.startswith("\\error "):
            raise ServiceError(text.removeprefix("\\error "))
        if text.startswith("\\return "):
            output = text.removeprefix("\\return ")
        elif instructions.startswith("Categorize"):
            output = instructions.split()[-1].removesuffix("]")
        elif instructions.startswith("Translate"):
            output = text.translate(_LEET)
        else:
            output = f"You asked:\n\n{instructions}\n\n{text}"
        return LlmReply(output, 45, 78)


@dataclass(frozen=True)
class PreparedAirtime:
    """Transfers in one currency only."""

    currency: str = "RWF"

    def transfer(
        self, sender: Urn | None, recipient: Urn, amounts: Mapping[str, Decimal], transfer_uuid: str
    ) -> AirtimeTransfer:
        if "666" in recipient.path:
            raise ServiceError("invalid recipient number")
        amount = amounts.get(self.currency)
        if amount is None:
            raise ServiceError(f"no amount configured for transfers in {self.currency}")
        return AirtimeTransfer("4ZJR8BT9MF", self.currency, amount, amount)


@dataclass(frozen=True)
class EarlyAirtime:
    """Gives the biggest product an operator offers in a currency that is not above the amount asked for."""

    mocks: Mapping[str, list[Mock]]

    def transfer(
        self, sender: Urn | None, recipient: Urn, amounts: Mapping[str, Decimal], transfer_uuid: str
    ) -> AirtimeTransfer:
        products = next(items for url, items in self.mocks.items() if "/products" in url)[0]["body"]
        offers = products if isinstance(products, list) else json.loads(products)
        currency = offers[0]["destination"]["unit"]
        sizes = [Decimal(str(offer["destination"]["amount"])) for offer in offers]
        actual = max(size for size in sizes if size <= amounts[currency])
        return AirtimeTransfer("2237512891", currency, amounts[currency], actual)


class PreparedClassifier:
    """Finds the first intents of the classifier with falling confidence, and one place."""

    def classify(self, classifier: Classifier, text: str) -> Classification:
        pairs = zip(classifier.intents, ("0.5", "0.25"), strict=False)
        intents = [(name, Decimal(confidence)) for name, confidence in pairs]
        return Classification(intents, {"location": [("Quito", Decimal(1))]})


class PreparedUrns:
    """Gives away all addresses but those that say they are taken."""

    def claim(self, contact_uuid: str, urn: Urn) -> bool:
        return "taken" not in urn.path


class PreparedSendable:
    """Lets everything through that is not marked as forbidden."""

    def check(self, contact_uuid: str, channel: Channel | None, text: str) -> str:
        return "forbidden_content" if "FORBIDDEN" in text else ""


def prepare_services(case: Mapping[str, Any], fixtures: Mapping[str, Any], **others: Any) -> Services:
    """All services, as the fixtures describe them and a case wants them."""
    prompts = (fixtures.get("services") or {}).get("llm_prompts") or {}
    mocks = case.get("http_mocks") or {}
    prepared: dict[str, Any] = {
        "webhook": MockedWeb(mocks),
        "email": PreparedEmail(case.get("smtp_error") or ""),
        "classifier": PreparedClassifier(),
        "llm": PreparedLlm(),
        "airtime": PreparedAirtime(),
        "prompts": prompts,
    }
    return Services(**(prepared | others))
