"""Compares what happened with what case files expect, in which generated parts are placeholders."""

from __future__ import annotations

import copy
import json
import re
from decimal import Decimal
from typing import Any

_PLACEHOLDER = re.compile(r"<(uuid:\d+|datetime)>")
_UUID = r"([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"
_MOMENT = r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d))"


class Placeholders:
    """Remembers which UUID each numbered placeholder has stood for, so that the same one always means the same."""

    def __init__(self) -> None:
        self._by_name: dict[str, str] = {}
        self._by_uuid: dict[str, str] = {}

    def compare(self, expected: Any, actual: Any, path: str = "") -> None:
        """Fails unless actual is what is expected, naming the first place where it is not."""
        if isinstance(expected, dict):
            assert isinstance(actual, dict), f"{path}: {actual!r} is no object"
            names = self._pair_names(expected, actual)
            assert sorted(names.values()) == sorted(actual), (
                f"{path}: {sorted(expected)} expected, not {sorted(actual)}"
            )
            # What is only named by a placeholder comes last, when most of them are known.
            for name, item in sorted(expected.items(), key=lambda pair: '"<uuid:' in json.dumps(pair[1], default=str)):
                self.compare(item, actual[names[name]], f"{path}.{name}")
        elif isinstance(expected, list):
            assert isinstance(actual, list), f"{path}: {actual!r} is no list"
            assert len(expected) == len(actual), f"{path}: {len(expected)} items expected, not {len(actual)}: {actual}"
            for index, (item, given) in enumerate(zip(expected, actual, strict=True)):
                self.compare(item, given, f"{path}[{index}]")
        elif isinstance(expected, str) and _PLACEHOLDER.search(expected):
            self._match(expected, actual, path)
        elif isinstance(expected, (int, float)) and not isinstance(expected, bool):
            assert Decimal(str(expected)) == Decimal(str(actual)), f"{path}: {expected!r} expected, not {actual!r}"
        else:
            assert expected == actual, f"{path}: {expected!r} expected, not {actual!r}"

    def _pair_names(self, expected: dict[str, Any], actual: dict[str, Any]) -> dict[str, str]:
        """The actual name for each expected one; a placeholder nobody has met yet names whatever has its content."""
        names = {name: self._by_name.get(name.strip("<>"), name) for name in expected}
        for name, item in expected.items():
            if names[name] == name and _PLACEHOLDER.fullmatch(name):
                free = [other for other in actual if other not in names.values()]
                found = next((other for other in free if self._would_match(item, actual[other])), None)
                if found is not None:
                    names[name] = found
                    self._bind(name.strip("<>"), found, name)
        return names

    def _would_match(self, expected: Any, actual: Any) -> bool:
        try:
            copy.deepcopy(self).compare(expected, actual)
        except AssertionError:
            return False
        return True

    def _match(self, expected: str, actual: Any, path: str) -> None:
        assert isinstance(actual, str), f"{path}: {expected!r} expected, not {actual!r}"
        names: list[str] = []
        pattern = ""
        position = 0
        for found in _PLACEHOLDER.finditer(expected):
            pattern += re.escape(expected[position : found.start()])
            pattern += _MOMENT if found[1] == "datetime" else _UUID
            names.append(found[1])
            position = found.end()
        matched = re.fullmatch(pattern + re.escape(expected[position:]), actual)
        assert matched, f"{path}: {expected!r} expected, not {actual!r}"
        for name, text in zip(names, matched.groups(), strict=True):
            if name != "datetime":
                self._bind(name, text, path)

    def _bind(self, name: str, uuid: str, path: str) -> None:
        bound, known = self._by_name.setdefault(name, uuid), self._by_uuid.setdefault(uuid, name)
        assert bound == uuid, f"{path}: {name} has been {bound}, now it is {uuid}"
        assert known == name, f"{path}: {uuid} has been {known}, now it is {name}"


def slim(event: dict[str, Any]) -> dict[str, Any]:
    """An event as the summaries have it: without what differs each time, and calls as their parts."""
    dropped = {"uuid", "created_on", "step_uuid", "expires_on", "elapsed_ms", "http_logs"}
    slimmed = {name: value for name, value in event.items() if name not in dropped}
    if event["type"] == "webhook_called":
        slimmed["request_parsed"] = parse_request(slimmed.pop("request"))
        slimmed.pop("response", None)
    return slimmed


def parse_request(trace: str) -> dict[str, Any]:
    """The parts of a request out of its trace."""
    head, _, body = trace.partition("\r\n\r\n")
    first, *lines = head.split("\r\n")
    method, target, _ = first.split(" ")
    parsed: dict[str, Any] = {
        "method": method,
        "target": target,
        "headers": dict(line.split(": ", 1) for line in lines),
        "body": body,
    }
    try:
        parsed["body_json"] = json.loads(body)
    except ValueError:
        return parsed
    return parsed
