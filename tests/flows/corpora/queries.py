"""Checks the cases about contact queries: one function per case file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from flows.environment import Environment
from flows.queries import (
    Combination,
    Condition,
    FieldReference,
    ListResolver,
    NamedReference,
    Query,
    QueryError,
    QueryValue,
    evaluate,
    inspect,
    parse_query,
    render,
)
from flows.queries.resolver import ATTRIBUTES, PropertyKind
from flows.queries.tree import simplify
from tests.flows.corpora.case_values import read_case_text, read_case_value, read_environment

Case = dict[str, Any]


def check_parse(case: Case, fixtures: Case) -> None:
    """Parses a query and prints it back, or prints a tree."""
    if "node" in case:
        assert render(simplify(_read_node(case["node"]))) == case["printed"]
        return
    name = "plain_environment" if case.get("environment") == "plain" else "environment"
    environment = _redact(read_environment(fixtures[name]), case["redact_urns"])
    resolver = find_resolver(case, fixtures)
    if "error" in case:
        with pytest.raises(QueryError) as raised:
            parse_query(read_case_text(case["query"]), environment, resolver)
        _check_error(case, raised.value)
        return
    query = parse_query(read_case_text(case["query"]), environment, resolver)
    assert case.get("ok") or str(query) == case["parsed"]


def check_evaluate(case: Case, fixtures: Case) -> None:
    """Evaluates a query on the contact of the file."""
    environment = read_environment(fixtures["environment"])
    query = parse_query(read_case_text(case["query"]), environment, find_resolver(case, fixtures))
    assert evaluate(query, ListedContact(fixtures["contact"]), environment) is case["result"]


def check_inspect(case: Case, fixtures: Case) -> None:
    """Lists what a query depends on."""
    resolver = find_resolver(case, fixtures)
    query = parse_query(read_case_text(case["query"]), read_environment(fixtures["environment"]), resolver)
    assert inspect(query, resolver).to_json() == case["inspection"]


def check_api(case: Case, fixtures: Case) -> None:
    """Answers as a service for parsing queries would; only what belongs to queries."""
    if case["method"] != "POST":
        return
    resolver = None if case["body"].get("parse_only") else ListResolver.of([FieldReference("age", "Age", "number")])
    if case["status"] == 422:
        with pytest.raises(QueryError) as raised:
            parse_query(case["body"]["query"], Environment(), resolver)
        assert f"query:{raised.value.code}" == case["response"]["code"]
        assert raised.value.extra == case["response"].get("extra", {})
        return
    query = parse_query(case["body"]["query"], Environment(), resolver)
    assert {"query": str(query), "metadata": inspect(query, resolver).to_json()} == case["response"]


class ListedContact:
    """A contact whose values are lists by property key."""

    def __init__(self, values: dict[str, list[Any]]) -> None:
        self._values = values

    def query_values(self, kind: PropertyKind, key: str) -> Sequence[QueryValue]:
        values = self._values.get(key, [])
        return [value if isinstance(value, str) else read_case_value(value) for value in values]


def find_resolver(case: Case, fixtures: Case) -> ListResolver | None:
    """What a case's query is parsed with: what it has itself, what it names, or the one that its file has."""
    chosen = case.get("resolver", case.get("use_resolver", True))
    if chosen is None or chosen is False:
        return None
    if isinstance(chosen, dict):
        return read_resolver(chosen)
    known = fixtures.get("resolvers") or {}
    return read_resolver(known[chosen] if isinstance(chosen, str) else fixtures["resolver"])


def read_resolver(written: dict[str, Any]) -> ListResolver:
    fields, groups, flows = (written.get(name) or [] for name in ("fields", "groups", "flows"))
    return ListResolver.of(
        [FieldReference(field["key"], field["name"], field["type"], field.get("uuid", "")) for field in fields],
        [NamedReference(group["uuid"], group["name"]) for group in groups],
        [NamedReference(flow["uuid"], flow["name"]) for flow in flows],
    )


def _check_error(case: Case, error: QueryError) -> None:
    if case.get("parser_worded"):
        assert error.code == "syntax"
        return
    assert error.message == case["error"]
    assert error.code == case.get("code", error.code)
    assert error.extra == (case["extra"] or {} if "extra" in case else error.extra)


def _redact(environment: Environment, redacts: bool) -> Environment:
    return replace(environment, redaction_policy="urns") if redacts else environment


def _read_node(written: dict[str, Any]) -> Query:
    if "children" in written:
        return Combination(written["op"], tuple(map(_read_node, written["children"])))
    value_type = ATTRIBUTES.get(written["key"], "unknown")
    return Condition(written["prop_type"], written["key"], written["op"], written["value"], value_type)


CHECKS = {
    "contactql_parse": check_parse,
    "contactql_evaluate": check_evaluate,
    "contactql_inspect": check_inspect,
    "contactql_api": check_api,
}
