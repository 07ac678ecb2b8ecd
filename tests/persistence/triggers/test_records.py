"""Triggers that would do what another one does."""

import pytest
from sqlalchemy import select

from persistence.database import Database
from persistence.errors import InvalidInput
from persistence.tables.campaigns import trigger
from persistence.triggers.records import (
    CATCH_ALL,
    KEYWORD,
    NEW_CONVERSATION,
    NewTrigger,
    archive_triggers_of_flow,
    create_trigger,
    find_rivals,
    set_archived,
)
from persistence.workspaces.records import Workspace
from tests.channel_rows import add_channel
from tests.run_rows import add_flow


def test_a_trigger_rivals_those_on_its_own_channel_alone(database: Database, workspace: Workspace) -> None:
    flow_id = add_flow(database, workspace)
    numbers = [add_channel(database, workspace, name=name, address=None) for name in ("North", "South", "West")]
    places = [*numbers, None]
    with database.writing() as tx:
        made = [create_trigger(tx, workspace.id, NewTrigger(CATCH_ALL, flow_id, channel_id=each)) for each in places]

        rivals = [find_rivals(tx, workspace.id, NewTrigger(CATCH_ALL, flow_id, channel_id=each)) for each in places]

    assert rivals == [[each] for each in made]


@pytest.mark.parametrize(
    ("keywords", "field"), [(("join",), "keywords"), (("start", "join"), "keywords"), (("joined",), None)]
)
def test_one_common_keyword_is_enough_to_be_refused(
    database: Database, workspace: Workspace, keywords: tuple[str, ...], field: str | None
) -> None:
    flow_id = add_flow(database, workspace)
    with database.writing() as tx:
        create_trigger(tx, workspace.id, NewTrigger(KEYWORD, flow_id, keywords=("help", "join")))
        new = NewTrigger(KEYWORD, flow_id, keywords=keywords)
        if field is None:
            create_trigger(tx, workspace.id, new)
        else:
            with pytest.raises(InvalidInput) as refused:
                create_trigger(tx, workspace.id, new)
            assert list(refused.value.errors) == [field]


@pytest.mark.parametrize("kind", [CATCH_ALL, NEW_CONVERSATION])
def test_what_is_refused_without_a_keyword_is_the_type(database: Database, workspace: Workspace, kind: str) -> None:
    new = NewTrigger(kind, add_flow(database, workspace))
    with database.writing() as tx:
        create_trigger(tx, workspace.id, new)
        with pytest.raises(InvalidInput) as refused:
            create_trigger(tx, workspace.id, new)

    assert list(refused.value.errors) == ["type"]


def test_with_a_flow_its_triggers_are_put_away_and_no_others(database: Database, workspace: Workspace) -> None:
    flow_id, other_id = add_flow(database, workspace), add_flow(database, workspace, "Other")
    with database.writing() as tx:
        archived = create_trigger(tx, workspace.id, NewTrigger(KEYWORD, flow_id, keywords=("old",)))
        set_archived(tx, workspace.id, [archived], is_archived=True)
        before = tx.execute(select(trigger.c.modified_on).where(trigger.c.id == archived)).scalar_one()
        gone = create_trigger(tx, workspace.id, NewTrigger(KEYWORD, flow_id, keywords=("join",)))
        kept = create_trigger(tx, workspace.id, NewTrigger(KEYWORD, other_id, keywords=("help",)))
    with database.writing() as tx:
        archive_triggers_of_flow(tx, workspace.id, flow_id)

        rows = dict(tx.execute(select(trigger.c.id, trigger.c.is_archived)).tuples().all())
        after = tx.execute(select(trigger.c.modified_on).where(trigger.c.id == archived)).scalar_one()
    assert rows == {archived: True, gone: True, kept: False}
    assert after == before
