"""Questions in JSON to the services that the operator names, each asked once (services of flows)."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from flows.engine.services import ServiceError
from worker.safe_http import Answer
from worker.send_failed import SendFailed
from worker.services import Services

logger = logging.getLogger("relayboard.worker")


@dataclass(frozen=True, slots=True)
class JsonService:
    """One address that is POSTed JSON; `name` is what people call it, `before_call` is told before each question."""

    name: str
    url: str
    key: str
    services: Services
    before_call: Callable[[], None]

    def __repr__(self) -> str:
        return f"JsonService({self.name!r})"

    def ask(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """The JSON object of a 2xx answer. Raises ServiceError, never with the address or the key in its words."""
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        self.before_call()
        try:
            answer = self.services.http.send("POST", self.url, headers=headers, body=orjson.dumps(question))
        except SendFailed as failure:
            raise self.fail(f"could not be reached ({failure.kind})") from failure
        return self._read(answer)

    def fail(self, problem: str) -> ServiceError:
        """The error for a problem, which the log hears of too."""
        logger.warning("%s of flows %s", self.name, problem)
        return ServiceError(f"{self.name} {problem}")

    def _read(self, answer: Answer) -> dict[str, Any]:
        if not 200 <= answer.status < 300:
            raise self.fail(f"answered with status {answer.status}")
        try:
            content = orjson.loads(answer.body) if answer.is_complete else None
        except orjson.JSONDecodeError:
            content = None
        if not isinstance(content, dict):
            raise self.fail("did not answer with a JSON object")
        return content
