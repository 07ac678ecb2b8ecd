"""A kind of assets is one line in `AssetLists` of flows and one in `STORED` of persistence; everything else uses
both."""

from dataclasses import dataclass

import pytest
from sqlalchemy import insert

from flows.asset_kinds import KINDS, Asset, AssetLists, Kind, is_relinked
from flows.engine import Assets
from flows.engine.errors import AssetsError
from persistence.database import Database
from persistence.definitions.assets import ImportedAssets
from persistence.flows.assets import STORED, StoredKind, load_asset_rows, load_plain
from persistence.sql.columns import new_uuid
from persistence.sql.names import name_key
from persistence.tables.flows import flow_label
from persistence.workspaces.records import Workspace

MINE = new_uuid()


@dataclass(frozen=True, slots=True)
class Notebook(Asset):
    uuid: str
    name: str


@pytest.fixture
def notebooks(monkeypatch: pytest.MonkeyPatch, database: Database, workspace: Workspace) -> None:
    """A new kind, declared as the others are; labels of flows stand for its table."""
    kind = Kind(Notebook)
    kind.__set_name__(AssetLists, "notebooks")
    monkeypatch.setattr(AssetLists, "notebooks", kind, raising=False)
    monkeypatch.setitem(KINDS, kind.name, kind)
    monkeypatch.setitem(STORED, kind.name, StoredKind(flow_label, load_plain(Notebook, flow_label)))
    row = {"uuid": MINE, "name": "Mine", "name_key": name_key("Mine"), "workspace_id": workspace.id}
    with database.writing() as tx:
        tx.execute(insert(flow_label).values(created_on=tx.now, **row))


@pytest.mark.usefixtures("notebooks")
class TestANewKind:
    def test_is_loaded_for_the_engine_and_found_there(self, database: Database, workspace: Workspace) -> None:
        with database.reading() as tx:
            rows = load_asset_rows(tx, workspace.id)

        assets = Assets(rows.lists)
        assert rows.lists["notebooks"] == [Notebook(MINE, "Mine")]
        assert assets.notebooks == {MINE: Notebook(MINE, "Mine")}  # type: ignore[attr-defined]
        assert assets.knows("notebook", MINE)

    def test_is_read_from_json_and_its_form_checked(self) -> None:
        assert Assets.from_json({"notebooks": [{"uuid": MINE, "name": "Mine"}]}).knows("notebook", MINE)
        with pytest.raises(AssetsError, match="notebooks"):
            Assets.from_json({"notebooks": [{"uuid": MINE, "name": 5}]})

    def test_is_found_by_imports(self, database: Database, workspace: Workspace) -> None:
        with database.reading() as tx:
            imported = ImportedAssets(tx, workspace)

        elsewhere = new_uuid()
        assert is_relinked("notebook")
        assert imported.resolve("notebook", elsewhere, "MINE") == (MINE, "Mine")
        assert imported.knows("notebook", MINE)
        assert imported.knows("notebook", elsewhere)
        assert not imported.knows("notebook", new_uuid())


def test_every_kind_of_the_workspace_is_stored_somewhere() -> None:
    assert set(STORED) == set(KINDS) - {"campaign", "llm"}


def test_kinds_go_by_the_first_field_of_their_record() -> None:
    others = {kind.name: kind.identity for kind in KINDS.values() if kind.identity != "uuid"}

    assert others == {"field": "key", "global": "key", "resthook": "slug"}
    assert [kind.name for kind in KINDS.values() if kind.is_early] == ["classifier", "optin", "ticketer"]
    assert [kind.name for kind in KINDS.values() if not kind.is_relinked] == ["field", "global", "resthook", "user"]
