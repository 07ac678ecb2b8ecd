"""What mirrors of flows see; counts of runs change with every run, which mirrors of runs see."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from sqlalchemy import select

from persistence.definitions.importing import import_definitions
from persistence.flows.records import add_flow_label, archive_flow, remove_flow_label, set_ignores_triggers
from persistence.tables.flows import flow
from testbed.flow_rows import ask, definition, say, uuid_of
from tests.api import Api
from tests.worker.mirrors.client import Listed, by_name, check_changes, check_mirrors

LISTS = [Listed("/api/v2/flows.json", elsewhere=lambda record: {"runs": None})]
NAMES = ("One", "Two", "Three", "Four", "Five", "Six", "Seven")


def bring_in(api: Api, word: str, **fields: Any) -> None:
    """Imports the flow of a word, which has this name unless `fields` say otherwise."""
    result = fields.pop("result", "Answer")
    question = ask(word, {"yes": None}, None, result=result, actions=[say("Well?")])
    document = {**definition(word, [question]), **fields}
    api.database.write(lambda tx: import_definitions(tx, api.workspace, document))


def id_of(api: Api, word: str) -> int:
    with api.database.reading() as tx:
        found: int = tx.execute(select(flow.c.id).where(flow.c.uuid == uuid_of(f"flow {word}"))).scalar_one()
        return found


def rename(api: Api, turn: int) -> None:
    bring_in(api, "One", name=f"One {turn}")


def change_its_letters(api: Api, turn: int) -> None:
    bring_in(api, "Two", name="TWO" if turn % 2 else "Two")


def change_what_it_saves(api: Api, turn: int) -> None:
    bring_in(api, "Three", result=f"Answer {turn}")


def change_its_expiry(api: Api, turn: int) -> None:
    bring_in(api, "Four", expire_after_minutes=100 + turn)


def archive_and_bring_back(api: Api, turn: int) -> None:
    archive_flow(api.database, api.workspace.id, id_of(api, "Five"))
    if turn % 2 == 0:
        bring_in(api, "Five")


def label(api: Api, turn: int) -> None:
    flow_id = id_of(api, "Six")
    api.database.write(lambda tx: add_flow_label(tx, api.workspace.id, flow_id, f"Health {turn}"))


def unlabel(api: Api, turn: int) -> None:
    flow_id, word = id_of(api, "Seven"), "Surveys" if turn == 1 else f"Survey {turn}"
    if turn != 1:
        api.database.write(lambda tx: add_flow_label(tx, api.workspace.id, flow_id, word))
    api.database.write(lambda tx: remove_flow_label(tx, api.workspace.id, flow_id, word))


def ignore_triggers(api: Api, turn: int) -> None:
    flow_id, ignores = id_of(api, "Six"), turn % 2 == 1
    api.database.write(lambda tx: set_ignores_triggers(tx, api.workspace.id, flow_id, ignores_triggers=ignores))


def make_another(api: Api, turn: int) -> None:
    bring_in(api, f"Another {turn}")


OPERATIONS: list[Callable[[Api, int], None]] = [
    rename,
    change_its_letters,
    change_what_it_saves,
    change_its_expiry,
    archive_and_bring_back,
    label,
    unlabel,
    ignore_triggers,
    make_another,
]


@pytest.fixture(autouse=True)
def _flows(api: Api) -> None:
    for word in NAMES:
        bring_in(api, word)
    flow_id = id_of(api, "Seven")
    api.database.write(lambda tx: add_flow_label(tx, api.workspace.id, flow_id, "Surveys"))


def test_each_change_moves_modified_on(api: Api) -> None:
    check_changes(api, LISTS, by_name(OPERATIONS, api))


def test_a_mirror_misses_nothing(api: Api) -> None:
    check_mirrors(api, LISTS, [partial(operation, api) for operation in OPERATIONS])
