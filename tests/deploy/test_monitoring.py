"""Dashboard and alert rules ask for metrics that a live service shows, by labels that these have."""

import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import requests
import yaml
from prometheus_client.parser import text_string_to_metric_families

from handlers.asgi import health as of_api
from openapi.bundle import YAML_LOADER
from persistence.tables.messages import UNCERTAIN, WIRED
from relayboard.base.metrics import deliveries, store_calls
from testbed.patience import PATIENCE_SECONDS
from testbed.running import forked_service, wait_until
from tests.channel_rows import add_channel, add_contact, add_outgoing
from tests.console_script import started
from tests.deploy.conftest import made_once
from tests.deploy.files import DEPLOY, ROOT, read_compose
from worker import metrics as of_worker

DASHBOARD = json.loads((DEPLOY / "monitoring" / "dashboard.json").read_text())
ALERTS = yaml.load((DEPLOY / "monitoring" / "alerts.yaml").read_text(), Loader=YAML_LOADER)["groups"]
RULES = [rule for group in ALERTS for rule in group["rules"]]
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
BY_PROMETHEUS = {"up": {"job", "instance"}}
"""What Prometheus adds itself."""
TARGET = {"job", "instance"}
SUFFIXES = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count"), "gauge": ("",)}


def expressions() -> Iterator[tuple[str, str, str]]:
    """Where an expression stands, what it asks, and the texts that name its labels."""
    for rule in RULES:
        yield rule["alert"], rule["expr"], json.dumps(rule["annotations"])
    for panel in PANELS:
        for target in panel["targets"]:
            yield panel["title"], target["expr"].replace("$__rate_interval", "5m"), target["legendFormat"]


EXPRESSIONS = [pytest.param(*found, id=f"{number} {found[0]}") for number, found in enumerate(expressions())]


@pytest.fixture(scope="session")
def live(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, set[str]]:
    """The labels of each series that an API process and a worker show, by its name."""
    with made_once(tmp_path_factory, "live") as (folder, is_mine):
        kept = folder / "series.json"
        if is_mine:
            folder.mkdir()
            shown = ask_a_service(sqlite_template, folder)
            kept.write_text(json.dumps({name: sorted(labels) for name, labels in shown.items()}))
    shown = {name: set(labels) for name, labels in json.loads(kept.read_text()).items()}
    return shown | declared() | BY_PROMETHEUS


def ask_a_service(template: Path, folder: Path) -> dict[str, set[str]]:
    file = folder / "relayboard.db"
    file.write_bytes(template.read_bytes())
    with forked_service(f"sqlite:///{file}", folder, ["api"]) as service:
        phone = add_channel(service.database, service.workspace, webhook_url="http://127.0.0.1:9/refused")
        contact = add_contact(service.database, service.workspace)
        now = service.database.clock()
        add_outgoing(service.database, service.workspace, phone, contact, now)
        add_outgoing(service.database, service.workspace, phone, contact, now, WIRED, failed_reason=UNCERTAIN)
        service.get("/api/v2/contacts.json")
        command = [sys.executable, "-m", "relayboard", "worker", "--metrics-port", "0"]
        with started(folder=folder, environment=service.environment, command=command) as worker:
            address = worker.wait_for(r"metrics of this worker are at (http://\S+)").group(1)
            wait_until(lambda: "relayboard_job_step_seconds_count" in page(address), "the worker to work")
            shown = series(page(address)) | series(page(f"{service.url}/metrics"))
            assert worker.stop() == 0
    return shown


def page(address: str) -> str:
    return requests.get(address, timeout=PATIENCE_SECONDS).text


def series(text: str) -> dict[str, set[str]]:
    """Names with the labels of their samples; of those without a sample yet the names alone."""
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(text):
        for suffix in SUFFIXES[family.type]:
            found[family.name + suffix] = set().union(*(sample.labels for sample in family.samples))
    return found


def declared() -> dict[str, set[str]]:
    """What counts things that seldom happen, with the labels that its samples will have."""
    rare = (
        of_worker.attempts,
        of_worker.letters,
        of_worker.pushes,
        of_worker.switched_off,
        of_worker.failures,
        of_api.requests,
        deliveries,
    )
    calls = {f"{store_calls._name}_{end}": set(store_calls._labelnames) for end in ("bucket", "sum", "count")}
    return calls | {f"{each._name}_total": set(each._labelnames) for each in rare}


def ask(expression: Any) -> Iterator[Any]:
    """All parts of a parsed expression."""
    yield expression
    for name in ("lhs", "rhs", "expr", "param", "vector_selector"):
        part = getattr(expression, name, None)
        if part is not None and type(part).__module__ == type(expression).__module__:
            yield from ask(part)
    for part in getattr(expression, "args", None) or ():
        yield from ask(part)


def selected(expression: str) -> dict[str, set[str]]:
    """The series that an expression names, and the labels that it chooses them by."""
    parts = [part for part in ask(promql_parser.parse(expression)) if isinstance(part, promql_parser.VectorSelector)]
    return {part.name: {matcher.name for matcher in part.matchers.matchers} for part in parts}


@pytest.mark.parametrize(("place", "expression", "texts"), EXPRESSIONS)
def test_an_expression_asks_for_what_a_live_service_shows(
    live: Mapping[str, set[str]], place: str, expression: str, texts: str
) -> None:
    asked = selected(expression)
    grouped = {word for found in re.findall(r"by \(([^)]*)\)", expression) for word in found.split(", ")}
    named = set(re.findall(r"\{\{\s*(?:\$labels\.)?(\w+)\s*\}\}", texts))

    assert asked and set(asked) <= set(live), place
    assert all(labels <= live[name] | TARGET for name, labels in asked.items())
    known = set().union(*(live[name] for name in asked)) | TARGET | {"le"}
    assert grouped <= known
    assert named <= (grouped or known)


@pytest.mark.parametrize(("place", "expression", "texts"), EXPRESSIONS)
def test_what_is_the_same_everywhere_is_never_added_up(place: str, expression: str, texts: str) -> None:
    """docs/monitoring.md says which numbers add up over several machines; nothing here adds up others."""
    summed = re.findall(r"\bsum(?: by \([^)]*\))? \(?\(?(?:rate|increase)?\(?(relayboard_\w+)", expression)
    allowed = ("_total", "_bucket", "_sum", "_count")

    assert [name for name in summed if not name.endswith(allowed) and "_pool_" not in name] == [], place


def test_a_name_that_nobody_shows_would_be_seen(live: Mapping[str, set[str]]) -> None:
    assert set(selected("sum(rate(relayboard_invented_total[5m]))")) - set(live) == {"relayboard_invented_total"}


def test_every_metric_is_told_of_in_the_document(live: Mapping[str, set[str]]) -> None:
    document = (ROOT / "docs" / "monitoring.md").read_text()
    names = {re.sub(r"_(bucket|sum|count)$", "", name) for name in live if name.startswith("relayboard_")}
    told = set(re.findall(r"`(relayboard_\w+)`", document))

    assert sorted(names - told) == []
    assert sorted(told - names) == []


def test_every_metric_is_on_the_dashboard_or_in_an_alert(live: Mapping[str, set[str]]) -> None:
    names = {re.sub(r"_(bucket|sum|count)$", "", name) for name in live if name.startswith("relayboard_")}
    asked = {re.sub(r"_(bucket|sum|count)$", "", name) for _, expr, _ in expressions() for name in selected(expr)}

    assert sorted(names - asked) == []


def test_rules_have_what_prometheus_wants_and_say_what_to_do() -> None:
    assert len({rule["alert"] for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert (
            {"alert", "expr", "labels", "annotations"}
            <= set(rule)
            <= {*("alert", "expr", "for", "labels", "annotations", "keep_firing_for")}
        )
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert set(rule["annotations"]) == {"summary", "action"}
        assert re.fullmatch(r"\d+[smh]", rule.get("for", "0s"))


def test_panels_stand_beside_each_other_and_know_their_source() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert place["x"] + place["w"] <= 24 and not cells & taken
        taken |= cells
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
    (variable,) = DASHBOARD["templating"]["list"]
    sources = {target["datasource"]["uid"] for panel in PANELS for target in panel["targets"]}
    assert sources == {f"${{{variable['name']}}}"}


def test_prometheus_is_told_of_the_services_of_compose() -> None:
    configuration = yaml.load((DEPLOY / "monitoring" / "prometheus.yaml").read_text(), Loader=YAML_LOADER)
    targets = [target for job in configuration["scrape_configs"] for target in job["static_configs"][0]["targets"]]
    services = read_compose()["services"]

    assert [job["job_name"] for job in configuration["scrape_configs"]] == ["relayboard", "relayboard-worker"]
    for host, port in (target.split(":") for target in targets):
        assert port in services[host]["command"]
    assert configuration["rule_files"] == ["alerts.yaml"]
