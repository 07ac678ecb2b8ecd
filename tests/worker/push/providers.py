"""A local server that plays Google's token endpoint, Firebase Cloud Messaging and a server of UnifiedPush."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests.worker.receivers import Received, Receiver, Reply, receiving

PROJECT = "clinic-phones"
SEND = f"/v1/projects/{PROJECT}/messages:send"
UNREGISTERED = {"code": 404, "message": "Requested entity was not found.", "status": "NOT_FOUND"}
INVALID = {"code": 400, "message": "The registration token is not valid", "status": "INVALID_ARGUMENT"}
DENIED = {"code": 403, "message": "Permission denied on the project", "status": "PERMISSION_DENIED"}
OTHER_PROJECT = {"code": 403, "message": "SenderId mismatch", "status": "PERMISSION_DENIED"}


def error(document: dict[str, Any], word: str | None = None, **headers: str) -> Reply:
    """An answer of Firebase that refuses."""
    kind = "type.googleapis.com/google.firebase.fcm.v1.FcmError"
    details = [] if word is None else [{"@type": kind, "errorCode": word}]
    body = json.dumps({"error": {**document, "details": details}}).encode()
    return Reply(document["code"], body, {name.replace("_", "-"): value for name, value in headers.items()})


@cache
def private_key() -> str:
    key = generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


@dataclass
class Providers:
    """`refuse` answers a push otherwise than by accepting it, `refuse_token` a request for an access token."""

    receiver: Receiver
    refuse: Callable[[Received], Reply | None] = lambda _request: None
    refuse_token: Callable[[], Reply | None] = lambda: None
    access_tokens: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        parts = urlsplit(self.receiver.url)
        return f"{parts.scheme}://{parts.netloc}"

    def endpoint(self, name: str) -> str:
        return f"{self.url}/{name}?up=1"

    def account(self, **changes: str) -> str:
        """The file of a service account whose tokens come from here."""
        account = {
            "type": "service_account",
            "project_id": PROJECT,
            "private_key_id": "1",
            "private_key": private_key(),
            "client_email": f"relayboard@{PROJECT}.example.org",
            "client_id": "1",
            "token_uri": f"{self.url}/token",
        }
        return json.dumps({**account, **changes})

    def answer(self, request: Received) -> Reply:
        if request.path == "/token":
            refused = self.refuse_token()
            if refused is not None:
                return refused
            self.access_tokens.append(f"access-{len(self.access_tokens) + 1}")
            granted = {"access_token": self.access_tokens[-1], "expires_in": 3599, "token_type": "Bearer"}
            return Reply(200, json.dumps(granted).encode(), {"Content-Type": "application/json"})
        return self.refuse(request) or Reply(200, b"{}")

    @property
    def pushes(self) -> Sequence[Received]:
        return [each for each in self.receiver.received if each.path != "/token"]

    def tokens(self) -> list[str]:
        """The tokens that were pushed by Firebase, and the paths of endpoints, in their order."""
        return [json.loads(each.body)["message"]["token"] if each.path == SEND else each.path for each in self.pushes]


@contextmanager
def playing_providers() -> Iterator[Providers]:
    with receiving() as receiver:
        providers = Providers(receiver)
        receiver.respond = providers.answer
        yield providers
