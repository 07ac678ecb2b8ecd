"""`/api/v2/participants.json`."""

from dataclasses import dataclass
from typing import Any

from handlers.answers import Answer, ListAnswer, no_content
from handlers.contract.operations import may_use
from handlers.request import Request
from persistence.contacts.owners import find_contacts
from persistence.contacts.participants import CONVERSATIONS, FLOWS, PARTICIPANTS, attend, attend_flow
from persistence.deletions import SHOWN_KINDS
from persistence.errors import InvalidInput, NothingFound
from persistence.flows.records import find_flow
from persistence.lists import ListQuery
from persistence.tokens import Credentials


def participant_kinds(credentials: Credentials) -> list[str]:
    """Of what the caller is told who takes part in it: who may not list flows does not get to know their names."""
    if not may_use(credentials, "list_participants"):
        return []
    return [CONVERSATIONS, FLOWS] if may_use(credentials, "list_flows") else [CONVERSATIONS]


@dataclass(frozen=True, slots=True)
class ParticipantsAnswer(ListAnswer):
    """Lists who takes part in what the caller may list."""

    def _query(self, request: Request, values: dict[str, Any]) -> ListQuery:
        kinds = participant_kinds(request.credentials)
        return ListAnswer._query(self, request, values if FLOWS in kinds else values | {SHOWN_KINDS: kinds})


list_participants = ParticipantsAnswer(PARTICIPANTS)


def attend_conversation(request: Request) -> Answer:
    tx, workspace_id, body = request.tx, request.workspace.id, request.body
    who, state = request.credentials.user_id, body["state"]
    if ("contact" in body) == ("flow" in body):
        raise InvalidInput.across("Name either a contact or a flow.")
    if "flow" not in body:
        (contact_id,) = find_contacts(tx, request.workspace, [body["contact"]], field="contact")
        attend(tx, workspace_id, contact_id, who, state)
        return no_content()
    flow_id = find_flow(tx, workspace_id, body["flow"]) if may_use(request.credentials, "list_flows") else None
    if flow_id is None:
        raise NothingFound("flow", body["flow"])
    attend_flow(tx, workspace_id, flow_id, who, state)
    return no_content()
