"""`/api/v2/teams.json`."""

from handlers.answers import Answer, ListAnswer, changed_record, created_record, no_content
from handlers.request import Request
from persistence import teams
from persistence.teams import TEAMS, TeamForm

list_teams = ListAnswer(TEAMS)


def write_team(request: Request, *, uuid: str | None = None) -> Answer:
    given = dict(request.body)
    name, form = given.pop("name"), TeamForm(**given)
    if uuid is None:
        return created_record(request, TEAMS, teams.create_team(request.tx, request.workspace.id, name, form))
    return changed_record(request, TEAMS, teams.change_team(request.tx, request.workspace.id, uuid, name, form))


def delete_team(request: Request, *, uuid: str) -> Answer:
    teams.delete_team(request.tx, request.workspace.id, uuid)
    return no_content()
