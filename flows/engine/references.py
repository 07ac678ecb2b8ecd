"""Finds the assets that actions refer to, reporting those that do not exist (flow format, references)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from flows.engine.assets import Group, Label, User
from flows.engine.visit import Visit

T = TypeVar("T")


def find_groups(visit: Visit, references: Sequence[Mapping[str, Any]]) -> list[Group]:
    """The groups that exist."""
    assets = visit.sprint.assets
    return _find_all(visit, "group", references, assets.groups, assets.find_group_by_name)


def find_labels(visit: Visit, references: Sequence[Mapping[str, Any]]) -> list[Label]:
    """The labels that exist."""
    assets = visit.sprint.assets
    return _find_all(visit, "label", references, assets.labels, assets.find_label_by_name)


def find_user(visit: Visit, reference: Mapping[str, Any] | None) -> User | None:
    """The user, by UUID or by an e-mail address, which may be a template."""
    if not reference:
        return None
    assets = visit.sprint.assets
    found = assets.users.get(reference.get("uuid") or "-")
    template = reference.get("email_match") or reference.get("email") or ""
    if found is not None:
        return found
    if not template:
        visit.log.missing_dependency("user", reference)
        return None
    email, is_fine = visit.try_text(template)
    user = assets.find_user_by_email(email) if email else None
    if user is None and is_fine:
        visit.log.error(f"No such user with email '{email}'", "user:missing", {"email": email})
    return user


def find_asset(visit: Visit, kind: str, assets: Mapping[str, T], reference: Mapping[str, Any]) -> T | None:
    """The asset of a UUID."""
    found = assets.get(reference.get("uuid", ""))
    if found is None:
        visit.log.missing_dependency(kind, reference)
    return found


def _find_all(
    visit: Visit,
    kind: str,
    references: Sequence[Mapping[str, Any]],
    by_uuid: Mapping[str, T],
    by_name: Callable[[str], T | None],
) -> list[T]:
    found = (_find_one(visit, kind, reference, by_uuid, by_name) for reference in references)
    return [item for item in found if item is not None]


def _find_one(
    visit: Visit,
    kind: str,
    reference: Mapping[str, Any],
    by_uuid: Mapping[str, T],
    by_name: Callable[[str], T | None],
) -> T | None:
    if not reference.get("name_match"):
        return find_asset(visit, kind, by_uuid, reference)
    name, is_fine = visit.try_text(reference["name_match"])
    name = name.strip()
    # An incomplete name could be the name of another asset.
    found = by_name(name) if is_fine else None
    if found is None and is_fine:
        visit.log.error(f"No such {kind} with name '{name}'", f"{kind}:missing", {"name": name})
    return found
