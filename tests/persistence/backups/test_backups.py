"""Backups by the names of their commands: all that the API shows comes back; what cannot be changes nothing."""

import json
import os
import re
import signal
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from sqlalchemy import create_engine, func, inspect, select

from persistence.database import Database
from persistence.media.store import FolderStore
from persistence.migrations import newest_revision
from persistence.service.diagnosis import Worker, record_heartbeat
from persistence.tables.complete import metadata
from persistence.tables.contacts import contact, contact_urn
from persistence.tokens import public_part
from persistence.workspaces.records import Workspace
from persistence.workspaces.writes import create_workspace
from relayboard import cli
from testbed.databases import migrate
from testbed.forked import fork
from testbed.patience import PATIENCE_SECONDS
from testbed.running import wait_until
from testbed.servers import postgres_database
from testbed.tokens import SECRET_KEY
from tests.api import Api
from tests.channel_rows import add_contact
from tests.console_script import call_forked, make_environment
from tests.contract.documents import Operation, token_operations
from tests.contract.filled_workspace import fill_workspace
from tests.contract.services import database_url_for_many_tests, serve
from tests.thinned import EVERY_CASE

MARK = "written-"
ARCHIVE = "archives/x/2026-03-02-message.jsonl.gz"
PATHS_OF_V2 = {one.path for one in token_operations() if one.generation == "v2"}
LISTS = [
    one
    for one in token_operations()
    if one.method == "get"
    and one.path != "/stream"  # it stays open
    and (EVERY_CASE or one.generation == "v2" or one.path not in PATHS_OF_V2)
    and not any(parameter.get("required") for parameter in one.parameters())
]


@dataclass
class Installation:
    """A filled service, and a backup of it that was made while somebody wrote."""

    url: str
    folder: Path
    api: Api
    lists: dict[str, Any]
    written_before: int
    written_after: int
    backup: Path
    said: dict[str, Any]
    photo: str


def environment_for(url: str, folder: Path, key: str = SECRET_KEY) -> dict[str, str]:
    return make_environment(
        DATABASE_URL=url,
        QUEUE_URL=f"sqlite:///{folder / 'queue.db'}",
        MEDIA_URL=f"file://{folder / 'media'}",
        SECRET_KEY=key,
    )


def read_lists(api: Api) -> dict[str, Any]:
    """Everything that the API shows to an administrator, but what moves by itself: when the reader's own token was
    used, a minute after the last time, and how long tickets have been open.
    """
    lists = {str(operation): read_list(api, operation) for operation in LISTS}
    for token in lists["v2/openapi.yaml GET /tokens.json"]:
        if token["token"] == public_part(api.token):
            del token["last_used_on"]
    figures = "v2/openapi.yaml GET /figures.json"
    status, text = lists[figures]
    lists[figures] = status, re.sub(r'"open_(p90_)?seconds":[0-9]+,', "", text)
    return lists


def read_list(api: Api, operation: Operation) -> Any:
    path = f"/api/{operation.generation}{operation.path}"
    answer = api.get(path)
    if answer.status_code != 200 or not isinstance(answer.json(), dict) or "results" not in answer.json():
        return answer.status_code, answer.text
    return api.all_results(path)


FAR_DATES = {
    "Africa/Monrovia": ["0001-01-03", "1899-06-15", "15-06-1899 10:15:30", "9999-12-31"],
    "Pacific/Kiritimati": ["0001-01-03T00:00:00+00:00", "9999-12-31T23:59:59Z", "1899-06-15T00:00:00-00:44:30"],
}


class Writer:
    """Writes a contact with its number, again and again, each in one transaction."""

    def __init__(self, database: Database, workspace: Workspace) -> None:
        self.count = 0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(database, workspace))

    def __enter__(self) -> "Writer":
        self._thread.start()
        wait_until(lambda: self.count > 3, "the writer to write")
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self, database: Database, workspace: Workspace) -> None:
        while not self._stopping.wait(0.005):  # the backup wants a processor too
            add_contact(database, workspace, f"{MARK}{self.count:07d}", f"{MARK}{self.count:07d}")
            self.count += 1


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def installation(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    folder = tmp_path_factory.mktemp("installation")
    with (
        database_url_for_many_tests(request.param, request, folder) as url,
        serve(url, folder, check_responses=False) as service,
    ):
        workspace = service.new_workspace()
        fill_workspace(service.database, workspace, 3, {"message": 300})
        api = service.api(workspace)
        assert api.post("/api/v2/fields.json", {"name": "Far", "type": "datetime"}).status_code == 201
        for zone, dates in FAR_DATES.items():
            assert api.post("/api/v2/workspace_settings.json", {"timezone": zone}).status_code == 200
            for text in dates:
                answer = api.post("/api/v2/contacts.json", {"fields": {"far": text}})
                assert answer.json()["fields"]["far"], answer.text
        uploaded = api.upload("/api/v2/media.json", "photo.jpg", b"\xff\xd8\xff\xe0 a photo", "image/jpeg")
        assert uploaded.status_code == 201, uploaded.text
        with FolderStore(f"file://{folder / 'media'}").writing(ARCHIVE) as file:
            file.write(b"archived")
        lists = read_lists(api)
        backup = folder / "backup.zip"
        with Writer(service.database, service.new_workspace("Hilltop Schools")) as writer:
            before = writer.count
            made = call_forked("backup", str(backup), folder=folder, environment=environment_for(url, folder))
            after = writer.count
        assert (made.returncode, made.stderr) == (0, ""), made.stderr
        yield Installation(
            url, folder, api, lists, before, after, backup, json.loads(made.stdout), uploaded.json()["url"]
        )


@pytest.fixture
def empty_url(installation: Installation, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    """A place of the same kind that nobody has used."""
    if installation.url.startswith("sqlite"):
        yield f"sqlite:///{tmp_path / 'restored.db'}"
    else:
        with postgres_database(request.getfixturevalue("postgres_url")) as url:
            yield url


@pytest.fixture
def migrated_url(installation: Installation, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    """A place of the same kind with tables and nothing in them."""
    if installation.url.startswith("sqlite"):
        url = f"sqlite:///{tmp_path / 'migrated.db'}"
        migrate(url)
        yield url
    else:
        template = request.getfixturevalue("postgres_template")
        with postgres_database(request.getfixturevalue("postgres_url"), template) as url:
            yield url


def is_untouched(url: str, folder: Path) -> bool:
    """Whether nothing was brought into an empty place."""
    if any((folder / "media").rglob("*.*")) or list(folder.glob("restored.db*")):
        return False
    if url.startswith("sqlite"):
        return True
    engine = create_engine(url)
    names = inspect(engine).get_table_names()
    engine.dispose()
    return names == []


def test_everything_that_the_api_shows_is_restored(installation: Installation, empty_url: str, tmp_path: Path) -> None:
    done = call_forked(
        "restore", str(installation.backup), folder=tmp_path, environment=environment_for(empty_url, tmp_path)
    )

    assert (done.returncode, done.stderr) == (0, "")
    with serve(empty_url, tmp_path, check_responses=False) as service:
        api = Api(service.client, service.database, installation.api.workspace, installation.api.token)
        assert read_lists(api) == installation.lists
        assert service.client.get(installation.photo).content == b"\xff\xd8\xff\xe0 a photo"
        assert (tmp_path / "media" / ARCHIVE).read_bytes() == b"archived"
        count = check_whole(service.database)
        assert installation.written_before <= count <= installation.written_after
        assert api.post("/api/v2/contacts.json", {"name": "New"}).status_code == 201  # no id is given twice


def check_whole(database: Database) -> int:
    """How many contacts the writer had written; each transaction is there as a whole, and all before the last one."""
    with database.reading() as tx:
        paths = select(contact_urn.c.path).where(contact_urn.c.path.like(f"{MARK}%"))
        found = sorted(tx.execute(paths).scalars())
        assert found == [f"{MARK}{number:07d}" for number in range(len(found))]
        named = select(func.count()).select_from(contact).where(contact.c.name.like(f"{MARK}%"))
        assert tx.execute(named).scalar_one() == len(found)
    return len(found)


def test_the_manifest_tells_what_is_in_it_and_no_key(installation: Installation) -> None:
    with zipfile.ZipFile(installation.backup) as archive:
        manifest = json.loads(archive.read("manifest.json"))
        assert all(SECRET_KEY.encode() not in archive.read(name) for name in archive.namelist())
        assert set(archive.namelist()) - {"manifest.json"} == set(manifest["members"])

    assert manifest["revision"] == newest_revision()
    rows = {table["name"]: table["rows"] for table in manifest["tables"]}
    assert set(rows) == set(metadata.tables)
    assert rows["message"] == 300
    assert installation.said["rows"] == sum(rows.values())
    assert (installation.said["files"], manifest["media_files"]) == (2, 2)
    assert installation.backup.stat().st_mode & 0o777 == 0o600
    assert not list(installation.folder.glob("*.part*"))


def test_a_backup_takes_no_name_that_is_taken(installation: Installation) -> None:
    before = installation.backup.read_bytes()
    environment = environment_for(installation.url, installation.folder)

    refused = call_forked("backup", str(installation.backup), folder=installation.folder, environment=environment)

    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == f"relayboard: {installation.backup} exists already: give the backup another name\n"
    assert installation.backup.read_bytes() == before


def flip(path: Path, changed: Path, place: str) -> None:
    """The backup with one byte of a part changed, whatever the checks of ZIP say of it."""
    data = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        info = archive.getinfo(place)
    start = info.header_offset + 30 + len(place) + info.compress_size // 2
    data[start] ^= 0xFF
    changed.write_bytes(bytes(data))


def rewrite(path: Path, changed: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """The backup with another manifest."""
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(changed, "w") as written:
        for name in archive.namelist():
            data = archive.read(name)
            if name == "manifest.json":
                manifest = json.loads(data)
                change(manifest)
                data = json.dumps(manifest).encode()
            written.writestr(name, data)


def damage(installation: Installation, kind: str, changed: Path) -> None:
    part = "database.sqlite" if installation.url.startswith("sqlite") else "tables/message.copy"
    source = installation.backup
    if kind == "torn":
        changed.write_bytes(source.read_bytes()[:-500])
    elif kind == "flipped":
        flip(source, changed, part)
    elif kind == "no backup":
        changed.write_bytes(b"hello")
    elif kind == "another archive":
        with zipfile.ZipFile(changed, "w") as archive:
            archive.writestr("hello", "hello")
    elif kind == "newer schema":
        rewrite(source, changed, lambda manifest: manifest.update(revision="9999"))
    elif kind == "newer format":
        rewrite(source, changed, lambda manifest: manifest.update(format=99))
    elif kind == "other bytes":
        rewrite(source, changed, lambda manifest: manifest["members"][part].update(sha256="0" * 64))
    elif kind == "part missing":
        rewrite(source, changed, lambda manifest: manifest["members"].update(more=manifest["members"][part]))


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("torn", "is damaged, or is not a backup of Relayboard"),
        ("flipped", "damaged"),
        ("no backup", "is damaged, or is not a backup of Relayboard"),
        ("another archive", "is not a backup of Relayboard: it has no manifest"),
        ("newer schema", "restore it with a version that is not older"),
        ("newer format", "a newer version of Relayboard made this backup"),
        ("other bytes", "is not what was written"),
        ("part missing", "a part of it is missing"),
        ("nowhere", "No such file"),
    ],
)
def test_what_cannot_be_restored_changes_nothing(
    installation: Installation, empty_url: str, tmp_path: Path, kind: str, sentence: str
) -> None:
    changed = tmp_path / "changed.zip"
    damage(installation, kind, changed)

    refused = call_forked("restore", str(changed), folder=tmp_path, environment=environment_for(empty_url, tmp_path))

    assert (refused.returncode, refused.stdout) == (1, "")
    assert sentence in refused.stderr and len(refused.stderr.splitlines()) == 1, refused.stderr
    assert is_untouched(empty_url, tmp_path)


KILLED = {
    "before the files": ["persistence.backups.writing.put_back"],
    "before the database": ["persistence.backups.writing.upgrade", "persistence.backups.files.put_in_place"],
    "after the database": ["persistence.media.store.FolderStore.remove"],
}


def restore_until(moment: str, backup: str) -> int:
    def end(*_: object, **__: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    with ExitStack() as patching:
        for place in KILLED[moment]:
            patching.enter_context(patch(place, end))
        return cli.main(["restore", backup])


@pytest.mark.parametrize("moment", KILLED)
def test_a_restore_that_was_killed_can_be_repeated(
    installation: Installation, migrated_url: str, tmp_path: Path, moment: str
) -> None:
    environment = environment_for(migrated_url, tmp_path)

    killed = fork(restore_until, moment, str(installation.backup), environment=environment)
    assert killed.wait(PATIENCE_SECONDS) == -signal.SIGKILL
    again = call_forked("restore", str(installation.backup), folder=tmp_path, environment=environment)

    assert (again.returncode, again.stderr) == (0, ""), again.stderr
    assert FolderStore(f"file://{tmp_path / 'media'}").open(".restoring") is None
    assert (tmp_path / "media" / ARCHIVE).read_bytes() == b"archived"
    with ExitStack() as closing:
        database = Database(migrated_url)
        closing.callback(database.close)
        check_whole(database)


def test_another_key_changes_nothing(installation: Installation, empty_url: str, tmp_path: Path) -> None:
    environment = environment_for(empty_url, tmp_path, key="another-key-of-some-length")

    refused = call_forked("restore", str(installation.backup), folder=tmp_path, environment=environment)

    assert refused.returncode == 1
    assert "the backup was made under another RELAYBOARD_SECRET_KEY" in refused.stderr
    assert is_untouched(empty_url, tmp_path)


def test_without_a_key_none_is_made(installation: Installation, empty_url: str, tmp_path: Path) -> None:
    environment = environment_for(empty_url, tmp_path)
    del environment["RELAYBOARD_SECRET_KEY"]

    refused = call_forked("restore", str(installation.backup), folder=tmp_path, environment=environment)

    assert (refused.returncode, list(tmp_path.rglob("secret.key"))) == (1, [])
    assert "give the key of this installation" in refused.stderr


@contextmanager
def occupied(url: str, folder: Path, how: str) -> Iterator[str]:
    """A place that is not empty; the sentence that says so."""
    if how == "files":
        with FolderStore(f"file://{folder / 'media'}").writing("archives/old.gz") as file:
            file.write(b"old")
        yield "holds files: restore into an empty one"
        return
    with ExitStack() as closing:
        database = Database(url)
        closing.callback(database.close)
        if how == "rows":
            with database.writing() as tx:
                create_workspace(tx, "Here")
            yield "is not empty: there are rows in "
        else:
            with database.writing() as tx:
                record_heartbeat(tx, Worker("node-1", 1, 10, "0.1", "0001"))
            yield "a worker on node-1 is working with "


@pytest.mark.parametrize("how", ["files", "rows", "worker"])
def test_only_an_empty_place_is_restored_into(
    installation: Installation, migrated_url: str, tmp_path: Path, how: str
) -> None:
    with occupied(migrated_url, tmp_path, how) as sentence:
        refused = call_forked(
            "restore", str(installation.backup), folder=tmp_path, environment=environment_for(migrated_url, tmp_path)
        )

        assert (refused.returncode, refused.stdout) == (1, "")
        assert sentence in refused.stderr, refused.stderr


def test_a_place_where_a_service_has_only_started_is_empty(
    installation: Installation, migrated_url: str, tmp_path: Path
) -> None:
    environment = environment_for(migrated_url, tmp_path)
    assert call_forked("workspace", "list", folder=tmp_path, environment=environment).returncode == 0  # notes the key

    done = call_forked("restore", str(installation.backup), folder=tmp_path, environment=environment)

    assert (done.returncode, done.stderr) == (0, "")
    assert (
        call_forked(
            "token", "list", "--workspace", installation.api.workspace.uuid, folder=tmp_path, environment=environment
        ).returncode
        == 0
    )


def test_a_backup_of_one_kind_of_database_is_not_restored_into_another(
    installation: Installation, tmp_path: Path
) -> None:
    other = (
        "postgresql://nobody@127.0.0.1:1/x" if installation.url.startswith("sqlite") else f"sqlite:///{tmp_path}/x.db"
    )

    refused = call_forked(
        "restore", str(installation.backup), folder=tmp_path, environment=environment_for(other, tmp_path)
    )

    assert refused.returncode == 1
    assert "`relayboard copy-database` moves from SQLite to PostgreSQL afterwards" in refused.stderr
