"""`/api/v2/invitations.json`."""

import orjson

from handlers.answers import Answer, ListAnswer, as_json, no_content
from handlers.request import Request
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
