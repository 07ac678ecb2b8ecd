"""`/api/v2/users.json` and `user_actions.json`."""

from handlers.answers import Answer, ListAnswer, no_content
from handlers.request import Request
from persistence.errors import InvalidInput
from persistence.sql.names import must_exist
from persistence.users import USERS, change_role, find_member_email, remove_member

list_users = ListAnswer(USERS)


def act_on_user(request: Request) -> Answer:
    body, tx, workspace_id = request.body, request.tx, request.workspace.id
    is_removal = body["action"] == "remove"
    if not is_removal and "role" not in body:
        raise InvalidInput.across('The action "change_role" needs a role.')
    email = must_exist(find_member_email(tx, workspace_id, body["user"]), "user", body["user"])
    if is_removal:
        remove_member(tx, workspace_id, email, request.credentials.user_id)
    else:
        change_role(tx, workspace_id, email, body["role"], request.credentials.user_id)
    return no_content()
