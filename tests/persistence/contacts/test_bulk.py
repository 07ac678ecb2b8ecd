"""Rows of many contacts: what a row may contain."""

import pytest

from persistence.contacts.bulk import ContactRow, write_contacts

FULL = [f"ext:{number}" for number in range(100)]


@pytest.mark.together
@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (ContactRow(1, urns=FULL), ""),
        (ContactRow(1, urns=[*FULL, "ext:100"]), "urns: At most 100 URNs."),
        (ContactRow(1, name="n" * 64, urns=["ext:1"]), ""),
        (ContactRow(1, name="n" * 65, urns=["ext:1"]), "name: At most 64 characters."),
        (ContactRow(1, name="Ada"), "A row needs a UUID or a URN."),
        (ContactRow(1, uuid="ada"), "No contact has this UUID."),
        (ContactRow(1, name="A\x00", urns=["ext:1"]), "The character with the code 0 is not allowed."),
        (
            ContactRow(1, fields={"age": None, "town": "\x00"}, urns=["ext:1"]),
            "The character with the code 0 is not allowed.",
        ),
    ],
    ids=["most URNs", "too many URNs", "longest name", "too long name", "unnamed", "no UUID", "bad name", "bad field"],
)
def test_a_row_is_rejected_with_the_reason_and_others_are_written(database, workspace, row, reason) -> None:
    good = ContactRow(2, urns=["ext:good"])
    first, second = database.write(lambda tx: write_contacts(tx, workspace, [row, good]))

    assert (first.number, first.reason) == (1, reason)
    assert (second.number, second.reason) == (2, "")
    assert (first.result == second.result) == (reason == "")
