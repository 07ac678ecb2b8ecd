"""The account of a person: names, password, two-factor authentication, the workspaces; how long what belongs to it is
kept, and how often somebody may try to sign in.

How often somebody may try to sign in, over all nodes. What is counted first is an account and an IP address together,
so that nobody is locked out by guesses from elsewhere. An account is also counted alone: beyond its limit it is not
closed but slow. A browser in which its person was signed in before is counted by itself.

Accounts that nobody has proved to be theirs: an invitation, whose link the inviter saw too, set the password. Such an
account gives no rights beyond the workspace that invited: what was set by it ends when somebody else adds the address,
or when its mailbox is proved.
"""

import hashlib
import hmac
import secrets
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any

from sqlalchemy import ColumnElement, Table, delete, func, select

from persistence.database import Transaction
from persistence.errors import InvalidInput, LostRace
from persistence.statements import update
from persistence.tables.accounts import (
    ADDRESS_LENGTH,
    EMAIL_LENGTH,
    PERSON_NAME_LENGTH,
    account,
    account_mail,
    invitation,
    membership,
    sign_in,
    sign_in_link,
    sign_in_window,
    token,
    user,
    workspace,
)
from persistence.tables.service import audit_event
from persistence.tokens import take_window
from relayboard.base.settings import RateLimit, Settings

_COLUMNS = (
    user.c.id,
    user.c.uuid,
    user.c.email,
    user.c.first_name,
    user.c.last_name,
    account.c.password_hash,
    account.c.totp_confirmed_on,
    account.c.recovery_hashes,
    account.c.unproven_since,
)

LINK_AGE = timedelta(minutes=15)
INVITATION_AGE = timedelta(days=7)

PASSWORD, MAIL, CODE = "password", "mail", "code"
IPV6_NETWORK = 64
ACCOUNTS_PER_BROWSER = 4


@dataclass(frozen=True, slots=True)
class Account:
    """How an active user signs in."""

    user_id: int
    uuid: str
    email: str
    first_name: str
    last_name: str
    password_hash: str | None
    has_two_factor: bool
    recovery_codes_left: int
    is_unproven: bool


NO_MAIL = "none"


@dataclass(frozen=True, slots=True)
class Member:
    """A workspace of a user, and the role in it."""

    workspace_id: int
    uuid: str
    name: str
    role: str
    is_away: bool
    mail_of: str | None


def find_account(tx: Transaction, email: str) -> Account | None:
    """The account with this e-mail address, in any case and form of Unicode."""
    statement = select(*_COLUMNS).outerjoin(account, account.c.user_id == user.c.id)
    row = tx.execute(statement.where(user.c.email_key == email_key(email), user.c.is_active)).first()
    return None if row is None else _from_row(row)


def read_account(tx: Transaction, user_id: int) -> Account:
    statement = select(*_COLUMNS).outerjoin(account, account.c.user_id == user.c.id)
    return _from_row(tx.execute(statement.where(user.c.id == user_id)).one())


def list_memberships(tx: Transaction, user_id: int) -> list[Member]:
    """The workspaces of a user, in the order in which they were joined."""
    chosen = (membership.c.is_away, membership.c.mail_of)
    statement = (
        select(workspace.c.id, workspace.c.uuid, workspace.c.name, membership.c.role, *chosen)
        .join(membership, membership.c.workspace_id == workspace.c.id)
        .where(membership.c.user_id == user_id)
        .order_by(membership.c.created_on, workspace.c.id)
    )
    return [Member(*row) for row in tx.execute(statement)]


def set_password(tx: Transaction, user_id: int, password_hash: str, *, is_proven: bool = True) -> None:
    """Gives a user another password. `is_proven`: who chose it has the mailbox, or an operator did."""
    unproven_since = None if is_proven else tx.now
    values = {"password_changed_on": tx.now, "unproven_since": unproven_since}
    store_account(tx, user_id, password_hash=password_hash, **values)


def change_password(tx: Transaction, user_id: int, former: str | None, present: str) -> None:
    """The same for a user who is signed in, if nobody changed the password since the former hash was read; otherwise
    raises LostRace."""
    found = read_account(tx, user_id)
    if found.password_hash != former:
        raise LostRace
    set_password(tx, user_id, present, is_proven=not found.is_unproven)


def renew_password_hash(tx: Transaction, user_id: int, former: str, present: str) -> None:
    """Replaces the hash of the same password, unless the password was changed meanwhile."""
    mine = (account.c.user_id == user_id) & (account.c.password_hash == former)
    tx.execute(update(account).where(mine).values(password_hash=present))


def choose_workspace(tx: Transaction, user_id: int, uuid: str) -> None:
    """Makes one of the user's workspaces the one that requests mean. Raises InvalidInput for any other."""
    chosen = next((each for each in list_memberships(tx, user_id) if each.uuid == uuid.lower()), None)
    if chosen is None:
        raise InvalidInput.on("workspace", "This is not one of your workspaces.")
    store_account(tx, user_id, chosen_id=chosen.workspace_id)


def set_away(tx: Transaction, workspace_uuid: str, user_id: int, *, is_away: bool) -> None:
    """Whether tickets of a workspace are not assigned to the user in turn."""
    here = select(workspace.c.id).where(workspace.c.uuid == workspace_uuid.lower()).scalar_subquery()
    mine = (membership.c.workspace_id == here) & (membership.c.user_id == user_id)
    tx.execute(update(membership).where(mine).values(is_away=is_away))


def choose_mail(tx: Transaction, workspace_uuid: str, user_id: int, of: str, language: str, root: str) -> None:
    """Of whose conversations in a workspace the user is mailed, in which language, with links to the page at `root`."""
    here = select(workspace.c.id).where(workspace.c.uuid == workspace_uuid.lower()).scalar_subquery()
    mine = (membership.c.workspace_id == here) & (membership.c.user_id == user_id)
    wanted = None if of == NO_MAIL else of
    tx.execute(update(membership).where(mine).values(mail_of=wanted, mail_language=language, mail_root=root))


def change_names(tx: Transaction, user_id: int, names: dict[str, str]) -> None:
    """Changes `first_name` and `last_name`, those of them that are given. Raises InvalidInput."""
    for field, name in names.items():
        if len(name) > PERSON_NAME_LENGTH or "\x00" in name:
            raise InvalidInput.on(field, f"At most {PERSON_NAME_LENGTH} characters.")
    if names:
        tx.execute(update(user).where(user.c.id == user_id).values(**names))


def store_account(tx: Transaction, user_id: int, **values: str | int | datetime | list[str] | None) -> None:
    """Sets columns of a user's account, which is created if it is missing."""
    statement = tx.upsert(account).values(user_id=user_id, **values)
    tx.execute(statement.on_conflict_do_update(index_elements=["user_id"], set_=values))


@dataclass(frozen=True, slots=True)
class Ages:
    """`sign_in` is counted from the beginning of a sign-in, `idle` from its last request; `audit` None means for
    ever."""

    sign_in: timedelta
    idle: timedelta
    window: timedelta
    audit: timedelta | None

    @classmethod
    def of(cls, settings: Settings) -> "Ages":
        """The ages in the settings of this process."""
        limits = (settings.sign_in_limit, settings.account_sign_in_limit, settings.address_sign_in_limit)
        window = max(each.period for each in limits)
        audit = timedelta(days=settings.audit_days) if settings.audit_days else None
        return cls(timedelta(days=settings.sign_in_days), timedelta(days=settings.sign_in_idle_days), window, audit)


def trim_accounts(tx: Transaction, ages: Ages, limit: int) -> int:
    """Deletes at most `limit` rows of each kind that are too old; returns the largest number."""
    now = tx.now
    sign_ins = [
        _trim(tx, sign_in, sign_in.c.id, sign_in.c.created_on, now - ages.sign_in, limit),
        _trim(tx, sign_in, sign_in.c.id, sign_in.c.seen_on, now - ages.idle, limit),
        _trim(tx, sign_in_link, sign_in_link.c.id, sign_in_link.c.created_on, now - LINK_AGE, limit),
        _trim(tx, invitation, invitation.c.id, invitation.c.created_on, now - INVITATION_AGE, limit),
        _trim(tx, account_mail, account_mail.c.id, account_mail.c.created_on, now - INVITATION_AGE, limit),
        _trim(tx, sign_in_window, sign_in_window.c.subject, sign_in_window.c.began_on, now - ages.window, limit),
    ]
    if ages.audit is not None:
        sign_ins.append(_trim(tx, audit_event, audit_event.c.id, audit_event.c.created_on, now - ages.audit, limit))
    return max(sign_ins)


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


@dataclass(frozen=True, slots=True)
class Ended:
    """What an unproven account had, and has no more, beside its password."""

    two_factor: bool
    sessions: int
    tokens: int


def hold_user(tx: Transaction, user_id: int) -> None:
    """Lets the units of work that add one user to workspaces, or set the user's password, run one after the other."""
    tx.execute(select(user.c.id).where(user.c.id == user_id).with_for_update())


def is_unproven(tx: Transaction, user_id: int) -> bool:
    mine = (account.c.user_id == user_id) & account.c.unproven_since.is_not(None)
    return tx.execute(select(account.c.id).where(mine)).first() is not None


def end_unproven(tx: Transaction, user_id: int) -> Ended | None:
    """Takes from an unproven account what was set by whoever opened the invitation: password, second factor, sessions
    and tokens. None for any other account, which nothing happens to."""
    hold_user(tx, user_id)
    if not is_unproven(tx, user_id):
        return None
    mine = account.c.user_id == user_id
    confirmed_on = tx.execute(select(account.c.totp_confirmed_on).where(mine)).scalar_one()
    names = ("password_hash", "password_changed_on", "unproven_since", "totp_secret", "totp_confirmed_on", "totp_step")
    tx.execute(update(account).where(mine).values(**dict.fromkeys((*names, "recovery_hashes"))))
    tx.execute(delete(sign_in_link).where(sign_in_link.c.user_id == user_id))
    sessions = tx.execute(delete(sign_in).where(sign_in.c.user_id == user_id)).rowcount
    living = (token.c.user_id == user_id) & token.c.revoked_on.is_(None)
    tokens = tx.execute(select(func.count()).select_from(token).where(living)).scalar_one()
    tx.execute(update(token).where(living).values(revoked_on=tx.now))
    return Ended(confirmed_on is not None, sessions, tokens)


def _from_row(row: Sequence[Any]) -> Account:
    user_id, uuid, email, first_name, last_name, password_hash, confirmed_on, hashes, unproven_since = row
    has_two_factor, codes_left = confirmed_on is not None, len(hashes or ())
    is_unproven = unproven_since is not None
    names = (email, first_name, last_name)
    return Account(user_id, uuid, *names, password_hash, has_two_factor, codes_left, is_unproven)


def _trim(
    tx: Transaction, table: Table, key: ColumnElement[Any], age: ColumnElement[datetime], before: datetime, limit: int
) -> int:
    old = select(key).where(age <= before).order_by(age, key).limit(limit)
    return tx.execute(delete(table).where(key.in_(old.scalar_subquery()))).rowcount


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


def _plain(email: str) -> str:
    return unicodedata.normalize("NFKC", email).strip()
