"""`/api/v2/data_requests.json`."""

from handlers.answers import Answer, ListAnswer, created_record, with_link
from handlers.request import Request
from persistence.data_requests.person import find_contact_of_person
from persistence.data_requests.requests import DATA_REQUESTS, create_request

list_data_requests = ListAnswer(DATA_REQUESTS, show=with_link("download_url"))


def create_data_request(request: Request) -> Answer:
    who, body = request.credentials, request.body
    contact_id = find_contact_of_person(request.tx, request.workspace, body["contact"])
    made = create_request(request.tx, request.workspace, body["type"], contact_id, who.user_id, who.email)
    return created_record(request, DATA_REQUESTS, made)
