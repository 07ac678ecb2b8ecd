"""What mirrors of globals see."""

from collections.abc import Callable
from functools import partial

import pytest

from tests.api import Api
from tests.worker.mirrors.client import Listed, by_name, check_changes, check_mirrors

PATH = "/api/v2/globals.json"
LISTS = [Listed(PATH, key="key")]


def change_value(api: Api, turn: int) -> None:
    assert api.post(PATH, {"value": f"value {turn}"}, key="clinic_phone").status_code == 200


def change_name(api: Api, turn: int) -> None:
    assert api.post(PATH, {"name": f"Phone {turn}", "value": "same"}, key="clinic_phone").status_code == 200


def make_another(api: Api, turn: int) -> None:
    assert api.post(PATH, {"name": f"Other {turn}", "value": "new"}).status_code == 201


def make_again(api: Api, turn: int) -> None:
    assert api.delete(PATH, key="clinic_hours").status_code == 204
    assert api.post(PATH, {"name": "Clinic Hours", "value": f"hours {turn}"}).status_code == 201


OPERATIONS: list[Callable[[Api, int], None]] = [change_value, change_name, make_another, make_again]


@pytest.fixture(autouse=True)
def _globals(api: Api) -> None:
    for name in ("Clinic Phone", "Clinic Hours"):
        assert api.post(PATH, {"name": name, "value": "first"}).status_code == 201


def test_each_change_moves_modified_on(api: Api) -> None:
    check_changes(api, LISTS, by_name(OPERATIONS, api))


def test_a_mirror_misses_nothing(api: Api) -> None:
    check_mirrors(api, LISTS, [partial(operation, api) for operation in OPERATIONS])
