"""What a broadcast would do."""

import yaml

from openapi.bundle import contract_folder
from persistence.broadcasts.forms import MOST_COUNTED


def test_recipients_are_counted_as_far_as_clients_are_told() -> None:
    path = contract_folder() / "v2" / "paths" / "broadcast_previews.yaml"
    described = yaml.safe_load(path.read_text(encoding="utf-8"))["post"]["description"]

    assert f"the number of recipients, up to {MOST_COUNTED:,}, the" in described
