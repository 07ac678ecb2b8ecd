"""If a group is deleted while a campaign for it is created, one of the two is refused."""

import threading
from collections.abc import Callable

import pytest
from sqlalchemy import select

from persistence.campaigns.records import create_campaign, find_any_group
from persistence.database import Database, Transaction
from persistence.errors import InvalidInput, Refused
from persistence.groups.groups import delete_group
from persistence.tables.campaigns import campaign
from persistence.tables.contacts import group
from persistence.workspaces.records import Workspace
from tests.factories import make_named


@pytest.mark.parametrize("attempt", range(3))
def test_no_campaign_at_work_ever_loses_its_group(database: Database, workspace: Workspace, attempt: int) -> None:
    names = [f"Group {attempt} {number}" for number in range(6)]
    uuids = make_named(database, workspace, group, names)
    outcomes: list[str] = []

    def settle(name: str, work: Callable[[Transaction], object]) -> None:
        try:
            database.write(work)
            outcomes.append(name)
        except (InvalidInput, Refused):
            outcomes.append("refused")

    def found(name: str) -> Callable[[Transaction], int]:
        def work(tx: Transaction) -> int:
            return create_campaign(tx, workspace.id, name, find_any_group(tx, workspace.id, name, field="group"))

        return work

    def remove(uuid: str) -> Callable[[Transaction], None]:
        return lambda tx: delete_group(tx, workspace.id, uuid)

    rivals = [threading.Thread(target=settle, args=("campaign", found(name))) for name in names]
    rivals += [threading.Thread(target=settle, args=("removal", remove(uuid))) for uuid in uuids]
    for rival in rivals[attempt % 2 :: 2] + rivals[1 - attempt % 2 :: 2]:
        rival.start()
    for rival in rivals:
        rival.join()

    with database.reading() as tx:
        homes = list(tx.execute(select(campaign.c.group_id)).scalars())
        groups = set(tx.execute(select(group.c.id).where(group.c.query.is_(None))).scalars())
    assert len(outcomes) == 2 * len(names)
    assert outcomes.count("refused") == len(names)
    assert (len(homes), set(homes)) == (outcomes.count("campaign"), groups)
