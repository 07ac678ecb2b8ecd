"""Every template and query is quickly evaluated or refused."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from flows import Assets, Contact, Environment, QueryError, SystemClock, evaluate, parse_query
from flows.engine.assets import AssetResolver
from flows.engine.smart_groups import ContactView
from flows.queries import evaluate as evaluate_query
from flows.queries import inspect as inspect_query
from tests.flows.hypothesis.effort import tried, within_seconds
from tests.flows.hypothesis.hostile_values import JSON, TEMPLATES
from tests.flows.hypothesis.workspace import CONTACT_JSON, make_assets

CLOCK = SystemClock()
ENVIRONMENT = Environment(timezone="America/New_York", default_country="US")
ASSETS = Assets.from_json({**make_assets(14), "flows": []})
CONTACT = Contact.from_json(CONTACT_JSON)
QUERIES = st.lists(
    st.sampled_from(
        [
            *(
                "age",
                "town",
                "name",
                "tel",
                "urns.tel",
                "fields.age",
                "group",
                "status",
                "created_on",
                "tickets",
                "ref",
            ),
            *(
                "=",
                "!=",
                "~",
                ">",
                "<=",
                "has",
                "is",
                "AND",
                "or",
                "(",
                ")",
                '"',
                '""',
                "12",
                "2024-01-01",
                "bob",
                "Thing",
            ),
            *("+12065551212", "tel:+1206", "\\", "ß", "🙂", "\x00", "'", "-", "@"),
        ]
    )
    | st.text(max_size=5),
    max_size=12,
).map(" ".join)


@tried
@given(template=TEMPLATES, context=st.dictionaries(st.sampled_from(["contact", "results", "input", "é"]), JSON))
def test_any_template_is_evaluated(template: str, context: dict[str, Any]) -> None:
    with within_seconds():
        assert len(evaluate(template, context, ENVIRONMENT, clock=CLOCK).text) <= 10_000


@tried
@given(QUERIES)
def test_any_query_is_evaluated_or_refused(text: str) -> None:
    try:
        with within_seconds():
            query = parse_query(text, ENVIRONMENT, AssetResolver(ASSETS), clock=CLOCK)
            canonical = str(query)
            inspect_query(query)
            found = evaluate_query(query, ContactView(CONTACT, ASSETS), ENVIRONMENT)
    except QueryError:
        return
    again = parse_query(canonical, ENVIRONMENT, AssetResolver(ASSETS), clock=CLOCK)
    assert str(again) == canonical
    assert evaluate_query(again, ContactView(CONTACT, ASSETS), ENVIRONMENT) == found


@tried
@given(QUERIES)
def test_any_query_is_read_or_refused_without_a_workspace(text: str) -> None:
    try:
        query = parse_query(text, ENVIRONMENT, clock=CLOCK)
    except QueryError:
        return
    assert str(parse_query(str(query), ENVIRONMENT, clock=CLOCK)) == str(query)
