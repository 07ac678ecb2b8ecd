"""The media store that the settings name."""

from importlib.util import find_spec

from persistence.media.folder import FolderStore
from persistence.media.store import MediaStore
from relayboard.base.settings import SettingError, Settings

NAME = "RELAYBOARD_MEDIA_URL"


def open_store(settings: Settings) -> MediaStore:
    """The folder or bucket of RELAYBOARD_MEDIA_URL; nothing is asked of it yet. Raises SettingError."""
    check_store_package(settings)
    if settings.media_url.startswith("file:"):
        return FolderStore(settings.media_url)
    from persistence.media.s3 import S3Store  # noqa: PLC0415  # only where files are in a bucket: it takes 40 MB

    return S3Store(settings)


def check_store_package(settings: Settings) -> None:
    """Raises SettingError if the settings name a bucket and the extra `s3` is not installed; imports nothing."""
    if settings.media_url.startswith("s3:") and find_spec("boto3") is None:
        reason = "the package for S3 is not installed; `pip install relayboard[s3]` does it"
        raise SettingError(f"{NAME} cannot be used: {reason}", NAME)
