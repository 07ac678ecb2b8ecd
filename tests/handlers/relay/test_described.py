"""The page and the served document of the relayer protocol say what the service does."""

import json
import re
from typing import Any

import pytest

from handlers.relay.sync import is_signed, sign
from openapi.bundle import published
from relayboard.phone.phone import sign_body
from tests.api import Api
from tests.documentation import ROOT, read_blocks
from tests.phones import claimed_phone

PAGE = ROOT / "docs" / "relayer-protocol.md"
SCHEMAS = published("relay")["components"]["schemas"]


def described(union: str) -> dict[str, set[str]]:
    """The fields of each command, but for its name and number."""
    mapping = SCHEMAS[union]["discriminator"]["mapping"]
    assert sorted(mapping.values()) == sorted(each["$ref"] for each in SCHEMAS[union]["oneOf"])
    found = {name: SCHEMAS[target.rpartition("/")[2]]["properties"] for name, target in mapping.items()}
    assert [name for name, fields in found.items() if fields["cmd"]["enum"] != [name]] == []
    return {name: {*fields} - {"cmd", "p_id"} for name, fields in found.items()}


def test_the_vectors_of_the_page_are_the_signatures_of_both_sides() -> None:
    (block,) = (each for each in read_blocks(PAGE) if each.kind == "json")
    vectors = json.loads(block.text)

    for each in vectors:
        body = each["body"].encode()
        assert sign(each["secret"], each["ts"], body) == each["signature"]
        assert sign_body(each["secret"], each["ts"], body) == each["signature"]
        assert not is_signed(each["secret"], each["ts"], body + b" ", each["signature"])
    assert len(vectors) == 3


def test_the_page_has_each_field_of_each_command_of_the_document() -> None:
    rows = re.findall(r"^\| (`[^|]+`) \|([^|]*)\|[^|]*\|[^|]*\|$", PAGE.read_text(), re.M)
    told: dict[str, set[str]] = {}
    for names, fields in rows:
        for name in re.findall(r"`(\w+)`", names):
            told.setdefault(name, set()).update(re.findall(r"`(\w+)`", fields))

    assert told == described("KnownPhoneCommand")
    assert set(described("Command")) == {"reg", "claim", "ack", "mt_bcast", "rel"}


ODD: list[Any] = [
    {"cmd": "mo_sms", "phone": 250788000111, "msg": "no time", "ts": "1767225612345.0", "p_id": "seven"},
    {"cmd": "mo_sms", "p_id": 3},
    {"cmd": "call", "type": "other", "phone": None, "ts": -1, "dur": "x", "p_id": 4},
    {"cmd": "mt_sent", "msg_id": "90311", "p_id": 5},
    {"cmd": "mt_sent", "msg_id": {"a": 1}, "p_id": 5.5},
    {"cmd": "status", "power_level": "84", "pending": "none", "retry": [None, "3", {}], "org_id": "x"},
    {"cmd": "signal", "p_id": None},
    {"p_id": 6},
    {"cmd": 7},
    {},
]


@pytest.mark.together
@pytest.mark.parametrize("command", [*ODD, None, 5, "text", ["mo_sms"]], ids=str)
def test_what_no_schema_of_a_command_describes_is_taken_all_the_same(api: Api, command: Any) -> None:
    phone = claimed_phone(api)
    secret, ts = phone.state.secret or "", str(phone.clock() // 1000)
    body = json.dumps({"cmds": [*phone._identity(), command]}).encode()
    query = {"ts": ts, "signature": sign_body(secret, ts, body)}

    reply = phone.transport.post(f"/relayers/relayer/sync/{phone.state.relayer_id}/", query, body)

    assert (reply.status, {each["cmd"] for each in reply.document["cmds"]} - {"ack", "claim"}) == (200, set())
