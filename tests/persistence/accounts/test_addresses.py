"""E-mail addresses of people in their one form."""

import pytest

from persistence.accounts.addresses import check_email, email_key
from persistence.errors import InvalidInput


@pytest.mark.parametrize(
    ("typed", "stored"),
    [
        (" Ann@Example.org ", "Ann@Example.org"),
        ("jose\u0301@example.org", "jos\u00e9@example.org"),
        ("\u212ate@example.org", "Kte@example.org"),
        ("\uff41nn\uff20example\uff0eorg", "ann@example.org"),
    ],
)
def test_forms_of_unicode_are_one_address(typed: str, stored: str) -> None:
    assert check_email(typed) == stored
    assert email_key(typed) == email_key(stored) == stored.lower()


@pytest.mark.parametrize(
    "typed", ["", "ann", "ann@example", "a b@example.org", "ann\uff0cben@example.org", "a\u200bn@e.org"]
)
def test_what_is_no_address_is_refused(typed: str) -> None:
    with pytest.raises(InvalidInput):
        check_email(typed)
