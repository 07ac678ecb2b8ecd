"""Accepts invitations."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import delete, select

from persistence.accounts.accounts import (
    Account,
    Attempts,
    count_attempt,
    end_unproven,
    find_account,
    hold_user,
    list_memberships,
    set_password,
)
from persistence.accounts.invitations import PREFIX
from persistence.accounts.passwords import check_password
from persistence.accounts.sign_ins import BY_INVITATION, fits, public_of
from persistence.accounts.signing_in import (
    REFUSED,
    Door,
    SignedIn,
    SignInFailed,
    TooManyAttempts,
    count_code,
    enter,
)
from persistence.audit import BY_SESSION, Actor, Witness
from persistence.database import Transaction
from persistence.errors import InvalidInput, NotAllowed, Refused
from persistence.tables.accounts import invitation
from persistence.users import add_member, read_role

INVITATION_REFUSED = "This invitation was used or withdrawn, or is too old."
NOT_PROVEN = (
    "This is the address of a user of another workspace, and nobody has proved yet whose it is. Sign in by a mailed "
    "link, or have an operator set a password, and then accept the invitation."
)
ANOTHER_PASSWORD = "Choose another password: this one was set before anybody had proved this address."


@dataclass(frozen=True, slots=True)
class Invitation:
    """What an invitation says. With `is_proof`, whoever has the link is who it was meant for: it went to the mailbox or
    to an operator, not to the user who invited."""

    id: int
    workspace_id: int
    email: str
    role: str
    is_proof: bool


@dataclass(frozen=True, slots=True)
class Guest:
    """What somebody says who accepts an invitation."""

    password: str
    first_name: str = ""
    last_name: str = ""
    code: str | None = None


def accept_invitation(door: Door, text: str, guest: Guest) -> SignedIn:
    """Makes somebody a user of the workspace and signs in. A person who is new chooses a password; one who has a
    password already gives it, because the link alone must not open an account. If nobody has proved that account, a
    link that proves the address ends what was set, and another password is chosen. Raises NotAllowed, InvalidInput,
    Refused, TooManyAttempts.
    """
    with door.database.reading() as tx:
        given = _find(tx, text, door.secret_keys)
        found = None if given is None else find_account(tx, given.email)
        is_elsewhere = given is not None and _is_elsewhere(tx, given, found)
    if given is None:
        raise NotAllowed(INVITATION_REFUSED)
    attempts = door.database.write(lambda tx: count_attempt(tx, door.settings, door.visitor(given.email)))
    if not attempts.is_granted:
        raise TooManyAttempts(attempts)
    former = None if found is None else found.password_hash
    is_fitting = former is not None and door.passwords.fits(former, guest.password)
    if former is None or (found is not None and found.is_unproven and not (is_fitting and not given.is_proof)):
        if is_elsewhere and not given.is_proof:
            raise Refused(NOT_PROVEN)
        if is_fitting:
            raise InvalidInput.on("password", ANOTHER_PASSWORD)
        check_password(guest.password, given.email)
        if found is not None and not found.is_unproven:
            count_code(door, found, guest.code)
        chosen = door.passwords.hash(guest.password)
        return door.database.write(lambda tx: _join(tx, door, given, guest, former, chosen, attempts))
    if not is_fitting or found is None:
        raise SignInFailed(REFUSED, given.email)
    count_code(door, found, guest.code)
    return door.database.write(lambda tx: _join(tx, door, given, guest, former, None, attempts))


def _is_elsewhere(tx: Transaction, given: Invitation, found: Account | None) -> bool:
    """Whether the address is that of a user of another workspace."""
    return found is not None and any(
        each.workspace_id != given.workspace_id for each in list_memberships(tx, found.user_id)
    )


def _join(
    tx: Transaction,
    door: Door,
    given: Invitation,
    guest: Guest,
    former: str | None,
    chosen: str | None,
    attempts: Attempts,
) -> SignedIn:
    """`chosen` is the hash of a new password, None for somebody who has given the present one."""
    tx.witness = Witness(Actor(BY_SESSION, email=given.email, address=door.browser.address))
    is_used = tx.execute(delete(invitation).where(invitation.c.id == given.id)).rowcount
    if not is_used:
        raise NotAllowed(INVITATION_REFUSED)
    found = find_account(tx, given.email)
    if found is not None:
        hold_user(tx, found.user_id)
        found = find_account(tx, given.email)
    if (None if found is None else found.password_hash) != former:
        raise NotAllowed(INVITATION_REFUSED)
    if chosen is not None and not given.is_proof and _is_elsewhere(tx, given, found):
        raise Refused(NOT_PROVEN)
    if chosen is not None and found is not None:
        end_unproven(tx, found.user_id)
    if found is None or read_role(tx, given.workspace_id, found.user_id) is None:
        names = {"first_name": guest.first_name, "last_name": guest.last_name}
        add_member(tx, given.workspace_id, given.email, given.role, **names, is_holder=True)
    present = find_account(tx, given.email)
    if present is None:
        raise NotAllowed(INVITATION_REFUSED)
    if chosen is not None:
        set_password(tx, present.user_id, chosen, is_proven=given.is_proof)
    return enter(tx, door, present, BY_INVITATION, guest.code, attempts)


def _find(tx: Transaction, text: str, secret_keys: Sequence[str]) -> Invitation | None:
    rows = invitation.c
    columns = (rows.id, rows.workspace_id, rows.email, rows.role, rows.is_proof, rows.hash)
    found = select(*columns).where(rows.public == public_of(PREFIX, text), rows.expires_on > tx.now)
    row = tx.execute(found).first()
    if row is None or not fits(row.hash, text, secret_keys):
        return None
    return Invitation(row.id, row.workspace_id, row.email, row.role, row.is_proof)
