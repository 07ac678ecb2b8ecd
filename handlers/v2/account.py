"""`/api/v2/account.json` and `account_actions.json`: one's own account, and its two-factor authentication."""

from typing import Any

from handlers.answers import Answer, as_json
from handlers.people import door_of, person_in
from handlers.request import PersonRequest, Request
from persistence.accounts import signing_in
from persistence.accounts.accounts import (
    NO_MAIL,
    change_names,
    change_password,
    choose_mail,
    choose_workspace,
    list_memberships,
    read_account,
    set_away,
)
from persistence.accounts.passwords import check_password
from persistence.accounts.sign_ins import end_other_sign_ins
from persistence.accounts.signing_in import came_by_link, prove_password
from persistence.database import Transaction
from persistence.errors import InvalidInput, NotAllowed
from persistence.tokens import Credentials

ENGLISH = "en"
NAMES = ("first_name", "last_name")


def read_account_record(request: Request) -> Answer:
    return as_json(200, _show(request.tx, request.credentials, request.workspace.uuid))


def change_account(request: PersonRequest) -> Answer:
    who, body = person_in(request), request.body
    former_hash, password_hash = _new_hash(request) if "password" in body else (None, None)

    def change(tx: Transaction) -> dict[str, Any]:
        chosen = who.workspace.uuid
        change_names(tx, who.user_id, {name: body[name] for name in NAMES if name in body})
        if "workspace" in body:
            chosen = body["workspace"].lower()
            choose_workspace(tx, who.user_id, chosen)
        if "away" in body:
            set_away(tx, chosen, who.user_id, is_away=body["away"])
        if "mail_of" in body:
            language = body.get("mail_language", ENGLISH)
            choose_mail(tx, chosen, who.user_id, body["mail_of"], language, request.stored_root)
        if password_hash is not None:
            change_password(tx, who.user_id, former_hash, password_hash)
            end_other_sign_ins(tx, who.user_id, who.sign_in_id)
        return _show(tx, who, chosen)

    return as_json(200, door_of(request).write(change))


def run_account_action(request: PersonRequest) -> Answer:
    who, door, action = person_in(request), door_of(request), request.body["action"]
    shown: dict[str, Any] = {"secret": None, "uri": None, "recovery_codes": []}
    if action == "set_up_two_factor":
        made = signing_in.set_up(door, who.user_id, _given(request, "password"))
        shown |= {"secret": made.secret, "uri": made.uri}
    elif action == "confirm_two_factor":
        shown["recovery_codes"] = signing_in.confirm(door, who.user_id, _given(request, "code"))
    elif action == "renew_recovery_codes":
        shown["recovery_codes"] = signing_in.renew_codes(door, who.user_id, _given(request, "code"))
    else:
        signing_in.switch_off(door, who.user_id, _given(request, "password"), _given(request, "code"))
    return as_json(200, shown)


def _new_hash(request: PersonRequest) -> tuple[str | None, str]:
    """The hashes of the present and the new password. Raises InvalidInput, also if the old password is not right."""
    who, body = person_in(request), request.body
    check_password(body["password"], who.email)
    with request.service.database.reading() as tx:
        present = read_account(tx, who.user_id)
        is_proven = "old_password" not in body and came_by_link(tx, who.sign_in_id)
    if not is_proven:
        present = prove_password(door_of(request), who.user_id, body.get("old_password", ""), "old_password")
    return present.password_hash, request.service.passwords.hash(body["password"])


def _show(tx: Transaction, who: Credentials, chosen_uuid: str) -> dict[str, Any]:
    present = read_account(tx, who.user_id)
    workspaces = [
        {
            "uuid": each.uuid,
            "name": each.name,
            "role": each.role,
            "away": each.is_away,
            "mail_of": each.mail_of or NO_MAIL,
        }
        for each in list_memberships(tx, who.user_id)
    ]
    chosen = next((each for each in workspaces if each["uuid"] == chosen_uuid), None)
    if chosen is None:  # the user was removed from it since the credentials were looked up
        raise NotAllowed("This is not one of your workspaces.")
    return {
        "user": {
            "uuid": present.uuid,
            "email": present.email,
            "name": f"{present.first_name} {present.last_name}".strip(),
            "first_name": present.first_name,
            "last_name": present.last_name,
        },
        "workspace": chosen,
        "workspaces": workspaces,
        "csrf_token": who.csrf_token,
        "has_password": present.password_hash is not None,
        "two_factor": present.has_two_factor,
        "recovery_codes_left": present.recovery_codes_left,
    }


def _given(request: PersonRequest, field: str) -> str:
    text: str | None = request.body.get(field)
    if text is None and (field != "password" or request.body["action"] != "set_up_two_factor"):
        raise InvalidInput.on(field, "A value is required.", "required")
    return text or ""
