"""What the doctor says of push messages and phones."""

import pytest

from relayboard.doctor.neighbors import check_push


@pytest.mark.parametrize(
    ("phones", "silent", "status", "sentence"),
    [
        (None, 0, "ok", "phones ask for their messages by themselves"),
        (0, 0, "ok", "there is no phone yet"),
        (4, 0, "ok", "none of 4 has been silent for 30 minutes"),
        (4, 1, "warning", "1 of 4 has not asked for 30 minutes: open the app"),
        (4, 3, "warning", "3 of 4 have not asked for 30 minutes: open the app"),
    ],
)
def test_of_push_it_is_told_that_none_is_sent_and_which_phones_do_not_ask(
    phones: int | None, silent: int, status: str, sentence: str
) -> None:
    (found,) = check_push(phones, silent)

    assert (found.check, found.status) == ("push", status) and sentence in found.sentence
