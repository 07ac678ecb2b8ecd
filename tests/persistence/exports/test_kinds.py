"""The cells of files."""

import io

from python_calamine import CalamineWorkbook

from persistence.exports.kinds import XlsxSheet, defuse, defuse_cell, guard, restore, restore_cell, unguard
from tests.each_case import holds_for_each

LONGEST = 32_767
"""The characters that a cell of a workbook may have."""
SIGNS = ("=", "+", "-", "@", "＝", "＋", "－", "＠", "﹦", "﹢", "﹣", "﹫", "⁼", "⁺", "−")
BLANKS = ("", " ", "\t", "\r", "\n", "\u00a0", "\u3000", "\u200b", "\ufeff", "\u2060", "\u202e", "\x07", " \u200b\n")
FORMULAS = [f"{blank}{sign}cmd()" for sign in SIGNS for blank in BLANKS] + ["\tx", "\rx"]
TEXTS = ("--", "'--", "''--", "=x", "'=x", "''=x", "-5", "'-5", "+250", "'+250", "--x", "'--x", "a", "'a", "'", "")


TEXTS += (*FORMULAS, *(f"'{each}" for each in FORMULAS), " '=x", "a=b", " a", "１", "é=x")


def test_a_text_is_cut_to_what_a_cell_may_have() -> None:
    file = io.BytesIO()
    sheet = XlsxSheet(file)
    sheet.write(["a" * LONGEST + "b", "c" * LONGEST, None, 5])
    sheet.close()

    file.seek(0)
    [[cut, whole, empty, number]] = CalamineWorkbook.from_filelike(file).get_sheet_by_index(0).to_python()
    assert (cut, whole, empty, number) == ("a" * LONGEST, "c" * LONGEST, "", 5)


@holds_for_each(TEXTS)
def test_what_is_escaped_is_restored_whole(text: str) -> None:
    assert restore(defuse(text)) == text
    assert unguard(guard(text)) == text
    assert restore_cell(defuse_cell(text)) == text
    assert unguard(restore_cell(defuse(text))) == text


@holds_for_each(TEXTS)
def test_no_escaped_text_is_a_formula_or_clears(text: str) -> None:
    assert text in ("-5", "+250") or defuse(text)[:1] not in ("=", "+", "-", "@")
    assert guard(text) != "--"


@holds_for_each(FORMULAS)
def test_a_sign_in_any_width_behind_what_cannot_be_seen_is_defused(text: str) -> None:
    assert defuse(text) == defuse_cell(text) == f"'{text}"


def test_what_begins_with_no_sign_stays_as_it_is() -> None:
    assert [defuse(text) for text in ("a=b", " a", "１", "-5", "+250788000111")] == [
        *("a=b", " a", "１", "-5", "+250788000111"),
    ]
