"""If several clients use the same name at the same time, one of them gets it."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

RIVALS = 6
KINDS = [
    ("/api/v2/groups.json", {"name": "Reporters"}, {201: 1, 400: RIVALS - 1}),
    ("/api/v2/labels.json", {"name": "Complaint"}, {201: 1, 400: RIVALS - 1}),
    ("/api/v2/fields.json", {"name": "Age", "type": "number"}, {201: 1, 400: RIVALS - 1}),
    ("/api/v2/globals.json", {"name": "Org Name", "value": "Acme"}, {201: 1, 400: RIVALS - 1}),
]


@pytest.mark.parametrize(("path", "body", "expected"), KINDS, ids=[kind[0] for kind in KINDS])
def test_a_name_that_many_want_at_once_is_given_once(api, path, body, expected):
    start = threading.Barrier(RIVALS)

    def create(_number):
        start.wait()
        return api.post(path, body).status_code

    with ThreadPoolExecutor(RIVALS) as rivals:
        statuses = list(rivals.map(create, range(RIVALS)))

    assert {status: statuses.count(status) for status in set(statuses)} == expected
    named = [record for record in api.results(path) if record.get("name") == body["name"]]
    assert len(named) == 1
