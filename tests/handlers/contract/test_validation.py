"""Bodies are always checked against the contract."""

import pytest

from tests.api import Api

SPELLINGS = (
    "application/json",
    "APPLICATION/JSON",
    "Application/Json; Charset=UTF-8",
    "application/json ; charset=utf-8",
    "application/json;",
)


@pytest.mark.parametrize("media_type", SPELLINGS)
@pytest.mark.parametrize("path", ["/api/v1/labels.json", "/api/v2/labels.json"])
def test_a_body_is_checked_however_its_media_type_is_spelled(api: Api, path: str, media_type: str) -> None:
    headers = {"Content-Type": media_type}

    missing = api.post(path, {"zzz": 1}, headers=headers)
    padded = api.post(path, {"name": "  Complaint "}, headers=headers)

    assert (missing.status_code, missing.json()) == (400, {"name": ["A value is required."]})
    assert (padded.status_code, padded.json()["name"]) == (201, "Complaint")


def test_of_two_media_types_the_first_counts(api: Api) -> None:
    headers = [("Authorization", f"Token {api.token}"), ("Content-Type", "application/json")]

    response = api.client.post(
        "/api/v1/labels.json", content=b'{"zzz": 1}', headers=[*headers, ("Content-Type", "text/plain")]
    )

    assert (response.status_code, response.json()) == (400, {"name": ["A value is required."]})
