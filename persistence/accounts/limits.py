"""How often somebody may try to sign in, over all nodes. What is counted first is an account and an IP address
together, so that nobody is locked out by guesses from elsewhere. An account is also counted alone: beyond its limit it
is not closed but slow. A browser in which its person was signed in before is counted by itself."""

import hashlib
import hmac
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from ipaddress import IPv6Address, ip_address, ip_network

from sqlalchemy import delete, select, update

from persistence.accounts.addresses import email_key
from persistence.database import Transaction
from persistence.limits.rate_limits import take_window
from persistence.tables.sign_ins import ADDRESS_LENGTH, sign_in_window
from relayboard.base.settings import RateLimit, Settings

PASSWORD, MAIL, CODE = "password", "mail", "code"
IPV6_NETWORK = 64
ACCOUNTS_PER_BROWSER = 4


@dataclass(frozen=True, slots=True)
class Attempts:
    """What is left of a limit, and when it is whole again. Without `is_granted` the attempt is refused unseen."""

    limit: int
    remaining: int
    ends_on: datetime
    is_granted: bool


@dataclass(frozen=True, slots=True)
class Visitor:
    """Who tries, for counting: the address of an account, existing or not, and where from. `known` is what the browser
    was given when somebody signed in there."""

    email: str
    address: str
    known: str | None = None


def count_attempt(tx: Transaction, settings: Settings, who: Visitor, kind: str = PASSWORD) -> Attempts:
    """Counts one attempt: to sign in with a password or link, or a request for a link by `MAIL`, or a `CODE` of the
    second factor, for which the account alone has the small limit, because who tries it knows the password."""
    browser = _known_browser(settings, who)
    if browser is not None:
        return _take(tx, f"{_key(who.email)}{kind}:browser:{browser}", settings.sign_in_limit)
    taken: list[str] = []
    first: Attempts | None = None
    for subject, limit, slow in _list_limits(settings, who, kind):
        present = _take(tx, subject, limit)
        if not present.is_granted and slow is not None:
            present = _take(tx, f"{subject}:slow", slow)
        else:
            taken += [subject] if present.is_granted else []
        if not present.is_granted:
            _give_back(tx, taken)
            return present
        first = first or present
    assert first is not None
    return first


def forgive_attempts(tx: Transaction, settings: Settings, who: Visitor, kind: str = PASSWORD) -> None:
    """After a success whoever tried has the whole limit again, and what others share has this one attempt again."""
    key, browser = _key(who.email), _known_browser(settings, who)
    if browser is not None:
        tx.execute(delete(sign_in_window).where(sign_in_window.c.subject == f"{key}{kind}:browser:{browser}"))
        return
    (own, *_), *shared = _list_limits(settings, who, kind)
    tx.execute(delete(sign_in_window).where(sign_in_window.c.subject == own))
    _give_back(tx, [subject for subject, *_ in shared])


def forgive_account(tx: Transaction, email: str) -> None:
    """An operator vouches for the person: all that was counted for the account is forgotten, and what was counted for
    the IP addresses from which somebody tried it."""
    subject, key = sign_in_window.c.subject, _key(email)
    tried = set(tx.execute(select(subject).where(subject.startswith(key))).scalars())
    networks = {each.removeprefix(f"{key}{kind}:from:") for each in tried for kind in (PASSWORD, MAIL)}
    addresses = {f"address:{each}" for each in networks}
    tx.execute(delete(sign_in_window).where(subject.in_(tried | addresses)))


def remember_browser(settings: Settings, who: Visitor) -> str:
    """What a browser keeps once somebody has signed in there: a random name, and one proof for each of the last
    accounts."""
    name, *proofs = (who.known or "").split(".")
    if not _is_name(name, proofs):
        name, proofs = secrets.token_hex(8), []
    proof = _prove(settings.secret_key, name, who.email)
    return ".".join([name, *[each for each in proofs if each != proof][1 - ACCOUNTS_PER_BROWSER :], proof])


def _known_browser(settings: Settings, who: Visitor) -> str | None:
    """The name of a browser in which the person was signed in before."""
    name, *proofs = (who.known or "").split(".")
    if not _is_name(name, proofs):
        return None
    keys = (settings.secret_key, *settings.secret_key_fallbacks)
    wanted = [_prove(each, name, who.email) for each in keys]
    fitting = [hmac.compare_digest(given.encode(), each.encode()) for given in proofs for each in wanted]
    return name if any(fitting) else None


def _is_name(name: str, proofs: list[str]) -> bool:
    return len(name) == 16 and name.isalnum() and name.isascii() and 0 < len(proofs) <= ACCOUNTS_PER_BROWSER


def _prove(secret_key: str, name: str, email: str) -> str:
    text = f"known browser {name} {email_key(email)}"
    return hmac.new(secret_key.encode(), text.encode(), hashlib.sha256).hexdigest()[:32]


def _list_limits(settings: Settings, who: Visitor, kind: str) -> Iterator[tuple[str, RateLimit, RateLimit | None]]:
    """What is counted, its limit, and the limit beyond it of what is not closed but slow."""
    key, network, small = _key(who.email), _network(who.address), settings.sign_in_limit
    if kind != CODE:
        yield f"{key}{kind}:from:{network}", small, None
        yield f"address:{network}", settings.address_sign_in_limit, None
    limit = settings.account_sign_in_limit if kind == PASSWORD else small
    yield f"{key}{kind}", limit, RateLimit(1, limit.period / limit.requests)


def _take(tx: Transaction, subject: str, limit: RateLimit) -> Attempts:
    granted, left, ends_on = take_window(tx, sign_in_window, {"subject": subject}, limit.requests, limit.period, 1)
    return Attempts(limit.requests, left, ends_on, granted > 0)


def _give_back(tx: Transaction, subjects: list[str]) -> None:
    rows = sign_in_window.c
    mine = update(sign_in_window).where(rows.subject.in_(subjects), rows.taken > 0)
    tx.execute(mine.values(taken=rows.taken - 1))


def _key(email: str) -> str:
    """The beginning of what is counted for an account: as long for each address, which may be longer than a key."""
    return f"{hashlib.sha256(email_key(email).encode()).hexdigest()[:32]}:"


def _network(address: str) -> str:
    """An IPv4 address, or the network that one customer has in IPv6: the addresses in it cost nothing."""
    try:
        found = ip_address(address)
    except ValueError:
        return address[:ADDRESS_LENGTH]
    if isinstance(found, IPv6Address):
        return str(found.ipv4_mapped or ip_network((found, IPV6_NETWORK), strict=False))
    return str(found)
