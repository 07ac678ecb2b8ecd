"""What a fuzzer remembers of answers: the records that the service named, and requests that it accepted."""

import random
from collections import defaultdict, deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.fuzz.asks import Ask

MOST_VALUES, MOST_ACCEPTED, MOST_RECORDS = 40, 6, 5
MOST_BYTES = 20_000
"""Of a body that is remembered: one that is spoiled again and again may grow a hundredfold each time."""
NAMES = ("uuid", "id", "key", "name", "urn", "cursor", "code")
SAME = {"tickets": "ticket", "assignee": "user", "before": "id", "search": "name"}
"""Parameters and fields that name records of another word."""
KINDS = ("cmd",)
"""Fields that say what their part is: with another value the rest would mean nothing."""


class Memory:
    """Values by the word that names them: `contact` has UUIDs of contacts, `uuid` of all records, `key` all keys; and
    the phones that registered, with their newest secrets by id.
    """

    def __init__(self) -> None:
        self.values: defaultdict[str, deque[Any]] = defaultdict(lambda: deque(maxlen=MOST_VALUES))
        self.phones: dict[int, str] = {}
        self.accepted: defaultdict[str, deque[Ask]] = defaultdict(lambda: deque(maxlen=MOST_ACCEPTED))

    def note(self, ask: "Ask", answer: Any) -> None:
        """An answer to a request that was accepted."""
        if len(ask.body) <= MOST_BYTES:
            self.accepted[str(ask.operation)].append(ask)
        for command in answer.get("cmds", ()) if isinstance(answer, Mapping) else ():
            if command.get("cmd") == "reg" and command.get("relayer_secret"):
                self.phones[command["relayer_id"]] = command["relayer_secret"]
        word = _word(ask.operation.path.rsplit("/", 1)[-1].removesuffix(".json"))
        for record in _records(answer):
            self._note_record(word, record)
        if isinstance(answer, Mapping) and isinstance(answer.get("next"), str) and "cursor=" in answer["next"]:
            self.values["cursor"].append(answer["next"].split("cursor=")[1].split("&")[0])

    def _note_record(self, word: str, record: Mapping[str, Any]) -> None:
        for name, value in record.items():
            if name in NAMES and isinstance(value, str | int):
                self.values[name].append(value)
                self.values[word].append(value)
            elif isinstance(value, Mapping):
                self._note_record(_word(name), value)
            elif isinstance(value, str):
                self.values[_word(name)].append(value)
            elif isinstance(value, list):
                for one in value[:MOST_RECORDS]:
                    if isinstance(one, Mapping):
                        self._note_record(_word(name), one)
                    elif isinstance(one, str):
                        self.values[_word(name)].append(one)

    def recall(self, name: str, chance: random.Random) -> Any:
        """A value for a parameter or field of this name; None if no answer had one."""
        known = self.values.get(_word(SAME.get(name, name)))
        return chance.choice(known) if known else None

    def with_own(self, example: Any, chance: random.Random, part: float) -> Any:
        """An example in which records that the service named stand instead of made up ones, as often as `part` says."""
        if isinstance(example, Mapping):
            return {name: self._own(name, value, chance, part) for name, value in example.items()}
        return example

    def _own(self, name: str, value: Any, chance: random.Random, part: float) -> Any:
        if isinstance(value, list):
            return [self._own(name, one, chance, part) for one in value]
        if isinstance(value, Mapping):
            return self.with_own(value, chance, part)
        if name in KINDS:
            return value
        known = self.recall(name, chance)
        return known if type(known) is type(value) and chance.random() < part else value


def _word(name: str) -> str:
    return name.removesuffix("_uuids").removesuffix("_uuid").removesuffix("s")


def _records(answer: Any) -> list[Mapping[str, Any]]:
    if not isinstance(answer, Mapping):
        return []
    found = answer.get("results", [answer])
    return [one for one in found[:MOST_RECORDS] if isinstance(one, Mapping)] if isinstance(found, list) else []
