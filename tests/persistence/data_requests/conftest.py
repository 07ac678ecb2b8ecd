"""Fixtures: a workspace in which one person is named everywhere."""

from typing import Any

import pytest

from persistence.media.store import FolderStore
from tests.api import Api
from tests.factories import make_contact
from tests.persistence.data_requests.clinic import NAME, NUMBER, Clinic, fill


@pytest.fixture
def clinic(api: Api, settings: Any) -> Clinic:
    database, workspace = api.database, api.workspace
    store = FolderStore(settings.media_url)
    amina = make_contact(database, workspace, NUMBER, NAME)
    bosco = make_contact(database, workspace, "+250788271828", "Bosco")
    made = Clinic(api, database, workspace, store, amina, bosco)
    fill(made)
    return made
