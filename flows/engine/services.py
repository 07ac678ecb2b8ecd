"""The services of the host, each with a protocol and each optional (flow format, data and integrations).

A service that is missing or fails never stops a flow: the action logs an error event and takes its failure path, which
is the category `Failure` of its result (13), an empty local variable or `<ERROR>` (14), or nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Protocol

from flows.engine.assets import Channel, Classifier, Llm
from flows.urns import Urn


class ServiceError(Exception):
    """A service failed; the message becomes the text of an error event."""


@dataclass(frozen=True, slots=True)
class WebhookRequest:
    """A call to make. `body` is empty if there is none; `resthook` is the resthook whose subscriber is called."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: str = ""
    resthook: str = ""


@dataclass(frozen=True, slots=True)
class WebhookReply:
    """The result of a call: status code 0 and no headers if there was no response. The traces are the whole request and
    response as sent and received, the sizes are theirs in bytes. `problem` says why the host could not make the call,
    such as a private address: the call counts as one without a response. `blocked_hostname` is the host of a domain
    that flows may not call at all: no call was made, and none is recorded. `is_oversized` says that the response was
    cut off because it was bigger than the host allows; such a call failed.
    """

    status_code: int
    request_trace: str
    response_trace: str = ""
    body: bytes = b""
    headers: Mapping[str, str] | None = None
    elapsed_ms: int = 0
    retries: int = 0
    request_bytes: int = 0
    response_bytes: int = 0
    problem: str = ""
    blocked_hostname: str = ""
    is_oversized: bool = False


class WebhookService(Protocol):
    """Makes HTTP calls; the host must refuse private addresses and blocked domains."""

    def call(self, request: WebhookRequest) -> WebhookReply:
        """Makes one call with the retries that the host allows."""


class EmailService(Protocol):
    """Sends e-mail."""

    def send(self, addresses: Sequence[str], subject: str, body: str) -> None:
        """Sends one message to all addresses; raises ServiceError."""


@dataclass(frozen=True, slots=True)
class Classification:
    """Intents as (name, confidence), best first, and by entity name its candidates as (value, confidence)."""

    intents: Sequence[tuple[str, Decimal]] = ()
    entities: Mapping[str, Sequence[tuple[str, Decimal]]] = field(default_factory=dict)
    http_logs: Sequence[Mapping[str, Any]] = ()


class ClassifierService(Protocol):
    """Finds the intents of a text; from generation 14 on called only if the options allow it."""

    def classify(self, classifier: Classifier, text: str) -> Classification:
        """The intents and entities of a text; raises ServiceError."""


@dataclass(frozen=True, slots=True)
class LlmReply:
    """The output of a model and how many tokens it took."""

    output: str
    input_tokens: int = 0
    output_tokens: int = 0
    elapsed_ms: int = 0


class LlmService(Protocol):
    """Asks language models."""

    def respond(self, llm: Llm, instructions: str, text: str) -> LlmReply:
        """The answer of a model to an input with instructions; raises ServiceError."""


@dataclass(frozen=True, slots=True)
class AirtimeTransfer:
    """An amount that was credited to a recipient. Amounts are in `currency`; `actual` is what the operator gave."""

    external_id: str
    currency: str
    desired: Decimal
    actual: Decimal
    http_logs: Sequence[Mapping[str, Any]] = ()


class AirtimeService(Protocol):
    """Credits phones."""

    def transfer(
        self, sender: Urn | None, recipient: Urn, amounts: Mapping[str, Decimal], transfer_uuid: str
    ) -> AirtimeTransfer:
        """Transfers the amount in the currency of the recipient; raises ServiceError."""


class UrnService(Protocol):
    """Assigns URNs to contacts."""

    def claim(self, contact_uuid: str, urn: Urn) -> bool:
        """Assigns a URN to a contact; returns False if another contact has it."""


class SendableService(Protocol):
    """Checks whether messages may be sent."""

    def check(self, contact_uuid: str, channel: Channel | None, text: str) -> str:
        """Why a message cannot be sent, as a reason code, or an empty string if it can."""


class CallbackService(Protocol):
    """Gives addresses at which others end a wait for a callback, each once."""

    def address(self, contact_uuid: str, session_uuid: str, session_began_on: str, number: int) -> str:
        """The URL that ends the wait with this number, from 0 on, of a session; always the same one."""


@dataclass(frozen=True, slots=True)
class Services:
    """The services of a host; `prompts` are the named LLM prompts, with `{{ .arg1 }}` and so on for arguments."""

    webhook: WebhookService | None = None
    email: EmailService | None = None
    classifier: ClassifierService | None = None
    llm: LlmService | None = None
    airtime: AirtimeService | None = None
    urns: UrnService | None = None
    sendable: SendableService | None = None
    callbacks: CallbackService | None = None
    prompts: Mapping[str, str] = field(default_factory=dict)


NO_SERVICES = Services()
