"""What Schemathesis reports: how many requests, which answers, and what nobody can explain."""

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson

from tests.contract.test_schemathesis import is_beyond_schemas, reported, text_of

OF_GATEWAYS = re.compile(r"The sender is not a valid address[.:].*|The parameter (?:from|text|id) is required[.;].*")
"""What a gateway may be told although its call has the form that it should have."""
LOGGED = re.compile(r"^\S+ (?:ERROR|CRITICAL) ")
MOST_FOUND = 50


@dataclass
class Report:
    """Requests by phase, answers by status, the 400s that are explained, and a text for each finding."""

    requests: Counter[str] = field(default_factory=Counter)
    statuses: Counter[str] = field(default_factory=Counter)
    explained: int = 0
    found: list[str] = field(default_factory=list)


def read_report(path: Path) -> Report:
    report = Report()
    kinds: set[str] = set()
    with path.open("rb") as lines:
        for line in lines:
            event = orjson.loads(line)
            if "ScenarioFinished" in event:
                _add_scenario(report, kinds, event["ScenarioFinished"])
            for kind in ("NonFatalError", "FatalError"):
                if kind in event:
                    report.found.append(f"{kind}: {str(event[kind])[:1000]}")
    return report


def _add_scenario(report: Report, kinds: set[str], scenario: dict[str, Any]) -> None:
    recorder = scenario["recorder"]
    interactions = recorder.get("interactions", {})
    report.requests[scenario["phase"]] += len(interactions)
    for exchange in interactions.values():
        report.statuses[str((exchange["response"] or {}).get("status_code", "none"))] += 1
    for case, checks in recorder.get("checks", {}).items():
        exchange = interactions.get(case)
        failed = [check for check in checks if check["status"] == "failure"]
        if exchange is not None and failed:
            if is_explained_gateway(exchange):
                failed = [check for check in failed if check["name"] != "positive_data_acceptance"]
                report.explained += 1
            report.explained += sum(is_beyond_schemas(check["name"], exchange) for check in failed)
            narrow = {"recorder": {"checks": {case: failed}, "interactions": {case: exchange}}}
            for text in reported(narrow):
                kind = f"{text.splitlines()[0][:80]} {recorder['label']}"
                if kind not in kinds and len(report.found) < MOST_FOUND:
                    kinds.add(kind)
                    report.found.append(f"{recorder['label']}: {text[:2000]}")


def is_explained_gateway(exchange: dict[str, Any]) -> bool:
    """Whether a call of a gateway was refused for a reason that the contract cannot express."""
    response = exchange["response"]
    path = urlsplit(exchange["request"]["uri"]).path
    if not path.startswith(("/c/ex/", "/handlers/external/")) or (response or {}).get("status_code") != 400:
        return False
    return bool(OF_GATEWAYS.fullmatch(str(orjson.loads(text_of(response["content"]))["detail"])))


def errors_in_logs(folder: Path) -> list[str]:
    """What the processes logged as errors, each kind once, with the last line of its traceback."""
    found: dict[str, str] = {}
    for path in sorted(folder.glob("*.log")):
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        for number, line in enumerate(lines):
            if LOGGED.match(line):
                rest = [each for each in lines[number + 1 : number + 80]]
                end = next((at for at, each in enumerate(rest) if re.match(r"\S+Z [A-Z]+ ", each)), len(rest))
                kind = f"{line.split(' ', 3)[2]} {rest[end - 1] if end else line.split(' ', 1)[1]}"[:150]
                found.setdefault(kind, f"log of {path.stem}: {line[:500]}\n" + "\n".join(rest[max(0, end - 12) : end]))
    return list(found.values())[:MOST_FOUND]
