"""URNs in requests: normalized with the workspace's country, and rejected where they would tell whose they are."""

from collections.abc import Mapping, Sequence

from sqlalchemy import select

from flows.phones import read_old_form
from flows.typed import fold_case, plain
from flows.urns import SCHEMES, URN_LENGTH_MAX, Urn, UrnError, parse, read_urn
from persistence.contacts.owners import is_one_of
from persistence.database import Transaction
from persistence.errors import InvalidInput, Refused
from persistence.tables.contacts import contact_urn
from persistence.workspaces import Workspace

BAD_PHONE = "Not a possible phone number: give it with its country code, like +250788123123."
NO_URN = "Expected a URN: a scheme, a colon and an address, like tel:+250788123123."
DIGITS = "digits"
FORMS = {
    "mailto": "an e-mail address, like mailto:ann@example.org",
    "bsuid": "a country and an id, like bsuid:RW.A1b2",
    "freshchat": "two UUIDs with a slash between them",
    "twitter": "a handle of up to 15 letters, digits and underscores",
    "viber": "up to 24 letters, digits and the signs _ = + /",
    "line": "letters, digits, hyphens and underscores",
    "webchat": "24 letters and digits",
    "whatsapp": "the digits of a number with its country code, without +",
}
"""What comes after the scheme, for those whose addresses are not just digits."""
TOO_LONG = f"At most {URN_LENGTH_MAX} characters, with `%`, `#` and `?` counted as three."
HIDDEN = "Contacts cannot be named by URN in an anonymous workspace."


def read_urns(tx: Transaction, workspace: Workspace, texts: Sequence[str], field: str = "urns") -> list[Urn]:
    """Normalized URNs without repeats. Raises InvalidInput for the first bad one."""
    found = find_urns(tx, workspace, texts)
    for index, text in enumerate(texts):
        if text not in found:
            raise InvalidInput.at(field, index, explain_urn(text))
    return list({found[text].identity: found[text] for text in texts}.values())


def read_recipients(tx: Transaction, workspace: Workspace, texts: Sequence[str], field: str = "urns") -> list[Urn]:
    """Like `read_urns`, for the URNs of recipients. Raises InvalidInput in an anonymous workspace: lists would show the
    message or run with its contact, and so tell whose URN it is.
    """
    if texts and workspace.is_anonymous:
        raise InvalidInput.on(field, HIDDEN)
    return read_urns(tx, workspace, texts, field)


def read_recipient(tx: Transaction, workspace: Workspace, text: str, field: str = "urn") -> Urn:
    """Like `read_recipients` for one."""
    if workspace.is_anonymous:
        raise InvalidInput.on(field, HIDDEN)
    found = find_urns(tx, workspace, [text])
    if text not in found:
        raise InvalidInput.on(field, explain_urn(text))
    return found[text]


def read_lookup(tx: Transaction, workspace: Workspace, text: str) -> Urn:
    """The URN by which a query looks up a contact. Raises Refused in an anonymous workspace, and for a bad URN."""
    if workspace.is_anonymous:
        raise Refused("Contacts cannot be looked up by URN in an anonymous workspace.")
    found = find_urns(tx, workspace, [text])
    if text not in found:
        raise Refused(f"Parameter urn: {explain_urn(text)}")
    return found[text]


def find_urns(tx: Transaction, workspace: Workspace, texts: Sequence[str]) -> Mapping[str, Urn]:
    """Those strings that are URNs, normalized. Contacts get short codes and names of senders only from channels; once a
    contact has one, it is accepted unchanged.
    """
    bare = {text: urn for text in texts if (urn := _read_bare(text)) is not None}
    present = _find_present(tx, workspace.id, list(bare.values())) if bare else set()
    found = {text: urn for text, urn in bare.items() if (urn.scheme, urn.path) in present}
    for text in texts:
        if text not in found:
            try:
                found[text] = read_urn(text, workspace.country, path_length=URN_LENGTH_MAX)
            except UrnError:
                continue
    return found


def explain_urn(text: str) -> str:
    """Why a string is no URN that a contact can have."""
    scheme, colon, path = text.partition(":")
    scheme = scheme.strip().lower()
    if not colon or not scheme:
        return NO_URN
    if scheme not in SCHEMES:
        return f'There is no scheme "{scheme[:32]}"; the schemes are {", ".join(SCHEMES)}.'
    if _is_too_long(text):
        return TOO_LONG
    return explain_phone(path) if scheme == "tel" else f"After {scheme}: {FORMS.get(scheme, DIGITS)} must follow."


def explain_phone(text: str) -> str:
    """Why a string is no phone number that a contact can have."""
    known = read_old_form(text)
    if known is None:
        return BAD_PHONE
    return f"Not a possible phone number: it is an old form ({known[1]}) of {known[0]}, which is to be given."


def _is_too_long(text: str) -> bool:
    """Whether a string is too long for a URN, which is stored with escapes."""
    try:
        return len(str(parse(text))) > URN_LENGTH_MAX
    except UrnError:
        return False


def _read_bare(text: str) -> Urn | None:
    """A `tel` URN that is not international, unchanged."""
    try:
        urn = parse(text)
    except UrnError:
        return None
    path = fold_case(plain(urn.path).strip())
    return Urn("tel", path) if urn.scheme.lower() == "tel" and not path.startswith("+") else None


def _find_present(tx: Transaction, workspace_id: int, urns: Sequence[Urn]) -> set[tuple[str, str]]:
    rows = contact_urn.c
    owned = (rows.workspace_id == workspace_id) & rows.contact_id.is_not(None)
    statement = select(rows.scheme, rows.path).where(owned, is_one_of(urns))
    return {(scheme, path) for scheme, path in tx.execute(statement)}
