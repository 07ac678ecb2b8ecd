"""The providers of presets, played in the shapes that they document: what they ask of a request for a message, how they
answer, and how they report. Each is checked against the provider's public documentation, not against the preset."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import requests

from testbed.patience import PATIENCE_SECONDS
from tests.worker.receivers import Received, Reply

PERSON = "+250788123123"
KEY = "a-signing-key-that-only-tests-use"
GIVEN_ID = "8f3a5c1e-2d47-4b6a-9e0f-7c1b2a3d4e5f"
JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request for a message says; `report_url` is where the provider is told to report, if it is told."""

    to: str
    text: str
    id: str = GIVEN_ID
    report_url: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """A call of the provider: the URL after that of the channel, or a whole one, and what it contains."""

    action: str = ""
    url: str = ""
    method: str = "POST"
    json: Any = None
    form: Mapping[str, str] | None = None
    query: Mapping[str, str] | None = None

    def call(self, callback_url: str, sign: "Sign", key: str) -> requests.Response:
        body = json.dumps(self.json).encode() if self.json is not None else urlencode(self.form or {}).encode()
        kind = "application/json" if self.json is not None else "application/x-www-form-urlencoded"
        headers = {"Content-Type": kind} if self.method == "POST" else {}
        return requests.request(
            self.method,
            self.url or callback_url + self.action,
            params=dict(self.query or {}),
            data=body if self.method == "POST" else None,
            headers=headers | sign(body, key),
            timeout=PATIENCE_SECONDS,
        )


Sign = Callable[[bytes, str], dict[str, str]]


def unsigned(_body: bytes, _key: str) -> dict[str, str]:
    return {}


@dataclass(frozen=True, slots=True)
class Provider:
    """`fields` are those of the preset, beside the URL of the server; `read` checks a request and says what it asks."""

    fields: Mapping[str, str]
    read: Callable[[Received], Asked]
    reply: Reply
    delivered: Callable[[Asked], Report]
    received: Callable[[str], Report]
    sign: Sign = unsigned
    is_told_back: bytes = b""
    reports: bool = field(default=True)


def is_basic(request: Received, user: str, password: str) -> bool:
    return request.headers["authorization"] == "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def form_of(request: Received) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(request.body.decode(), keep_blank_values=True).items()}


def query_of(request: Received) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(request.path).query, keep_blank_values=True).items()}


def smsgate(path: str) -> Provider:
    def read(request: Received) -> Asked:
        assert (request.path, is_basic(request, "XZYABC", "pass")) == (path, True)
        asked = json.loads(request.body)
        assert asked["withDeliveryReport"] is True and asked.keys() <= {
            "id",
            "textMessage",
            "phoneNumbers",
            "withDeliveryReport",
        }
        assert len(asked.get("id", "")) <= 36
        (number,) = asked["phoneNumbers"]
        return Asked(number, asked["textMessage"]["text"])

    def event(name: str, payload: dict[str, Any]) -> Report:
        told = {
            "deviceId": "ffffffffceb0b1db0000018e937c815b",
            "event": name,
            "id": f"event-{name}",
            "webhookId": "LreFUt",
        }
        return Report(json={**told, "payload": {"simNumber": 1, "phoneNumber": PERSON, **payload}})

    def sign(body: bytes, key: str) -> dict[str, str]:
        now = str(int(time.time()))
        return {"X-Signature": hmac.new(key.encode(), body + now.encode(), "sha256").hexdigest(), "X-Timestamp": now}

    return Provider(
        fields={"username": "XZYABC", "password": "pass", "signing_key": KEY},
        read=read,
        reply=Reply(
            202, json.dumps({"id": GIVEN_ID, "state": "Pending", "recipients": [], "states": {}}).encode(), JSON
        ),
        delivered=lambda asked: event(
            "sms:delivered",
            {
                "messageId": asked.id,
                "recipient": PERSON,
                "sender": None,
                "deliveredAt": "2026-06-22T15:46:11.000+07:00",
            },
        ),
        received=lambda text: event(
            "sms:received",
            {
                "messageId": "1f2e",
                "message": text,
                "sender": PERSON,
                "recipient": None,
                "receivedAt": "2026-06-22T15:46:11.000+07:00",
            },
        ),
        sign=sign,
    )


def httpsms() -> Provider:
    def read(request: Received) -> Asked:
        assert (request.path, request.headers["x-api-key"]) == ("/v1/messages/send", "uk_1")
        asked = json.loads(request.body)
        assert asked["from"] == "+250788000001"
        return Asked(asked["to"], asked["content"])

    def event(kind: str, data: dict[str, Any]) -> Report:
        common = {
            "contact": PERSON,
            "owner": "+250788000001",
            "sim": "SIM1",
            "timestamp": "2026-06-29T03:21:19.814Z",
            "user_id": "Xt",
        }
        told = {"datacontenttype": "application/json", "id": "f4aed1d3", "source": "/v1/messages", "specversion": "1.0"}
        return Report(json={**told, "time": "2026-06-29T03:21:19.5Z", "type": kind, "data": {**common, **data}})

    def sign(_body: bytes, key: str) -> dict[str, str]:
        now = int(time.time())
        parts = [
            {"alg": "HS256", "typ": "JWT"},
            {"iss": "api.httpsms.com", "sub": "Xt", "iat": now, "nbf": now, "exp": now + 600},
        ]
        signed = ".".join(encoded(json.dumps(part).encode()) for part in parts)
        return {"Authorization": f"Bearer {signed}." + encoded(hmac.digest(key.encode(), signed.encode(), "sha256"))}

    return Provider(
        fields={"api_key": "uk_1", "signing_key": KEY},
        read=read,
        reply=Reply(
            200, json.dumps({"data": {"id": GIVEN_ID, "status": "pending"}, "status": "success"}).encode(), JSON
        ),
        delivered=lambda asked: event(
            "message.phone.delivered", {"id": asked.id, "content": asked.text, "request_id": None}
        ),
        received=lambda text: event("message.phone.received", {"message_id": "0b0123bb", "content": text}),
        sign=sign,
    )


def encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def textbee() -> Provider:
    def read(request: Received) -> Asked:
        assert (request.path, request.headers["x-api-key"]) == ("/gateway/devices/65f0/send-sms", "key-1")
        asked = json.loads(request.body)
        (number,) = asked["recipients"]
        return Asked(number, asked["message"])

    def event(name: str, told: dict[str, Any]) -> Report:
        common = {
            "deviceId": "65f0",
            "webhookSubscriptionId": "67f0",
            "webhookEvent": name,
            "idempotencyKey": f"key of {name}",
        }
        return Report(json={"smsId": f"sms of {name}", **common, **told})

    accepted = {
        "data": {
            "success": True,
            "message": "SMS added to queue for processing",
            "smsBatchId": GIVEN_ID,
            "recipientCount": 1,
        }
    }
    return Provider(
        fields={"device_id": "65f0", "api_key": "key-1", "signing_secret": KEY},
        read=read,
        reply=Reply(201, json.dumps(accepted).encode(), JSON),
        delivered=lambda asked: event(
            "MESSAGE_DELIVERED",
            {
                "smsBatchId": asked.id,
                "status": "delivered",
                "recipient": PERSON,
                "message": asked.text,
                "deliveredAt": "2026-06-20T10:30:00Z",
            },
        ),
        received=lambda text: event(
            "MESSAGE_RECEIVED", {"sender": PERSON, "message": text, "receivedAt": "2026-06-20T10:30:00Z"}
        ),
        sign=lambda body, key: {"X-Signature": hmac.new(key.encode(), body, hashlib.sha256).hexdigest()},
    )


def kannel() -> Provider:
    def read(request: Received) -> Asked:
        asked = query_of(request)
        assert (urlsplit(request.path).path, request.body) == ("/cgi-bin/sendsms", b"")
        assert (asked["username"], asked["password"], asked["dlr-mask"], asked["coding"]) == ("foo", "b&r", "31", "0")
        return Asked(asked["to"], asked["text"], report_url=asked["dlr-url"])

    return Provider(
        fields={"username": "foo", "password": "b&r"},
        read=read,
        reply=Reply(202, b"0: Accepted for delivery"),
        delivered=lambda asked: Report(
            url=asked.report_url.replace("%d", "1").replace("%A", "id%3A1+stat%3ADELIVRD"), method="GET"
        ),
        received=lambda text: Report(
            "receive", method="GET", query={"from": PERSON, "text": text, "date": "1782100000", "id": "5cbd7d3e"}
        ),
    )


def jasmin() -> Provider:
    def read(request: Received) -> Asked:
        asked = form_of(request)
        assert (request.path, asked["username"], asked["password"]) == ("/send", "foo", "b&r")
        assert (asked["dlr"], asked["dlr-level"], asked["dlr-method"], asked["coding"]) == ("yes", "3", "POST", "0")
        return Asked(f"+{asked['to']}", asked["content"], report_url=asked["dlr-url"])

    common = {
        "id_smsc": "2567",
        "level": "2",
        "subdate": "2606221546",
        "donedate": "2606221547",
        "sub": "001",
        "dlvrd": "001",
    }
    return Provider(
        fields={"username": "foo", "password": "b&r"},
        read=read,
        reply=Reply(200, f'Success "{GIVEN_ID}"'.encode()),
        delivered=lambda asked: Report(
            url=asked.report_url,
            form={"id": asked.id, "message_status": "DELIVRD", "err": "000", "text": asked.text[:20], **common},
        ),
        received=lambda text: Report(
            "receive",
            form={
                "id": "16fd2706",
                "from": PERSON,
                "to": "8181",
                "origin-connector": "MTN",
                "coding": "0",
                "content": text,
                "binary": text.encode().hex(),
            },
        ),
        is_told_back=b"ACK/Jasmin",
    )


def playsms() -> Provider:
    def read(request: Received) -> Asked:
        asked = form_of(request)
        assert query_of(request) == {"app": "ws", "op": "pv"}
        assert (asked["u"], asked["h"], asked["unicode"], asked["format"]) == ("anton", "a45a", "0", "json")
        return Asked(asked["to"], asked["msg"])

    accepted = {
        "data": [{"status": "OK", "error": "0", "smslog_id": GIVEN_ID, "queue": "afb5", "to": PERSON}],
        "error_string": None,
    }
    return Provider(
        fields={"username": "anton", "token": "a45a"},
        read=read,
        reply=Reply(200, json.dumps(accepted).encode(), JSON),
        delivered=lambda asked: Report(),
        received=lambda text: Report(
            "receive", method="GET", query={"from": PERSON, "text": text, "date": "2026-06-20 12:40:38"}
        ),
        reports=False,
    )


def africastalking() -> Provider:
    def read(request: Received) -> Asked:
        asked = form_of(request)
        assert (request.path, request.headers["apikey"]) == ("/version1/messaging", "atsk_1")
        assert (asked["username"], request.headers["accept"]) == ("clinic", "application/json")
        return Asked(asked["to"], asked["message"])

    recipient = {"statusCode": 101, "number": PERSON, "status": "Success", "cost": "RWF 9.0000", "messageId": GIVEN_ID}
    accepted = {"SMSMessageData": {"Message": "Sent to 1/1 Total Cost: RWF 9.0000", "Recipients": [recipient]}}
    return Provider(
        fields={"username": "clinic", "api_key": "atsk_1"},
        read=read,
        reply=Reply(201, json.dumps(accepted).encode(), JSON),
        delivered=lambda asked: Report(
            "status",
            form={
                "id": asked.id,
                "status": "Success",
                "phoneNumber": PERSON,
                "networkCode": "63510",
                "retryCount": "0",
            },
        ),
        received=lambda text: Report(
            "receive",
            form={
                "date": "2026-06-20 12:40:38",
                "from": PERSON,
                "id": "28a92cdf",
                "linkId": "L1",
                "text": text,
                "to": "8181",
            },
        ),
    )


PROVIDERS: dict[str, Callable[[], Provider]] = {
    "africastalking": africastalking,
    "capcom6-cloud": lambda: smsgate("/messages"),
    "capcom6-local": lambda: smsgate("/messages"),
    "httpsms": httpsms,
    "jasmin": jasmin,
    "kannel": kannel,
    "playsms": playsms,
    "textbee": textbee,
}
