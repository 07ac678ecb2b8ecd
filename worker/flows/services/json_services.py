"""JSON requests to the services in the settings (services of flows)."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from flows.engine.services import ServiceError
from worker.flows.services.webhooks import BLOCKED
from worker.http.errors import SendFailed
from worker.http.safe_http import HttpResponse
from worker.runtime import Runtime

logger = logging.getLogger("relayboard.worker")

BUSY_STATUSES = (429, 500, 502, 503, 504)


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


def _is_worth_retrying(answer: HttpResponse | SendFailed) -> bool:
    if isinstance(answer, SendFailed):
        return answer.kind not in BLOCKED
    return answer.status in BUSY_STATUSES or not answer.is_complete
