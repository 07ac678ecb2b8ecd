"""The cells of files."""

import io

import pytest
from python_calamine import CalamineWorkbook

from persistence.exports.sheets import XlsxSheet, defuse, defuse_cell, guard, restore, restore_cell, unguard

LONGEST = 32_767
"""The characters that a cell of a workbook may have."""
TEXTS = ("--", "'--", "''--", "=x", "'=x", "''=x", "-5", "'-5", "+250", "'+250", "--x", "'--x", "a", "'a", "'", "")


def test_a_text_is_cut_to_what_a_cell_may_have() -> None:
    file = io.BytesIO()
    sheet = XlsxSheet(file)
    sheet.write(["a" * LONGEST + "b", "c" * LONGEST, None, 5])
    sheet.close()

    file.seek(0)
    [[cut, whole, empty, number]] = CalamineWorkbook.from_filelike(file).get_sheet_by_index(0).to_python()
    assert (cut, whole, empty, number) == ("a" * LONGEST, "c" * LONGEST, "", 5)


@pytest.mark.parametrize("text", TEXTS)
def test_what_is_escaped_is_restored_whole(text: str) -> None:
    assert restore(defuse(text)) == text
    assert unguard(guard(text)) == text
    assert restore_cell(defuse_cell(text)) == text
    assert unguard(restore_cell(defuse(text))) == text


@pytest.mark.parametrize("text", TEXTS)
def test_no_escaped_text_is_a_formula_or_clears(text: str) -> None:
    assert text in ("-5", "+250") or defuse(text)[:1] not in ("=", "+", "-", "@")
    assert guard(text) != "--"
