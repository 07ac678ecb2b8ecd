"""The media store in a bucket: names, ranges, large files, listings, settings, and what is said of it."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from boto3.s3.transfer import TransferConfig
from prometheus_client import generate_latest

from handlers.asgi.plain_responses import MediaFiles
from persistence.backups.writing import restore_backup, write_backup
from persistence.database import Database
from persistence.errors import BackupError
from persistence.media import s3, store
from persistence.media.s3 import S3Store, client_of
from persistence.media.store import MediaStore, StoreUnavailable, open_store
from persistence.secrets.renewal import confirm_secret_key
from relayboard.base.metrics import shared
from relayboard.base.settings import SettingError, Settings, load_settings
from relayboard.doctor.places import check_files, check_media, check_room
from tests.api import Api
from tests.handlers.asgi.test_store_responses import (  # noqa: F401
    NAME,
    test_a_player_may_ask_for_a_part,
    test_a_stored_file_is_served_with_its_type_and_may_be_kept_for_ever,
    test_files_can_only_be_read,
    test_nothing_else_is_served,
    test_other_addresses_go_inside,
    test_what_a_browser_could_run_is_served_as_mere_bytes,
)
from tests.handlers.exchange import Echo, exchange

CONTENT = b"0123456789"
URL = f"/media/{NAME}.jpg"
LATER = "Fri, 01 Jan 2038 00:00:00 GMT"


def put(store: MediaStore, name: str, content: bytes = CONTENT) -> None:
    with store.writing(name) as file:
        file.write(content)


def read(store: MediaStore, name: str) -> bytes | None:
    file = store.open(name)
    if file is None:
        return None
    with file.stream:
        return file.stream.read()


@pytest.fixture
def files(settings: Settings, bucket: S3Store) -> MediaFiles:
    for ending in (".jpg", ".svg", ".html", ""):
        put(bucket, NAME + ending)
    put(bucket, "loose.jpg")
    return MediaFiles(Echo(status=418), settings)


@pytest.mark.parametrize(
    ("asked", "status", "body", "content_range"),
    [
        ("bytes=2-4", 206, b"234", "bytes 2-4/10"),
        ("bytes=7-", 206, b"789", "bytes 7-9/10"),
        ("bytes=-2", 206, b"89", "bytes 8-9/10"),
        ("bytes=5-100", 206, b"56789", "bytes 5-9/10"),
        ("bytes=10-", 416, None, "bytes */10"),
        ("bytes=0-1,3-4", 200, CONTENT, None),
        ("lines=1-2", 200, CONTENT, None),
        ("bytes=a-b", 200, CONTENT, None),
        ("bytes=0-1\r\nx: y", 200, CONTENT, None),
    ],
)
def test_one_range_is_served_and_others_get_the_whole_file(
    files: MediaFiles, asked: str, status: int, body: bytes | None, content_range: str | None
) -> None:
    reply = exchange(files, "GET", URL, headers=[("Range", asked)])

    assert (reply.status, reply.headers.get("content-range")) == (status, content_range)
    assert body is None or reply.body == body


def test_a_range_under_a_condition_is_served_of_the_same_file_only(files: MediaFiles) -> None:
    whole = exchange(files, "GET", URL)
    known = {"etag": whole.headers["etag"], "last-modified": whole.headers["last-modified"]}

    def ask(condition: str) -> int | None:
        return exchange(files, "GET", URL, headers=[("Range", "bytes=2-4"), ("If-Range", condition)]).status

    assert [ask(each) for each in known.values()] == [206, 206]
    assert [ask(each) for each in ('"other"', LATER, "nonsense")] == [200, 200, 200]


def test_the_head_of_a_file_tells_its_size_and_of_a_missing_one_nothing(files: MediaFiles) -> None:
    there, missing = exchange(files, "HEAD", URL), exchange(files, "HEAD", URL.replace(".jpg", ".gif"))

    assert (there.status, there.headers["content-length"], there.headers["accept-ranges"]) == (200, "10", "bytes")
    assert missing.status == 404


@pytest.mark.parametrize("name", ["", "/a", "a//b", "../a", "a/../b", "a/.", "a\x00b"])
def test_a_name_never_leads_outside_its_prefix(bucket: S3Store, name: str) -> None:
    for use in (bucket.open, bucket.remove, bucket.has, lambda name: put(bucket, name)):
        with pytest.raises(ValueError, match="outside"):
            use(name)


def test_two_prefixes_of_one_bucket_do_not_see_each_other(
    settings: Settings, bucket: S3Store, changed: Callable[..., S3Store]
) -> None:
    put(bucket, "a/1")
    other, whole = (
        changed(media_url=f"{settings.media_url}-of-others"),
        changed(media_url=settings.media_url.rpartition("/")[0]),
    )

    assert (list(bucket.list_names()), list(other.list_names())) == (["a/1"], [])
    assert list(whole.list_names()) == ["files/a/1"]


def test_listings_continue_over_pages_and_leave_out_what_is_hidden(
    bucket: S3Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(s3, "LISTED_AT_ONCE", 2)
    names = [f"w/{number}" for number in range(5)]
    for name in [*names, "w/.hidden", "w/half.part"]:
        put(bucket, name)
    bucket.leave_node("first")
    bucket.leave_node("second")

    assert sorted(bucket.list_names()) == names
    assert list(bucket.list_names(bucket.now() + 60)) == []
    assert bucket.list_nodes() == ["first", "second"]


def test_a_large_file_goes_in_parts_and_comes_back(bucket: S3Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(s3, "ONE_REQUEST_BYTES", 1 << 20)
    monkeypatch.setattr(
        s3, "IN_PARTS", TransferConfig(multipart_threshold=1 << 20, multipart_chunksize=5 << 20, use_threads=False)
    )
    content = bytes(range(256)) * (6 << 12)

    put(bucket, "archives/large", content)

    assert read(bucket, "archives/large") == content
    described = bucket.describe("archives/large")
    assert described is not None
    assert described.etag.endswith('-2"')


def test_an_error_without_advice_is_told_by_its_name(bucket: S3Store) -> None:
    put(bucket, "a/1")

    with pytest.raises(StoreUnavailable, match=r": InvalidRequest$"):
        bucket.move("a/1", "a/1")


def test_calls_are_counted_by_what_they_did_and_how_they_ended(
    bucket: S3Store, changed: Callable[..., S3Store]
) -> None:
    put(bucket, "a/1")
    with pytest.raises(Exception, match="bucket"):
        put(changed(media_url="s3://nobody-made-this"), "a/1")

    page = generate_latest(shared).decode()
    assert 'relayboard_media_store_seconds_count{operation="write",outcome="answered"}' in page
    assert 'relayboard_media_store_seconds_count{operation="write",outcome="failed"}' in page


class TestBackup:
    def test_files_of_a_bucket_come_back_in_another_one_and_never_in_one_that_is_used(
        self, api: Api, settings: Settings, database: Database, bucket: S3Store, tmp_path: Path
    ) -> None:
        confirm_secret_key(database)
        uploaded = api.upload("/api/v2/media.json", "a.png", CONTENT, "image/png").json()
        put(bucket, "archives/x/2026-03-02-message.jsonl.gz")
        names = sorted(bucket.list_names())

        made = write_backup(database, bucket, tmp_path / "backup.zip")
        to_a_folder = replace(settings, database_url=f"sqlite:///{tmp_path}/f.db", media_url=f"file://{tmp_path}/media")
        to_a_bucket = replace(
            settings, database_url=f"sqlite:///{tmp_path}/b.db", media_url=f"{settings.media_url}-restored"
        )

        assert made.manifest.media_files == 2
        for target in (to_a_folder, to_a_bucket):
            restore_backup(tmp_path / "backup.zip", target)
            store = open_store(target)
            assert sorted(store.list_names()) == names
            assert [read(store, name) for name in names] == [CONTENT, CONTENT]
            assert uploaded["url"].rpartition("/media/")[2] in names
        with pytest.raises(BackupError, match=r"the bucket s3://.*-restored/ .*holds files"):
            restore_backup(tmp_path / "backup.zip", replace(to_a_bucket, database_url=f"sqlite:///{tmp_path}/again.db"))


class TestDoctor:
    def ask(self, settings: Settings, hosts: tuple[str, ...] = ()) -> list[tuple[str, str]]:
        return [(finding.status, finding.sentence) for finding in check_media(settings, hosts)]

    def test_a_bucket_that_works_is_shared_by_the_workers_that_marked_it(
        self, settings: Settings, bucket: S3Store
    ) -> None:
        bucket.leave_node("first")

        ((state, text),) = self.ask(settings, ("first",))
        assert (state, "is shared by first" in text) == ("ok", True)
        ((state, text),) = self.ask(settings, ("first", "second"))
        assert (state, text.startswith("the worker on second does not use the bucket")) == ("problem", True)
        assert list(bucket.list_names()) == []

    def test_nothing_is_said_of_folders(self, settings: Settings) -> None:
        assert not [each for each in (*check_room(settings), *check_files(settings)) if "media is" in each.sentence]

    @pytest.mark.parametrize(
        ("changes", "sentence"),
        [
            ({"media_url": "s3://nobody-made-this/x"}, "there is no such bucket"),
            ({"s3_endpoint": "http://127.0.0.1:9"}, r"cannot be reached \(EndpointConnectionError\)"),
            ({"s3_access_key": "", "s3_secret_key": ""}, r"cannot be reached \(NoCredentialsError\)"),
        ],
    )
    def test_what_is_wrong_is_said_with_what_to_do(
        self, settings: Settings, changes: dict[str, Any], sentence: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        forget_amazon(monkeypatch)
        monkeypatch.setattr(s3, "ATTEMPTS", 1)

        ((state, text),) = self.ask(replace(settings, **changes))

        assert state == "problem"
        assert re.search(sentence, text)
        assert "correct RELAYBOARD_MEDIA_URL" in text

    def test_a_missing_package_is_named(self, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(store, "find_spec", lambda _name: None)

        ((state, text),) = self.ask(settings)

        assert (state, "`pip install relayboard[s3]`" in text) == ("problem", True)


def forget_amazon(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")


OWN = {"RELAYBOARD_SECRET_KEY": "a-key-that-only-tests-use", "RELAYBOARD_MEDIA_URL": "s3://bucket/prefix"}


class TestSettings:
    @pytest.mark.parametrize("url", ["s3://bucket", "s3://bucket/", "s3://my.bucket-2/a/b", "file:///srv/media"])
    def test_urls_of_buckets_and_folders_are_accepted(self, url: str) -> None:
        assert load_settings({**OWN, "RELAYBOARD_MEDIA_URL": url}).media_url == url

    @pytest.mark.parametrize(
        "url", ["s3://", "s3:///x", "s3://Bucket", "s3://key:secret@bucket", "s3://b?x=1", "gs://b"]
    )
    def test_others_are_refused(self, url: str) -> None:
        with pytest.raises(SettingError, match="RELAYBOARD_MEDIA_URL cannot be used"):
            load_settings({**OWN, "RELAYBOARD_MEDIA_URL": url})

    @pytest.mark.parametrize(
        ("bucket", "sentence"),
        [
            ("a", "has 3 to 63 characters, this one has 1"),
            ("x" * 64, "has 3 to 63 characters, this one has 64"),
            ("My-Bucket", "has only small letters, digits, dots and hyphens"),
        ],
    )
    def test_the_name_of_a_bucket_is_refused_with_what_is_wrong_with_it(self, bucket: str, sentence: str) -> None:
        with pytest.raises(SettingError, match=sentence):
            load_settings({**OWN, "RELAYBOARD_MEDIA_URL": f"s3://{bucket}/prefix"})

    def test_what_is_not_set_comes_from_the_variables_and_files_of_amazon(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        forget_amazon(monkeypatch)
        (tmp_path / "credentials").write_text("[media]\naws_access_key_id = of-file\naws_secret_access_key = x\n")
        (tmp_path / "config").write_text("[profile media]\nregion = eu-west-3\nendpoint_url = https://s3.example.org\n")
        monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
        monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
        monkeypatch.setenv("AWS_PROFILE", "media")
        by_file = client_of(load_settings(OWN))
        monkeypatch.setenv("AWS_REGION", "eu-north-1")
        ours = {"S3_ACCESS_KEY": "ours", "S3_SECRET_KEY": "y", "S3_ENDPOINT": "https://minio.example.org/"}
        by_settings = client_of(load_settings({**OWN, **{f"RELAYBOARD_{k}": v for k, v in ours.items()}}))

        assert [each._request_signer._credentials.access_key for each in (by_file, by_settings)] == ["of-file", "ours"]
        assert [each.meta.region_name for each in (by_file, by_settings)] == ["eu-west-3", "eu-north-1"]
        assert [each.meta.endpoint_url for each in (by_file, by_settings)] == [
            "https://s3.example.org",
            "https://minio.example.org",
        ]

    def test_no_text_of_the_settings_shows_the_secrets(self) -> None:
        text = repr(load_settings({**OWN, "RELAYBOARD_S3_SECRET_KEY": "hidden-secret"}))

        assert "hidden-secret" not in text
