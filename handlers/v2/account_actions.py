"""`/api/v2/account_actions.json`: two-factor authentication of one's own account."""

from typing import Any

from handlers.answers import Answer, as_json
from handlers.people import door_of, person_in
from handlers.request import PersonRequest
from persistence.accounts import signing_in
from persistence.errors import InvalidInput


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


def _given(request: PersonRequest, field: str) -> str:
    text: str | None = request.body.get(field)
    if text is None and (field != "password" or request.body["action"] != "set_up_two_factor"):
        raise InvalidInput.on(field, "A value is required.", "required")
    return text or ""
