"""Compares what a migrated template gives with what the old one gave, in the context that the new one would find."""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import Any

from flows.definition.legacy.paths import CONTACT_PROPERTIES, RESULT_PROPERTIES
from flows.definition.legacy.templates import TemplateOptions, migrate_template
from flows.environment import Environment
from flows.expressions.conversions import read_json
from flows.expressions.evaluator import evaluate_text
from flows.expressions.values import Value, XObject
from flows.urns import SCHEMES
from tests.flows.corpora.case_values import standing_clock

Case = dict[str, Any]
DATE_FORMATS = {"day_first": "DD-MM-YYYY", "month_first": "MM-DD-YYYY", "year_first": "YYYY-MM-DD"}
DATE_LAYOUTS = {"DD-MM-YYYY": "%d-%m-%Y", "MM-DD-YYYY": "%m-%d-%Y", "YYYY-MM-DD": "%Y-%m-%d"}
DEFAULT_NOW = "2018-04-11T13:24:30.123456Z"
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d))?")
_TIME = re.compile(r"(\d\d:\d\d):00\.000000")


def check_meaning(case: Case) -> None:
    """Fails unless the migrated template gives what the old one gave, but for how values are written today.

    Truth is written in lower case now, and moments in full. Where the old engine failed, a template that defaults to
    itself has to give its own old text as well, or the migration has to refuse it.
    """
    context = case["context"]
    options = TemplateOptions(default_to_self=bool(case["errors"]), url_encode=case["url_encode"])
    rewriting = migrate_template(case["template"], options)
    if rewriting.errors:
        assert case["errors"], rewriting.errors
        return
    environment = Environment(
        date_format=DATE_FORMATS[context["date_style"]], timezone=context["timezone"], default_country="US"
    )
    clock = standing_clock(context.get("now") or DEFAULT_NOW)
    text = evaluate_text(rewriting.template, _read_context(context["variables"]), environment, clock).text
    if "output_regex" in case:
        assert re.fullmatch(case["output_regex"], text), text
    else:
        expected = _write_plainly(case["output"], environment)
        assert _write_plainly(text, environment) == expected, rewriting.template


def _write_plainly(text: str, environment: Environment) -> str:
    layout = DATE_LAYOUTS[environment.date_format]

    def write_moment(found: re.Match[str]) -> str:
        moment = datetime.fromisoformat(found[0])
        return moment.strftime(f"{layout} %H:%M" if moment.hour or moment.minute else layout)

    text = _TIME.sub(r"\1", _MOMENT.sub(write_moment, text))
    return re.sub(r"\b(TRUE|FALSE)\b", lambda found: found[0].lower(), text)


def _read_context(variables: Case) -> XObject:
    roots: dict[str, Value] = {}
    for name, value in variables.items():
        if name == "contact":
            roots |= _read_contact(value)
        elif name == "flow":
            roots["results"] = XObject({key: _read_result(item) for key, item in value.items()})
        else:
            roots[{"step": "input", "extra": "legacy_extra"}.get(name, name)] = _read(value)
    return XObject(roots)


def _read_contact(contact: Case) -> dict[str, Value]:
    parts: dict[str, dict[str, Value]] = {"contact": {}, "urns": {}, "fields": {}}
    for key, value in contact.items():
        part = "contact" if key in CONTACT_PROPERTIES else "urns" if key in SCHEMES else "fields"
        parts[part][key] = f"{key}:{value}" if part == "urns" else _read(value)
    return {name: XObject(properties) for name, properties in parts.items()}


def _read_result(result: Any) -> XObject:
    given = result if isinstance(result, dict) else {"value": result}
    properties = {RESULT_PROPERTIES.get(key, key): _read(value) for key, value in given.items()}
    return XObject(properties, default=properties.get("value", ""))


def _read(value: Any) -> Value:
    return read_json(json.dumps(value))
