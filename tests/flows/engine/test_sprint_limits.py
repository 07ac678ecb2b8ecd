"""A sprint is bound as one expression is: many dear ones, long ones, and changes of groups with long queries."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

import pytest

from flows import Trigger, load, start
from flows.engine.assets import Assets, Field, Group
from flows.engine.contact import Contact
from flows.engine.contact_texts import ContactTexts
from flows.environment import SYSTEM_CLOCK, Environment
from flows.expressions.evaluation import SPRINT_EVALUATIONS

NESTED = (
    '@(count(foreach(split(repeat("a ", 300), " "), (x) => count(foreach(split(repeat("b ", 300), " "), (y) => y)))))'
)
LONG = f"@({' & '.join(['1'] * 12_000)})"
KIND = {"spec_version": "14.4.2", "language": "eng", "type": "messaging"}
QUERY = " OR ".join(f"age = {number}" for number in range(1000, 1250))


def uuid() -> str:
    return str(uuid4())


def run(actions: Sequence[Mapping[str, Any]], **lists: Any) -> tuple[Any, list[Mapping[str, Any]]]:
    node = {"uuid": uuid(), "actions": actions, "exits": [{"uuid": uuid()}]}
    flow = load(
        {
            "uuid": uuid(),
            "name": "Dear",
            "spec_version": "14.4.2",
            "language": "eng",
            "type": "messaging",
            "nodes": [node],
        }
    )
    session, events = start(Assets(lists, flows=[flow]), {"uuid": uuid(), "name": "Ann"}, Trigger.manual(flow))
    return session, [event for event in events if event["type"] in ("error", "failure")]


def results(template: str, count: int) -> list[Mapping[str, Any]]:
    kind = {"type": "set_run_result", "category": "", "value": template}
    return [{**kind, "uuid": uuid(), "name": f"r{number}"} for number in range(count)]


@pytest.mark.parametrize("template", [NESTED, LONG])
def test_dear_expressions_of_a_sprint_share_what_a_few_may_take(template: str) -> None:
    session, errors = run(results(template, 100))

    assert session.status == "completed"
    assert sum("too complex" in error["text"] for error in errors) >= 100 - 3 * SPRINT_EVALUATIONS


def test_a_usual_sprint_is_not_bound() -> None:
    session, errors = run(results("Hi @contact.first_name, @(upper(contact.name)) @(1 + 2)", 100))

    assert (session.status, errors) == ("completed", [])


def test_a_sprint_that_asks_long_queries_of_groups_again_and_again_fails() -> None:
    field = Field("age", "Age", "number", uuid())
    groups = [Group(uuid=uuid(), name=f"Group {number}", query=QUERY) for number in range(100)]
    reference = {"key": "age", "name": "Age"}
    actions = [
        {"type": "set_contact_field", "uuid": uuid(), "field": reference, "value": str(number)} for number in range(100)
    ]

    session, errors = run(actions, groups=groups, fields=[field])
    few, no_errors = run(actions, groups=groups[:1], fields=[field])

    assert session.status == "failed"
    assert errors[-1]["text"] == "Reached maximum number of changes of groups per sprint"
    assert (few.status, no_errors) == ("completed", [])


def test_the_text_of_one_of_many_recipients_takes_little() -> None:
    texts = ContactTexts(Assets({}), Environment(), SYSTEM_CLOCK)
    ann = Contact.from_json({"uuid": uuid(), "name": "Ann Lee"})

    assert texts.write(f"Hi @contact.first_name {NESTED}", ann) == "Hi Ann "
    assert texts.write("Hi @(upper(contact.name))!" * 50, ann) == "Hi ANN LEE!" * 50
