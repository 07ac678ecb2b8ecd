"""The cells of workbooks."""

import io

from python_calamine import CalamineWorkbook

from persistence.exports.sheets import XlsxSheet

LONGEST = 32_767
"""The characters that a cell of a workbook may have."""


def test_a_text_is_cut_to_what_a_cell_may_have() -> None:
    file = io.BytesIO()
    sheet = XlsxSheet(file)
    sheet.write(["a" * LONGEST + "b", "c" * LONGEST, None, 5])
    sheet.close()

    file.seek(0)
    [[cut, whole, empty, number]] = CalamineWorkbook.from_filelike(file).get_sheet_by_index(0).to_python()
    assert (cut, whole, empty, number) == ("a" * LONGEST, "c" * LONGEST, "", 5)
