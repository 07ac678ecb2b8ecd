"""What was asked so far, over all sessions: a file beside the code, which the page about quality is made from."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

RECORD = Path(__file__).with_name("record.json")
SCHEMATHESIS, MUTATIONS = "Schemathesis", "Mutations"
GENERATORS = (SCHEMATHESIS, MUTATIONS)
Row = dict[str, Any]


class Record:
    """For each generator its seconds, its answers by status, and a row for each contract and database with the seeds of
    its rounds; and the rounds that found something, which count only when they find nothing any more.
    """

    def __init__(self, path: Path = RECORD) -> None:
        self.path = path
        known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        self.open: list[dict[str, Any]] = known.get("open", [])
        self.parts: dict[str, dict[str, Any]] = {
            name: known.get(name, {"seconds": 0, "statuses": {}, "rows": []}) for name in GENERATORS
        }

    def rows(self, generator: str) -> Sequence[Row]:
        return list(self.parts[generator]["rows"])

    def rounds(self, generator: str) -> int:
        """How many rounds were begun with a generator, those that found something too."""
        found = sum(1 for one in self.open if one["generator"] == generator)
        return sum(len(row["seeds"]) for row in self.rows(generator)) + found

    def requests(self, generator: str | None = None) -> int:
        names = GENERATORS if generator is None else (generator,)
        return sum(sum(row["requests"].values()) for name in names for row in self.rows(name))

    def add(self, generator: str, one: Mapping[str, Any], result: Mapping[str, Any]) -> None:
        """A round with what it asked (`seed`, `contract`, `database`, `number`) and its result."""
        self.open = [each for each in self.open if (each["generator"], each["number"]) != (generator, one["number"])]
        if result["found"]:
            self.open.append({"generator": generator, "number": one["number"], "found": list(result["found"])})
        else:
            self._count(self.parts[generator], one, result)
        self._save()

    def _count(self, part: dict[str, Any], one: Mapping[str, Any], result: Mapping[str, Any]) -> None:
        part["seconds"] += result["seconds"]
        part["statuses"] = dict(Counter(part["statuses"]) + Counter(result["statuses"]))
        pair = {"contract": one["contract"], "database": one["database"]}
        row = next((row for row in part["rows"] if pair.items() <= row.items()), None)
        if row is None:
            row = {**pair, "seeds": [], "requests": {}, "explained": 0}
            part["rows"].append(row)
        row["seeds"].append(one["seed"])
        row["requests"] = dict(Counter(row["requests"]) + Counter(result["requests"]))
        row["explained"] += result["explained"]

    def _save(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({**self.parts, "open": self.open}, indent=1, sort_keys=True)
        self.path.write_text(text + "\n", encoding="utf-8")
