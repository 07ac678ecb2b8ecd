"""The media store in a bucket of S3, or of a server that speaks its protocol.

Files that are written go to an unnamed temporary file first (in `TMPDIR`), so that no file is in memory as a whole, and
a slow client or a killed process leaves no half upload in the bucket. Files are read piece by piece.
"""

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import IO, Any, BinaryIO, cast
from urllib.parse import unquote, urlsplit

import boto3
from boto3.exceptions import Boto3Error
from boto3.s3.transfer import TransferConfig
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError

from persistence.media.store import (
    UNFINISHED,
    Description,
    FetchedObject,
    ObjectStore,
    RangeNotSatisfiable,
    StoredFile,
    StoreUnavailable,
)
from relayboard.base.metrics import measuring_store
from relayboard.base.settings import SettingError, Settings

CONNECT_SECONDS = 3.0
SILENCE_SECONDS = 10.0
ATTEMPTS = 2
CONNECTIONS = 48
LISTED_AT_ONCE = 1000
DEFAULT_REGION = "us-east-1"

ONE_REQUEST_BYTES = 32 * 1024 * 1024
PART_BYTES = 16 * 1024 * 1024
IN_PARTS = TransferConfig(multipart_threshold=ONE_REQUEST_BYTES, multipart_chunksize=PART_BYTES, use_threads=False)

MISSING = frozenset({"404", "NoSuchKey", "NotFound"})
MAY_MISS = frozenset({"read", "describe", "move"})
ADVICE = {
    "NoSuchBucket": "there is no such bucket",
    "404": "there is no such bucket",
    "InvalidAccessKeyId": "the server does not know the access key",
    "SignatureDoesNotMatch": "the secret key does not belong to the access key",
    "AccessDenied": "the access key may not do this",
    "403": "the access key may not do this",
}


class ObjectStream:
    """The content of an object, as it arrives. Raises StoreUnavailable if the server stops sending."""

    def __init__(self, body: Any, place: str) -> None:
        self._body = body
        self._place = place

    def read(self, size: int = -1) -> bytes:
        try:
            return cast(bytes, self._body.read(None if size < 0 else size))
        except (BotoCoreError, HTTPClientError, OSError) as error:
            raise StoreUnavailable(f"{self._place} stopped sending a file ({_name(error)})") from error

    def close(self) -> None:
        self._body.close()

    def __enter__(self) -> "ObjectStream":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class S3Store(ObjectStore):
    """Files under an `s3://bucket/prefix` URL. Raises SettingError for settings that no client can be made of."""

    def __init__(self, settings: Settings) -> None:
        parts = urlsplit(settings.media_url)
        self._bucket = parts.netloc
        prefix = unquote(parts.path).strip("/")
        self._prefix = f"{prefix}/" if prefix else ""
        try:
            self._client = client_of(settings)
        except (BotoCoreError, ValueError) as error:
            raise SettingError(f"the settings for S3 cannot be used: {error}", "RELAYBOARD_MEDIA_URL") from error

    @property
    def place(self) -> str:
        endpoint = urlsplit(self._client.meta.endpoint_url)
        return f"the bucket s3://{self._bucket}/{self._prefix} at {endpoint.scheme}://{endpoint.hostname}"

    @contextmanager
    def writing(self, name: str) -> Iterator[BinaryIO]:
        key = self._key(name)
        with tempfile.TemporaryFile(prefix="relayboard-") as file:
            yield cast(BinaryIO, file)
            self._put(key, file)

    def _put(self, key: str, file: IO[bytes]) -> None:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        with self._asking("write"):
            if size <= ONE_REQUEST_BYTES:
                self._client.put_object(Bucket=self._bucket, Key=key, Body=file)
            else:
                self._client.upload_fileobj(file, self._bucket, key, Config=IN_PARTS)

    def open(self, name: str) -> StoredFile | None:
        found = self.fetch(name)
        if found is None:
            return None
        return StoredFile(found.stream, found.size, found.modified)

    def fetch(self, name: str, byte_range: str | None = None) -> FetchedObject | None:
        wanted = {} if byte_range is None else {"Range": byte_range}
        try:
            with self._asking("read"):
                answer = self._client.get_object(Bucket=self._bucket, Key=self._key(name), **wanted)
        except FileNotFoundError:
            return None
        stream = cast(BinaryIO, ObjectStream(answer["Body"], self.place))
        modified = answer["LastModified"].timestamp()
        return FetchedObject(answer["ContentLength"], answer["ETag"], modified, stream, answer.get("ContentRange"))

    def describe(self, name: str) -> Description | None:
        try:
            with self._asking("describe"):
                answer = self._client.head_object(Bucket=self._bucket, Key=self._key(name))
        except FileNotFoundError:
            return None
        return Description(answer["ContentLength"], answer["ETag"], answer["LastModified"].timestamp())

    def has(self, name: str) -> bool:
        return self.describe(name) is not None

    def remove(self, name: str) -> None:
        with self._asking("remove"):
            self._client.delete_object(Bucket=self._bucket, Key=self._key(name))

    def move(self, name: str, new_name: str) -> None:
        """Copies inside the bucket, then deletes. A repetition after a failure in between does the rest."""
        source = {"Bucket": self._bucket, "Key": self._key(name)}
        try:
            with self._asking("move"):
                self._client.copy_object(Bucket=self._bucket, Key=self._key(new_name), CopySource=source)
        except FileNotFoundError:
            if self.has(new_name):  # another process did it
                return
            raise
        self.remove(name)

    def list_entries(self, folder: str) -> Iterator[tuple[str, float]]:
        yield from self._list(f"{folder}/")

    def list_names(self, changed_since: float = 0.0) -> Iterator[str]:
        for name, modified in self._list(""):
            is_hidden = any(part.startswith(".") for part in name.split("/"))
            if not is_hidden and not name.endswith(UNFINISHED) and modified >= changed_since:
                yield name

    def _list(self, start: str) -> Iterator[tuple[str, float]]:
        wanted: dict[str, Any] = {
            "Bucket": self._bucket,
            "Prefix": self._prefix + start,
            "MaxKeys": LISTED_AT_ONCE,
        }
        while True:
            with self._asking("list"):
                page = self._client.list_objects_v2(**wanted)
            for each in page.get("Contents", ()):
                yield each["Key"].removeprefix(wanted["Prefix"]), each["LastModified"].timestamp()
            if not page.get("IsTruncated"):
                return
            wanted["ContinuationToken"] = page["NextContinuationToken"]

    def now(self) -> float:
        with self._asking("list"):
            answer = self._client.head_bucket(Bucket=self._bucket)
        told = answer["ResponseMetadata"]["HTTPHeaders"].get("date")
        return time.time() if told is None else parsedate_to_datetime(told).timestamp()

    def _key(self, name: str) -> str:
        if any(part in ("", ".", "..") for part in name.split("/")) or "\x00" in name:
            raise ValueError("a name outside the store")
        return self._prefix + name

    @contextmanager
    def _asking(self, operation: str) -> Iterator[None]:
        """Measures a call, and translates what it raises: FileNotFoundError, RangeNotSatisfiable, StoreUnavailable."""
        with measuring_store(operation) as measured:
            try:
                yield
            except ClientError as error:
                code = str(error.response.get("Error", {}).get("Code", ""))
                if code in MISSING and operation in MAY_MISS:
                    measured.is_answered = True
                    raise FileNotFoundError(self.place) from error
                if code in ("InvalidRange", "416"):
                    measured.is_answered = True
                    raise RangeNotSatisfiable from error
                raise StoreUnavailable(f"{self.place}: {ADVICE.get(code, code or 'an unknown error')}") from error
            except (BotoCoreError, Boto3Error, HTTPClientError) as error:
                raise StoreUnavailable(f"{self.place} cannot be reached ({_name(error)})") from error


def client_of(settings: Settings) -> Any:
    """A client with the settings of Relayboard. What they leave out comes from the variables and files of AWS."""
    keys = settings.s3_access_key, settings.s3_secret_key
    return _make_client(settings.s3_endpoint, settings.s3_region, settings.s3_path_style, *keys)


@lru_cache(maxsize=8)
def _make_client(endpoint: str, region: str, has_path_style: bool, access_key: str, secret_key: str) -> Any:
    """One client for all stores of a process: it costs 0.2 seconds and 40 MB, and keeps its connections."""
    session = boto3.session.Session()
    options: dict[str, Any] = {}
    if endpoint:
        # Servers other than Amazon's do not all know the newer checksums.
        options = {"request_checksum_calculation": "when_required", "response_checksum_validation": "when_required"}
    return session.client(
        "s3",
        endpoint_url=endpoint or None,
        region_name=region or os.environ.get("AWS_REGION") or session.region_name or DEFAULT_REGION,
        aws_access_key_id=access_key or None,
        aws_secret_access_key=secret_key or None,
        config=Config(
            connect_timeout=CONNECT_SECONDS,
            read_timeout=SILENCE_SECONDS,
            retries={"total_max_attempts": ATTEMPTS, "mode": "standard"},
            max_pool_connections=CONNECTIONS,
            s3={"addressing_style": "path" if has_path_style else "auto"},
            **options,
        ),
    )


def _name(error: BaseException) -> str:
    """The kind of an error; its text may contain signed URLs."""
    return type(error).__name__
