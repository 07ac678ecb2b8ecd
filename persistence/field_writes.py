"""Creates contact fields."""

import re
import unicodedata
from collections.abc import Collection

import regex
from sqlalchemy import Table, or_, select, update

from flows.typed import clean, plain
from persistence.database import Transaction
from persistence.errors import InvalidInput
from persistence.new_records import NewRecord, insert_new
from persistence.sql.names import check_new, name_key
from persistence.tables.contacts import FIELD_KEY, FIELD_KEY_LENGTH, FIELD_NAME_LENGTH, field
from persistence.workspaces import hold_workspace

RESERVED_KEYS = {"has", "is", "fields", "urns", "created_on", "last_seen_on"}
JOINERS = "\u200c\u200d"
"""They belong to the spelling of Persian and Indian words."""
NAME = regex.compile(rf"[\p{{L}}\p{{M}}\p{{N}}{JOINERS} \-]+\Z")


def make_key(name: str) -> str:
    """The key of a field with this name: `Date of Birth` gives `date_of_birth`."""
    return re.sub(r"[^a-z0-9]+", "_", plain(name).lower()).strip("_")


def make_free_key(name: str, taken: Collection[str], noun: str = "field") -> str:
    """A key for a name in any alphabet, which no record has: of its Latin letters, otherwise `field`, `field_2` ..."""
    bare = "".join(each for each in unicodedata.normalize("NFKD", name) if unicodedata.category(each)[0] != "M")
    key = make_key(bare)
    key = key if key[:1].isalpha() else f"{noun}_{key}".strip("_")
    key = f"{key}_{noun}" if key in RESERVED_KEYS else key
    numbered = (f"{key[: FIELD_KEY_LENGTH - 4]}_{number}" for number in range(2, 1000))
    return next(each for each in (key[:FIELD_KEY_LENGTH].strip("_"), *numbered) if each not in taken)


def make_new_key(tx: Transaction, workspace_id: int, table: Table, name: str, noun: str) -> str:
    """The key of a new record with this name; a name from whose letters none can be made gets a free one. Raises
    InvalidInput for other names.
    """
    key = make_key(name)
    if not FIELD_KEY.match(key):
        if not any(each.isalpha() and not each.isascii() for each in name):
            raise InvalidInput.on("name", "The key made from this name has to begin with a letter.")
        keys = tx.execute(select(table.c.key).where(table.c.workspace_id == workspace_id)).scalars()
        return make_free_key(name, set(keys), noun)
    return key


def find_key(tx: Transaction, workspace_id: int, name: str) -> str | None:
    """The key of the field whose key is made from this name, otherwise of that with the name."""
    made = make_key(name)
    meant = or_(field.c.key == made, field.c.name_key == name_key(name))
    keys = tx.execute(select(field.c.key).where(field.c.workspace_id == workspace_id, meant)).scalars().all()
    return made if made in keys else next(iter(keys), None)


def new_field(
    tx: Transaction, workspace_id: int, name: str, kind: str, *, key: str | None = None, access: str | None = None
) -> NewRecord:
    """A field to be inserted whose key is derived from its name, unless a key is given; `access` is what agents may do
    with its values (see `set_agent_access`). Raises InvalidInput for a bad, reserved or taken name, LimitReached at the
    workspace's limit.
    """
    hold_workspace(tx, workspace_id)
    name = check_field_name(name)
    key = make_new_key(tx, workspace_id, field, name, "field") if key is None else key
    if not FIELD_KEY.match(key) or len(key) > FIELD_KEY_LENGTH:
        raise InvalidInput.on("name", "The key made from this name has to begin with a letter.")
    if key in RESERVED_KEYS:
        raise InvalidInput.on("name", "The key made from this name is reserved.")
    naming = check_new(tx, workspace_id, field, name, key=key, noun="field")
    values = {"workspace_id": workspace_id, "key": key, "type": kind, "created_on": tx.now, **naming}
    return NewRecord(field, values if access is None else {**values, "agent_access": access})


def create_field(
    tx: Transaction, workspace_id: int, name: str, kind: str, *, key: str | None = None, access: str | None = None
) -> int:
    """Create a field; returns its id. Raises what `new_field` raises."""
    return insert_new(tx, new_field(tx, workspace_id, name, kind, key=key, access=access))


def set_agent_access(tx: Transaction, workspace_id: int, field_id: int, access: str) -> None:
    """Set what agents may do with a field's values: `none`, `view` or `edit`."""
    mine = (field.c.workspace_id == workspace_id) & (field.c.id == field_id)
    tx.execute(update(field).where(mine).values(agent_access=access))


def check_field_name(name: str) -> str:
    """The trimmed name. Raises InvalidInput for one that no field may have."""
    name = clean(name)
    if not 1 <= len(name) <= FIELD_NAME_LENGTH:
        raise InvalidInput.on("name", f"1 to {FIELD_NAME_LENGTH} characters.")
    if not NAME.match(name):
        raise InvalidInput.on("name", "Only letters, digits, spaces and hyphens are allowed in field names.")
    return name
