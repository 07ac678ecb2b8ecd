"""Messages before they are stored."""

import pytest

from persistence.messages.outgoing import Draft


@pytest.mark.parametrize(
    ("draft", "is_by_person"),
    [
        (Draft(1), True),
        (Draft(1, flow_id=2), False),
        (Draft(1, broadcast_id=2), False),
        (Draft(1, is_bulk=True), False),
        (Draft(1, flow_id=2, is_bulk=True), False),
    ],
)
def test_a_message_is_by_a_person_if_neither_a_flow_nor_a_broadcast_made_it(draft: Draft, is_by_person: bool) -> None:
    assert draft.is_by_person is is_by_person
