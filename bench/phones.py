"""A phone's sync of fifty SMS as a benchmark request."""

import itertools
import time
from urllib.parse import quote

from bench.load import Request
from persistence.database import Database
from persistence.relayers.relayers import claim_phone
from persistence.workspaces import find_workspace
from relayboard.phone.phone import HttpTransport, Phone, sign_body, write_body

SMS_PER_SYNC = 50


def make_sync(server_url: str, database: Database, workspace_id: int) -> Request:
    """A claimed phone's sync of fifty SMS that are new each time."""
    phone = Phone(HttpTransport(server_url))
    phone.register()
    with database.writing() as tx:
        workspace = find_workspace(tx, workspace_id)
        assert workspace is not None
        claim_phone(tx, workspace, phone.state.claim_code or "", "+250788999999", None)
    phone.sync()
    number = itertools.count()

    def body() -> bytes:
        moment = int(time.time() * 1000)
        identity = {"cmd": "fcm", "fcm_id": phone.state.push_token, "uuid": phone.state.device_uuid}
        reports = [
            {"cmd": "mo_sms", "phone": f"+2507{index:08}", "ts": moment, "msg": f"sms {next(number)}", "p_id": index}
            for index in range(SMS_PER_SYNC)
        ]
        return write_body([identity, *reports])

    def target(content: bytes) -> str:
        ts = str(int(time.time()))
        signature = quote(sign_body(phone.state.secret or "", ts, content))
        return f"/relayers/relayer/sync/{phone.state.relayer_id}/?ts={ts}&signature={signature}"

    headers = {"Content-Type": "application/json; charset=utf-8"}
    return Request("POST", server_url, headers, body, target)
