"""A workspace that leaves in a file is the same elsewhere: everything that the API lists, and its files."""

import json
import re
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert, select, update

from persistence.backups.writing import restore_backup, write_backup
from persistence.database import Database
from persistence.errors import BackupError
from persistence.media.store import FolderStore
from persistence.migrations import current_revision
from persistence.sql.columns import new_uuid
from persistence.stamps import WROTE
from persistence.tables.accounts import user
from persistence.tables.changes import day_count
from persistence.tables.channels import channel
from persistence.tables.messages import message
from persistence.tables.service import archive
from persistence.workspace_files.reading import BadWorkspaceFile, _Reading, read_workspace
from persistence.workspace_files.writing import write_workspace
from persistence.workspaces.records import Workspace, find_workspace_by_uuid
from relayboard.base.settings import Settings
from testbed.databases import migrate
from testbed.tokens import KEYS, make_token
from tests.api import Api
from tests.contract.filled_workspace import fill_workspace
from tests.contract.services import database_url_for_many_tests, serve
from tests.persistence.backups.test_backups import read_lists

OTHER = {"sqlite": "postgresql", "postgresql": "sqlite"}
OF_THE_MOMENT = (
    "participants",
    "/figures",
    "channel_calls",
    "channel_checks",
    "contact_imports",
    "contact_jobs",
    "exports",
    "invitations",
    "tokens",
)
PHOTO = b"\xff\xd8\xff\xe0 a photo"


@pytest.fixture(params=["sqlite", "postgresql"])
def services(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Any, Any]]:
    """A service, and one with a database of the other kind."""
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    with (
        database_url_for_many_tests(request.param, request, here) as first,
        database_url_for_many_tests(OTHER[request.param], request, there) as second,
        serve(first, here, check_responses=False) as one,
        serve(second, there, check_responses=False) as other,
    ):
        yield one, other


def shown(api: Api) -> dict[str, Any]:
    lists = read_lists(api)
    kept = {name: each for name, each in lists.items() if not any(word in name for word in OF_THE_MOMENT)}
    for each in kept["v2/openapi.yaml GET /channel_settings.json"]:
        each["connection"] = None  # what a provider said of it; it is asked again elsewhere
    return json.loads(re.sub(r"\?expires=[0-9]+&sig=[0-9a-f]+", "", json.dumps(kept)))


def test_everything_that_the_api_lists_is_the_same_elsewhere(services: tuple[Any, Any], tmp_path: Path) -> None:
    source, target = services
    workspace = source.new_workspace()
    fill_workspace(source.database, workspace, 3, {"message": 20})
    api = source.api(workspace)
    made = api.upload("/api/v2/media.json", "photo.jpg", PHOTO, "image/jpeg").json()
    store, other = (FolderStore(f"file://{tmp_path / place / 'media'}") for place in ("here", "there"))
    name = f"archives/{workspace.uuid}/2026-01-message-x.jsonl.gz"
    with store.writing(name) as file:
        file.write(b"archived")
    with source.database.writing() as tx:
        mine = archive.c.workspace_id == workspace.id
        tx.execute(archive.update().where(mine).values(location=name))
        tx.execute(channel.update().where(channel.c.workspace_id == workspace.id).values(secret="hush"))
    before = shown(api)

    written = write_workspace(source.database, KEYS, store, workspace, tmp_path / "w.zip", "")
    uuid, read, _ = read_workspace(target.database, other, tmp_path / "w.zip", "")

    with target.database.reading() as tx:
        moved = find_workspace_by_uuid(tx, uuid)
        assert moved is not None
        secrets = set(tx.execute(select(channel.c.secret).where(channel.c.workspace_id == moved.id)).scalars())
    there = Api(target.client, target.database, moved, make_token(target.database, moved, "administrator"))
    assert shown(there) == before
    assert {table: count for table, count in read.items() if count} == {
        table: count for table, count in written.items() if count and table in read
    }
    assert (secrets, (tmp_path / "w.zip").stat().st_mode & 0o777) == ({"hush"}, 0o600)
    assert target.client.get(made["url"].partition("http://testserver")[2] or made["url"]).content == PHOTO
    assert there.post("/api/v2/contacts.json", {"name": "New"}).status_code == 201  # no id is given twice
    with pytest.raises(BadWorkspaceFile, match="is here already"):
        read_workspace(target.database, other, tmp_path / "w.zip", "")


def test_rows_get_other_ids_where_those_are_taken(services: tuple[Any, Any], tmp_path: Path) -> None:
    source, target = services
    workspace = source.new_workspace()
    fill_workspace(source.database, workspace, 2)
    fill_workspace(target.database, target.new_workspace("Hilltop Schools"), 5)
    api = source.api(workspace)
    with source.database.writing() as tx:  # somebody who is no member any more has written
        stranger = {"email": "gone@example.org", "email_key": "gone@example.org", "first_name": "Gone", "last_name": ""}
        user_id = tx.insert(user, uuid=new_uuid(), created_on=tx.now, **stranger)
        tx.execute(update(message).where(message.c.workspace_id == workspace.id).values(author_id=user_id))
        counted = {"kind": WROTE, "day": tx.now.date(), "subject": user_id, "number": 3}
        tx.execute(insert(day_count).values(workspace_id=workspace.id, **counted))
    store = FolderStore(f"file://{tmp_path / 'there' / 'media'}")

    write_workspace(source.database, KEYS, store, workspace, tmp_path / "w.zip", "https://old.example.org")
    uuid, *_ = read_workspace(target.database, store, tmp_path / "w.zip", "https://new.example.org")

    with target.database.reading() as tx:
        moved = find_workspace_by_uuid(tx, uuid)
    there = Api(target.client, target.database, moved, make_token(target.database, moved, "administrator"))
    for path in ("messages", "runs", "contacts", "tickets", "conversations", "flow_starts"):
        here_, there_ = (each.all_results(f"/api/v2/{path}.json") for each in (api, there))
        assert [without_ids(each) for each in there_] == [without_ids(each) for each in here_], path
    assert {each["id"] for each in there.results("/api/v2/messages.json")}.isdisjoint(
        each["id"] for each in api.results("/api/v2/messages.json")
    )
    written = {row["key"]: row["messages_out"] for row in there.get("/api/v2/figures.json", by="agent").json()["rows"]}
    assert written["gone@example.org"] == 3


@pytest.mark.own_session
def test_a_backup_and_the_file_of_a_workspace_are_not_mistaken_for_each_other(
    database: Database, workspace: Workspace, settings: Settings, tmp_path: Path
) -> None:
    store, backup, file = FolderStore(settings.media_url), tmp_path / "b.zip", tmp_path / "w.zip"
    write_backup(database, store, backup)
    write_workspace(database, KEYS, store, workspace, file, "")

    with pytest.raises(BadWorkspaceFile, match="is a backup of a whole installation: `relayboard restore` "):
        read_workspace(database, store, backup, "")
    with pytest.raises(BackupError, match="the file of one workspace: `relayboard workspace import` "):
        restore_backup(file, settings)


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Database]:
    """A migrated database in a file."""
    migrate(f"sqlite:///{tmp_path / 'a.db'}")
    with closing(Database(f"sqlite:///{tmp_path / 'a.db'}", keys=KEYS)) as database:
        yield database


def without_ids(record: Any) -> Any:
    if isinstance(record, dict):
        return {key: without_ids(value) for key, value in record.items() if key not in ("id", "broadcast")}
    return [without_ids(each) for each in record] if isinstance(record, list) else record


@pytest.mark.parametrize("change", ["version", "revision", "nothing"])
def test_a_file_that_does_not_fit_changes_nothing(empty: Database, change: str, tmp_path: Path) -> None:
    manifest = {"format": "relayboard-workspace", "version": 1, "revision": "0001", "workspace": "x", "base_url": ""}
    with zipfile.ZipFile(tmp_path / "w.zip", "w") as packed:
        if change != "nothing":
            packed.writestr(
                "manifest.json", json.dumps({**manifest, **({"version": 9} if change == "version" else {})})
            )
        packed.writestr("media/x.txt", "x")

    with pytest.raises(BadWorkspaceFile):
        read_workspace(empty, FolderStore(f"file://{tmp_path / 'media'}"), tmp_path / "w.zip", "")

    assert not (tmp_path / "media").exists()


def test_a_spoiled_directory_or_a_bomb_is_refused_with_a_sentence(empty: Database, tmp_path: Path) -> None:
    store, path = FolderStore(f"file://{tmp_path / 'media'}"), tmp_path / "w.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("manifest.json", " " * 20_000_000)
    with pytest.raises(BadWorkspaceFile, match="is not a file of a workspace"):
        read_workspace(empty, store, path, "")
    whole = path.read_bytes()
    for place in range(whole.find(b"PK\x01\x02"), len(whole)):
        spoiled = bytearray(whole)
        spoiled[place] ^= 0x21
        path.write_bytes(spoiled)
        with pytest.raises(BadWorkspaceFile):
            read_workspace(empty, store, path, "")


BOMBS: dict[str, tuple[str, Callable[[], bytes], str]] = {
    "file": ("media/zeros.bin", lambda: b"\0" * 80_000_000, "would become"),
    "line": ("workspace.jsonl", lambda: b" " * 17_000_000, "line 1 of workspace.jsonl is larger"),
    "values": ("workspace.jsonl", lambda: b"[" + b"[]," * 2_000_001 + b"[]]", "line 1 of workspace.jsonl is larger"),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_what_becomes_much_larger_than_the_file_is_refused_and_leaves_nothing(
    empty: Database, tmp_path: Path, bomb: str
) -> None:
    manifest = {"format": "relayboard-workspace", "version": 1, "workspace": "x", "base_url": ""}
    name, content, sentence = BOMBS[bomb]
    with zipfile.ZipFile(tmp_path / "w.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("manifest.json", json.dumps(manifest | {"revision": current_revision(empty.engine)}))
        packed.writestr(name, content())

    with pytest.raises(BadWorkspaceFile, match=sentence):
        read_workspace(empty, FolderStore(f"file://{tmp_path / 'media'}"), tmp_path / "w.zip", "")

    assert not (tmp_path / "media" / "zeros.bin").exists()


@pytest.mark.parametrize(
    ("here", "there", "urls"),
    [
        ("https://new.example.org/", "https://old.example.org", ("https://old.example.org", "https://new.example.org")),
        ("https://old.example.org/", "https://old.example.org", None),
        ("", "https://old.example.org", None),
        ("https://new.example.org", "", None),
    ],
)
def test_addresses_of_files_change_only_from_one_known_server_to_another(
    here: str, there: str, urls: tuple[str, str] | None
) -> None:
    tx: Any = None
    reading = _Reading(tx, tx, {"base_url": there, "workspace": "w"}, here)

    assert reading.urls == (None if urls is None else tuple(f"{each}/media/w/".encode() for each in urls))
