"""`/api/v2/tokens.json`: API tokens of people. A secret is in the response that creates it and nowhere else."""

import orjson

from handlers.answers import Answer, ListAnswer, as_json, no_content
from handlers.request import Request
from persistence.errors import RecordMissing
from persistence.lists import ListQuery
from persistence.tokens import TokenLimits, check_token_limit, revoke_token
from persistence.tokens import create_token as store_token
from persistence.users import ADMINISTRATOR, TOKENS, read_expiry, read_token

list_tokens = ListAnswer(TOKENS)


def create_token(request: Request) -> Answer:
    tx, body, workspace, user_id = request.tx, request.body, request.workspace, request.credentials.user_id
    limits = TokenLimits(body["name"], read_expiry(body.get("expires_on")), body.get("areas"))
    check_token_limit(tx, workspace.id, user_id)
    scope = body.get("scope", "write")
    secret = store_token(tx, workspace.id, user_id, request.settings.secret_key, scope, limits)
    record = orjson.loads(read_token(ListQuery(tx, workspace, user_id=user_id), secret))
    return as_json(201, record | {"secret": secret})


def delete_token(request: Request, *, token: str) -> Answer:
    who = request.credentials
    owner = None if who.role == ADMINISTRATOR else who.user_id
    if not revoke_token(request.tx, request.workspace.id, token, owner):
        raise RecordMissing
    return no_content()
