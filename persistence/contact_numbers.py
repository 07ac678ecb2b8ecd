"""Contact numbers that were stored before the country was known, normalised once it is."""

from sqlalchemy import bindparam, select, update

from flows.phones import normalize_number
from persistence.contacts import contact_urn
from persistence.database import Transaction


def normalise_numbers(tx: Transaction, workspace_id: int, country: str) -> int:
    """Bring numbers without `+` to E164 form where a country tells how; one that another contact has is left alone.

    Returns how many changed. Two or three statements whatever the number.
    """
    rows = contact_urn.c
    mine = (rows.workspace_id == workspace_id) & (rows.scheme == "tel")
    local = tx.execute(select(rows.id, rows.path).where(mine, ~rows.path.startswith("+"))).all()
    wanted = {row.id: normalize_number(row.path, country) for row in local}
    changed = {urn_id: path for urn_id, path in wanted.items() if path.startswith("+")}
    if not changed:
        return 0
    taken = set(tx.execute(select(rows.path).where(mine, rows.path.in_(set(changed.values())))).scalars())
    moves = []
    for urn_id, path in changed.items():
        if path not in taken:
            taken.add(path)
            moves.append({"urn_id": urn_id, "new_path": path})
    if moves:
        statement = update(contact_urn).where(rows.id == bindparam("urn_id")).values(path=bindparam("new_path"))
        tx.execute(statement, moves)
    return len(moves)
