"""The contracts that are fuzzed, with the one of what gateways call."""

from pathlib import Path

import yaml

from persistence.channels.channels import create_gateway
from testbed.gateways import GATEWAY_TYPE, SECRET
from testbed.running import RunningService

PATHS = {"v1": "/api/v1", "v2": "/api/v2", "relay": "/relayers/relayer", "gateway": ""}
"""The contracts, and what stands before their paths."""


def gateway_contract(service: RunningService, folder: Path) -> Path:
    """The contract of what gateways call, for a channel of the workspace."""
    with service.database.writing() as tx:
        config = {"send_url": "http://127.0.0.1:9/send"}
        options = {"schemes": ["tel"], "country": "RW", "config": config, "secret": SECRET}
        uuid = create_gateway(
            tx, service.workspace.id, GATEWAY_TYPE, name="Gateway", address="+250788000000", **options
        )
    text = Path(__file__).with_name("gateway.yaml").read_text(encoding="utf-8")
    path = folder / "gateway.yaml"
    path.write_text(yaml.safe_dump(yaml.safe_load(text.replace("CHANNEL", uuid).replace("SECRET", SECRET))))
    return path
