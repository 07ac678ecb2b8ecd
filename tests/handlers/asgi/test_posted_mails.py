"""Whole mails that a provider posts to a channel, with what is attached to them."""

import pytest
from sqlalchemy import select

from persistence.channels.channels import create_gateway
from persistence.channels.settings import read_config
from persistence.tables.messages import media
from testbed.gateways import SECRET
from tests.api import Api

MAIL = """From: Zoe <zoe@example.com>
Subject: A picture
Message-ID: <m1@example.com>
Content-Type: multipart/mixed; boundary=b

--b
Content-Type: text/plain

Look
--b
Content-Type: image/png
Content-Disposition: attachment; filename=a.png
Content-Transfer-Encoding: base64

aGVsbG8=
--b--
"""
TYPE = {"Content-Type": "message/rfc822"}


@pytest.fixture
def path(api: Api) -> str:
    given = {"host": "smtp.example.org", "from_address": "clinic@example.org"}
    with api.database.writing() as tx:
        named = {"name": "Mail", "address": "clinic@example.org", "schemes": ["mailto"], "secret": SECRET}
        uuid = create_gateway(tx, api.workspace.id, "email", **named, config=read_config("email", given))
    return f"/c/email/{uuid}/{SECRET}/"


def test_a_mail_that_comes_twice_is_one_message_with_one_file(api: Api, path: str) -> None:
    assert [api.client.post(path, content=MAIL, headers=TYPE).status_code for _ in range(2)] == [200, 200]

    (stored,) = api.results("/api/v2/messages.json")
    assert (stored["urn"], stored["text"]) == ("mailto:zoe@example.com", "A picture\nLook")
    (file,) = stored["attachments"]
    assert file["content_type"] == "image/png"
    assert api.client.get("/media/" + file["url"].partition("/media/")[2]).content == b"hello"
    with api.database.reading() as tx:
        assert tx.execute(select(media.c.size)).scalars().all() == [5]


def test_a_wrong_secret_or_another_body_stores_nothing(api: Api, path: str) -> None:
    assert api.client.post(path.replace(SECRET, "x" * 30), content=MAIL, headers=TYPE).status_code == 401
    assert api.client.post(path, content="Subject: x\n\nNobody", headers=TYPE).status_code == 400
    assert api.client.post(path, json={"mail": MAIL}).status_code == 400

    assert api.results("/api/v2/messages.json") == []
