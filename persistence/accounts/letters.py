"""What the letters about accounts say."""

from dataclasses import dataclass

from persistence.accounts.links import make_link
from persistence.accounts.mail import SIGN_IN, Letter
from persistence.database import Transaction


@dataclass(frozen=True, slots=True)
class Writing:
    """An e-mail."""

    recipient: str
    subject: str
    text: str


def write_letter(tx: Transaction, letter: Letter, secret_key: str) -> Writing | None:
    """The text of a letter; a link to sign in is made only now, so that it is stored nowhere. None if nobody with this
    address has an account."""
    if letter.kind != SIGN_IN:
        return _invite(letter.recipient, letter.content["workspace"], letter.content["link"])
    link = make_link(tx, letter.recipient, letter.content["root"], secret_key)
    if link is None:
        return None
    return Writing(
        link.email,
        "Sign in to Relayboard",
        f"Hello {link.name}".rstrip() + ",\n\n"
        "somebody asked for a link to sign in with your e-mail address. Open it within 15 minutes; it works once:\n\n"
        f"{link.url}\n\n"
        "If it was not you, you need not do anything.\n",
    )


def _invite(recipient: str, workspace: str, link: str) -> Writing:
    name = " ".join(workspace.split())
    return Writing(
        recipient,
        f"Invitation to {name}",
        f"You are invited to work in {name}. Open this link within seven days to choose a password:\n\n{link}\n\n"
        "If you do not know why you got this, you need not do anything.\n",
    )
