"""E-mail addresses of people: one form for each, however it was typed."""

import unicodedata

from persistence.errors import InvalidInput
from persistence.tables.accounts import EMAIL_LENGTH


def check_email(email: str) -> str:
    """The address in its one form, in which mail is sent to it: a letter of Unicode that stands for another one is that
    one, so that nobody gets the mail or the account of an address that only looks different. Raises InvalidInput if it
    cannot be an e-mail address."""
    email = _plain(email)
    local, _, domain = email.rpartition("@")
    is_plain = email.isprintable() and not any(character in ' @,;<>()[]"\\' for character in local + domain)
    if not local or "." not in domain.strip(".") or not is_plain:
        raise InvalidInput.on(
            "email", f"{email} is not an e-mail address." if email else "An empty value is not allowed."
        )
    if len(email) > EMAIL_LENGTH or len(email_key(email)) > EMAIL_LENGTH:
        raise InvalidInput.on("email", f"At most {EMAIL_LENGTH} characters.")
    return email


def email_key(email: str) -> str:
    """What addresses are compared by: the same for each case and each form of Unicode."""
    return _plain(email).lower()


def _plain(email: str) -> str:
    return unicodedata.normalize("NFKC", email).strip()
