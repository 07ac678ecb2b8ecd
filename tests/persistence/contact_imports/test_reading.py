"""The encodings of CSV files."""

import codecs
import io

import pytest

from persistence.contact_imports.reading import opened_rows

TEXT = "name\nZoë\n"


@pytest.mark.parametrize(
    "file",
    [
        TEXT.encode(),
        codecs.BOM_UTF8 + TEXT.encode(),
        TEXT.encode("utf-16"),
        TEXT.encode("cp1252"),
    ],
    ids=["utf-8", "utf-8 with a mark", "utf-16", "windows-1252"],
)
def test_the_encoding_of_a_file_is_recognized(file: bytes) -> None:
    with opened_rows(io.BytesIO(file)) as rows:
        assert list(rows) == [["name"], ["Zoë"]]
