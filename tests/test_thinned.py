import re
from pathlib import Path
from types import SimpleNamespace

from testbed.quality_page import PAGE
from tests.thinned import ASKING_DATABASES, ASKING_NO_DATABASE, ON_POSTGRESQL, TAKING_TURNS, find_repeats

ROOT = Path(__file__).parents[1]

RULE = "tests/contract/test_sentences.py::test_a_rule"


def left_of(*cases: str, rule: str = RULE) -> list[str]:
    """What stays of these cases on both databases."""
    items = [
        SimpleNamespace(nodeid=f"{rule}[{database}-{case}]") for case in cases for database in ("sqlite", "postgresql")
    ]
    left_out = list(find_repeats(items))
    return [item.nodeid.partition("[")[2].removesuffix("]") for item in items if item not in left_out]


def test_each_case_of_a_long_table_is_asked_on_one_database_and_the_table_on_both():
    assert left_of("a", "b", "c", "d", "e") == ["postgresql-a", "sqlite-b", "sqlite-c", "postgresql-d", "sqlite-e"]


def test_few_cases_and_those_about_databases_are_asked_on_both():
    assert len(left_of("a", "b", "c")) == 6
    assert len(left_of(*"abcdef", rule="tests/persistence/test_lists.py::test_a_rule")) == 12
    assert len(left_of(*"abcdef", rule="tests/handlers/v2/test_message_search.py::test_a_rule")) == 12
    two_workers = "tests/worker/channels/test_mailboxes.py::test_two_workers_read_a_mailbox_in_turn"
    assert len(left_of("a", rule=two_workers)) == 2


def test_rules_that_ask_no_database_are_asked_on_one_each_however_few_their_cases_are():
    rules = [f"tests/handlers/asgi/test_guard.py::test_rule_{number}" for number in range(20)]
    kept = [left_of("a", "b", rule=rule) for rule in rules]

    assert [[each.partition("-")[2] for each in one] for one in kept] == [["a", "b"]] * 20
    assert {each.partition("-")[0] for one in kept for each in one[:1]} == {"sqlite", "postgresql"}


def test_a_story_is_told_where_it_breaks_first():
    rule = "tests/faults/test_mail_kills.py::test_a_rule"

    assert left_of("a", "b", rule=rule) == ["postgresql-a", "postgresql-b"]


def test_all_that_is_named_is_there():
    (section,) = re.findall(r"^## Cases that stand back\n(.*)", PAGE.read_text(), flags=re.MULTILINE | re.DOTALL)
    told = re.findall(r"`(tests/[\w/.]+)`", section)

    def is_there(name: str) -> bool:
        path, _, test = name.partition("::")
        defined = rf"\b(def|class) {test.rpartition('::')[2]}"
        return (ROOT / path).exists() and (not test or bool(re.search(defined, (ROOT / path).read_text())))

    assert told
    named = (*TAKING_TURNS, *ASKING_DATABASES, *ASKING_NO_DATABASE, *ON_POSTGRESQL, *told)
    assert [name for name in named if not is_there(name)] == []


def test_one_command_takes_every_case():
    read = {
        name
        for path in (ROOT / "tests").rglob("*.py")
        for name in re.findall(r'environ\.get\("(RELAYBOARD_EVERY_\w+)"', path.read_text())
    }

    assert "RELAYBOARD_EVERY_CASE" in read
    makefile = (ROOT / "Makefile").read_text()
    assert set(re.findall(r"^test-every-case: export (\w+) := 1$", makefile, flags=re.MULTILINE)) == read
    assert read <= set((ROOT / "tox.ini").read_text().split())
