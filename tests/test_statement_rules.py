import pytest
from sqlalchemy import create_engine, event

from tests.statement_rules import StatementRules, broken_rules


@pytest.mark.parametrize(
    "condition",
    ["c.workspace_id >= ?", "c.workspace_id != ?", "c.workspace_id < %(x)s", "c.contact_id <= 4", "c.id > 7"],
)
def test_a_statement_that_measures_a_key_breaks_a_rule(condition):
    assert broken_rules(f"DELETE FROM c WHERE {condition}") == [condition.partition("(")[0]]


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT c.id FROM c WHERE c.workspace_id = ? AND c.id <= ? ORDER BY c.created_on, c.id",
        "SELECT min(c.workspace_id) FROM c, owners WHERE c.workspace_id > owners.id",
        "SELECT count(c.id) FROM c WHERE c.id > ?",
        "SELECT c.id FROM c WHERE c.workspace_id = ? AND c.name = ? AND c.id != ?",
        "SELECT c.id FROM c WHERE c.attempts >= ? AND c.period_id IN (?)",
    ],
)
def test_pages_walks_counts_and_other_rows_keep_the_rules(statement):
    assert broken_rules(statement) == []


def test_what_a_test_asks_itself_is_not_noted():
    rules, engine = StatementRules(), create_engine("sqlite://")
    event.listen(engine, "before_cursor_execute", rules)

    with engine.connect() as connection:
        connection.exec_driver_sql("SELECT 1 FROM (SELECT 1 AS workspace_id) AS c WHERE c.workspace_id > 0")

    assert rules.take() == []
