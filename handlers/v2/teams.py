"""`/api/v2/teams.json`."""

from handlers.answers import Answer, ListAnswer, changed_record, created_record, no_content
from handlers.request import Request
from persistence import teams
from persistence.teams import TEAMS

list_teams = ListAnswer(TEAMS)


def write_team(request: Request, *, uuid: str | None = None) -> Answer:
    tx, workspace_id, body = request.tx, request.workspace.id, request.body
    name, topics, members = body["name"], body.get("topics"), body.get("members")
    if uuid is None:
        return created_record(request, TEAMS, teams.create_team(tx, workspace_id, name, topics, members))
    return changed_record(request, TEAMS, teams.change_team(tx, workspace_id, uuid, name, topics, members))


def delete_team(request: Request, *, uuid: str) -> Answer:
    teams.delete_team(request.tx, request.workspace.id, uuid)
    return no_content()
