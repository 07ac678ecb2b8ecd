"""`/api/v2/invitations.json` and `invitation_sessions.json`."""

import orjson

from handlers.answers import Answer, ListAnswer, as_json, no_content
from handlers.people import answer_session, door_of
from handlers.request import PersonRequest, Request
from persistence.accounts.accepting import Guest, accept_invitation
from persistence.accounts.invitations import INVITATIONS, invite, withdraw_invitation
from persistence.lists import read_record

list_invitations = ListAnswer(INVITATIONS)


def create_invitation(request: Request) -> Answer:
    body, who, workspace = request.body, request.credentials, request.workspace
    made = invite(
        request.tx, workspace, body["email"], body["role"], request.stored_root, request.settings, who.user_id
    )
    record = orjson.loads(read_record(request.tx, INVITATIONS, workspace, made.id))
    return as_json(201, record | {"link": None if made.is_mailed else made.link})


def delete_invitation(request: Request, *, uuid: str) -> Answer:
    withdraw_invitation(request.tx, request.workspace.id, uuid)
    return no_content()


def create_invitation_session(request: PersonRequest) -> Answer:
    body = request.body
    guest = Guest(body["password"], body.get("first_name", ""), body.get("last_name", ""), body.get("code"))
    return answer_session(request, lambda: accept_invitation(door_of(request), body["invitation"], guest))
