"""The commands of phones: which ids of messages are read."""

import pytest

from persistence.relayers.commands import DeliveryReport, read_upload

LARGEST, WRAPPED = 2**31 - 1, 2**32


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        (1, 1),
        ("7", 7),
        (LARGEST, LARGEST),
        (LARGEST + 1, None),
        (LARGEST + 2, None),
        (0, None),
        (5 - WRAPPED, 5),
        (-WRAPPED, None),
        (-1, None),
    ],
)
def test_a_report_is_about_an_id_that_a_message_can_have(sent: int | str, read: int | None) -> None:
    upload = read_upload([None, {"cmd": "mt_sent", "msg_id": sent, "p_id": 3}])

    assert upload.reports == [(3, None if read is None else DeliveryReport("mt_sent", read, None))]
    assert upload.command_count == 2
