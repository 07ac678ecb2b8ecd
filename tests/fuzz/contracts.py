"""The contracts that are fuzzed, with the one of what gateways call."""

from pathlib import Path
from typing import Any

import yaml
from sqlalchemy import func, select

from openapi.bundle import HTTP_METHODS
from persistence.channels.channels import create_gateway
from persistence.messages.outgoing import Draft, create_outgoing
from persistence.tables.contacts import contact
from testbed.gateways import GATEWAY_TYPE, SECRET
from testbed.running import RunningService

PATHS = {"v1": "/api/v1", "v2": "/api/v2", "relay": "/relayers/relayer", "gateway": ""}
"""The contracts, and what stands before their paths."""


def gateway_contract(service: RunningService, folder: Path) -> Path:
    """The contract of what gateways call, for a channel of the workspace that has a message to send."""
    with service.database.writing() as tx:
        config = {"send_url": "http://127.0.0.1:9/send"}
        options = {"schemes": ["tel"], "country": "RW", "config": config, "secret": SECRET}
        uuid = create_gateway(
            tx, service.workspace.id, GATEWAY_TYPE, name="Gateway", address="+250788000000", **options
        )
        contact_id = tx.execute(select(func.min(contact.c.id)).where(contact.c.workspace_id == service.workspace.id))
        (message_id,) = create_outgoing(tx, service.workspace.id, [Draft(contact_id.scalar_one(), "Welcome")])
    text = Path(__file__).with_name("gateway.yaml").read_text(encoding="utf-8")
    named = text.replace("CHANNEL", uuid).replace("SECRET", SECRET).replace("MESSAGE", str(message_id))
    path = folder / "gateway.yaml"
    path.write_text(yaml.safe_dump(with_either_slash(yaml.safe_load(named))))
    return path


def with_either_slash(document: dict[str, Any]) -> dict[str, Any]:
    """With each path both with a slash at its end and without, as gateways call it."""
    paths = dict(document["paths"])
    for path, item in document["paths"].items():
        other = path.removesuffix("/") if path.endswith("/") else f"{path}/"
        paths[other] = {
            name: {**part, "operationId": f"{part['operationId']}_otherwise"} if name in HTTP_METHODS else part
            for name, part in item.items()
        }
    return document | {"paths": paths}
