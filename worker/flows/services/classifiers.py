"""The classifiers of flows, with one service for all of them (flow format, call_classifier)."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import orjson

from flows.asset_kinds import Classifier
from flows.engine.services import Classification
from worker.flows.services.json_services import JsonService

KEPT_BYTES = 10_000
"""The maximum size of a webhook's response that is stored with a result."""


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


def _read_candidates(candidates: object, name: str) -> Sequence[tuple[str, Decimal]]:
    """Strings with their confidence, the most certain first."""
    if not isinstance(candidates, list):
        raise TypeError("no list")
    read = [(_read_text(each[name]), _read_confidence(each["confidence"])) for each in candidates]
    return sorted(read, key=lambda candidate: -candidate[1])


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
