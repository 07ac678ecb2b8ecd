"""Who may do what: the role and the token's limits against what the contract says beside each operation.

`x-roles` are the roles. `x-area` is the area that a limited token needs, `x-shows` names areas whose records the
operation always shows or changes too. `x-actions` says of single actions in the body which other areas they need, and
that they are for fewer roles, because another operation refuses the same deed to the others.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from handlers.contract.operations import OperationRules, load_contract
from persistence.errors import NotAllowed
from persistence.tokens import Credentials, check_area, covers

OPEN = "open"
"""For every token: what tells clients who and where they are, and the accounts of people."""
EACH = "each"
"""For every token, with the records whose areas the token covers; those of other areas do not exist for it."""
ROLE_REFUSED = "Your role does not allow this operation."


def check_permission(credentials: Credentials, rules: OperationRules) -> None:
    """Raises NotAllowed when the role or the token's scope or areas do not cover the operation."""
    if credentials.role not in rules.roles:
        raise NotAllowed(ROLE_REFUSED, "role_not_allowed")
    if rules.is_writing and credentials.scope != "write":
        raise NotAllowed("This API token may only read.", "token_only_reads")
    for area in _areas_of(rules):
        check_area(credentials.areas, area)


def check_action(credentials: Credentials, rules: OperationRules, body: Any) -> None:
    """The same for the action that a body asks for."""
    rule = rules.actions.get(str(body.get("action"))) if rules.actions and isinstance(body, Mapping) else None
    if rule is None:
        return
    if credentials.role not in rule.get("roles", rules.roles):
        raise NotAllowed(ROLE_REFUSED, "role_not_allowed")
    for area in rule.get("areas", ()):
        check_area(credentials.areas, area)


def may_use(credentials: Credentials, operation_id: str) -> bool:
    """Whether an operation of generation 2 that reads would be answered: what it shows may be shown elsewhere."""
    rules = _by_operation_id()[operation_id]
    return credentials.role in rules.roles and all(covers(credentials.areas, area) for area in _areas_of(rules))


def _areas_of(rules: OperationRules) -> list[str]:
    return [area for area in (rules.area, *rules.shows) if area not in (OPEN, EACH)]


@cache
def _by_operation_id() -> dict[str, OperationRules]:
    return {name.rpartition(".")[2]: rules for name, rules in load_contract("v2").items()}
