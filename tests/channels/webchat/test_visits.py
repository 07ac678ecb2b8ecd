"""Visitors of a site with a chat, over HTTP with a worker: what they write and read, and what strangers do not."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
import requests
from sqlalchemy import select

from channels.chats import allowed_origins, check_origins
from persistence.tables.channels import webchat_visitor
from testbed.patience import PATIENCE_SECONDS
from testbed.running import RunningService, forked_service, wait_until
from tests.channels.webchat.visitors import SITE, Browser, add_chat

PNG = b"\x89PNG\r\n\x1a\n" + bytes(100)


@pytest.fixture(scope="module")
def whole_service(shared_database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    given = {
        "VISITOR_LIMIT": "4/minute",
        "MAX_WORKSPACE_VISITORS": "12",
        "CALLBACK_LIMIT": "300/minute",
        "BASE_URL": "",
    }
    with forked_service(shared_database_url, tmp_path_factory.mktemp("visits"), **given) as running:
        yield running


@pytest.fixture
def service(whole_service: RunningService) -> RunningService:
    """For a workspace of its own: limits are counted for each."""
    return whole_service.with_new_workspace()


@pytest.fixture
def chat(service: RunningService) -> str:
    return add_chat(service, takes_files="true")


def answer(service: RunningService, code: str, text: str, **more: object) -> None:
    """An agent writes to a visitor."""
    service.post("/api/v2/messages.json", {"contact": contact_of(service, code), "text": text, **more})


def contact_of(service: RunningService, code: str) -> str:
    (contact,) = service.get("/api/v2/contacts.json", urn=f"webchat:{code}")["results"]
    uuid: str = contact["uuid"]
    return uuid


def act(service: RunningService, action: str, contact: str) -> None:
    body = {"contacts": [contact], "action": action}
    headers = {"Authorization": f"Token {service.token}"}
    done = requests.post(
        f"{service.url}/api/v2/contact_actions.json", json=body, headers=headers, timeout=PATIENCE_SECONDS
    )
    assert done.status_code == 204, done.text


def status_of(service: RunningService, text: str) -> str | None:
    found = [each for each in service.get("/api/v2/messages.json", folder="sent")["results"] if each["text"] == text]
    return found[0]["status"] if found else None


def test_a_visitor_and_an_agent_talk_and_the_agent_sees_what_was_delivered_and_read(
    service: RunningService, chat: str
) -> None:
    visitor = Browser(service, chat)
    code = visitor.begin(name="Amina")
    first = visitor.write("Are you open?", "k1")
    repeated = visitor.write("Are you open?", "k1")
    assert (first.status_code, repeated.status_code) == (201, 201)
    assert first.json()["id"] == repeated.json()["id"]

    def inbox() -> list[str]:
        return [each["text"] for each in service.get("/api/v2/messages.json", folder="incoming")["results"]]

    wait_until(lambda: inbox() == ["Are you open?"], "the worker to handle the message")

    found = visitor.messages()
    assert [(each["from"], each["text"], each["key"]) for each in found["results"]] == [
        ("visitor", "Are you open?", "k1")
    ]
    answer(service, code, "Until five", quick_replies=[{"text": "Thanks"}])
    events = visitor.follow(found["position"])
    name, shown = next(event for event in events if event[1].get("from") == "site")
    assert (name, shown["text"], shown["quick_replies"], shown["status"]) == (
        "message", "Until five", ["Thanks"], "sent",
    )  # fmt: skip

    assert status_of(service, "Until five") == "wired"
    visitor.acknowledge(delivered=[shown["id"]], read=[])
    assert status_of(service, "Until five") == "delivered"
    visitor.acknowledge(delivered=[], read=[shown["id"]])
    assert status_of(service, "Until five") == "read"
    visitor.acknowledge(delivered=[shown["id"]], read=[])
    assert status_of(service, "Until five") == "read"


def test_what_was_sent_meanwhile_is_there_when_the_visitor_comes_back(service: RunningService, chat: str) -> None:
    visitor = Browser(service, chat)
    code = visitor.begin()
    position = visitor.messages()["position"]
    for text in ("One", "Two", "Three"):
        answer(service, code, text)
    wait_until(lambda: len(visitor.messages()["results"]) == 3, "the worker to hand over the messages")

    followed = visitor.follow(position)
    assert [next(followed)[1]["text"] for _ in range(3)] == ["One", "Two", "Three"]
    asked = visitor.messages(position=position)
    assert ([each["text"] for each in asked["results"]], asked["is_whole"]) == (["One", "Two", "Three"], False)
    assert visitor.messages(position="long ago")["is_whole"]
    first = asked["results"][-1]["id"]
    assert [each["text"] for each in visitor.messages(earlier_than=first)["results"]] == ["One", "Two"]


def test_who_has_no_token_sees_and_changes_nothing(service: RunningService, chat: str) -> None:
    visitor, stranger = Browser(service, chat), Browser(service, chat)
    code, other = visitor.begin(), stranger.begin()
    message = visitor.write("A secret", "k1").json()
    answer(service, code, "Another")
    wait_until(lambda: len(visitor.messages()["results"]) == 2, "the worker to hand over the message")
    shown = visitor.messages()["results"][1]

    assert stranger.messages()["results"] == []
    assert stranger.call("GET", "/messages", params={"earlier_than": message["id"]}).status_code == 404
    stranger.acknowledge(delivered=[shown["id"]], read=[shown["id"]])
    assert status_of(service, "Another") == "wired"
    stranger.token = stranger.token.replace(other, code)
    for method, path in (("GET", "/messages"), ("GET", "/stream"), ("POST", "/acknowledgements")):
        assert stranger.call(method, path, json={} if method == "POST" else None).status_code == 401
    elsewhere = Browser(service, add_chat(service), token=visitor.token)
    assert elsewhere.call("GET", "/messages").status_code == 401
    stranger.token = ""
    assert stranger.write("Let me in", "k2").status_code == 401
    with service.database.reading() as tx:
        hashes = list(tx.execute(select(webchat_visitor.c.token_hash)).scalars())
    assert all(visitor.token.partition(".")[2] not in each for each in hashes)


def test_only_the_sites_of_the_channel_may_show_the_chat(service: RunningService, chat: str) -> None:
    asked = {"Access-Control-Request-Method": "POST"}
    allowed = Browser(service, chat).call("OPTIONS", "/messages", headers=asked)
    assert (allowed.status_code, allowed.headers["Access-Control-Allow-Origin"]) == (204, SITE)
    assert (allowed.headers["Access-Control-Allow-Methods"], allowed.headers["Vary"]) == ("GET, HEAD, POST", "Origin")
    assert "Access-Control-Allow-Credentials" not in allowed.headers
    for origin in ("https://www.example.com", "http://www.example.org", f"{SITE}:444", "null"):
        elsewhere = Browser(service, chat, origin=origin)
        refused = [elsewhere.call("OPTIONS", "/messages", headers=asked), elsewhere.call("GET", "/settings")]
        refused.append(elsewhere.call("POST", "/visits", json={}))
        assert [each.status_code for each in refused] == [403] * 3
        assert all("Access-Control-Allow-Origin" not in each.headers for each in refused)
    assert Browser(service, chat, origin=None).call("POST", "/visits", json={}).status_code == 403
    told = Browser(service, chat).call("GET", "/settings")
    assert told.headers["Access-Control-Allow-Origin"] == SITE
    assert told.json()["title"] == "Help desk"
    assert Browser(service, "9b1f0a52-5f0e-4a4e-8d09-3d0c0a1f7b21").call("GET", "/settings").status_code == 404


@pytest.mark.parametrize(
    ("written", "origins"),
    [
        ("https://Example.org/contact http://localhost:8000", {"https://example.org", "http://localhost:8000"}),
        ("https://example.org:443", {"https://example.org"}),
        ("https://Bücher.example:8443", {"https://xn--bcher-kva.example:8443"}),
        ("* nonsense ftp://example.org https://[", set()),
    ],
)
def test_origins_are_read_as_browsers_write_them(written: str, origins: set[str]) -> None:
    assert allowed_origins({"origins": written}) == origins


@pytest.mark.parametrize("origins", ["www.example.org", "*", "https://www.example.org,"])
def test_what_is_no_site_is_refused_when_it_is_saved(origins: str) -> None:
    with pytest.raises(ValueError, match="is not a site"):
        check_origins(origins)


def test_a_visitor_who_writes_too_much_has_to_wait_and_others_do_not(service: RunningService, chat: str) -> None:
    visitor, other = Browser(service, chat), Browser(service, chat)
    visitor.begin()
    other.begin()
    for number in range(4):
        assert visitor.write("Hello", f"k{number}").status_code == 201

    refused = visitor.write("Hello", "k4")
    assert refused.status_code == 429
    assert 1 <= int(refused.headers["Retry-After"]) <= 60
    assert refused.headers["Access-Control-Allow-Origin"] == SITE
    assert visitor.write("Hello", "k0").status_code == 201
    assert other.write("Hello", "k0").status_code == 201
    Browser(service, chat).begin()
    Browser(service, chat).begin()
    assert Browser(service, chat).call("POST", "/visits", json={}).status_code == 429


def test_streams_leave_places_to_other_addresses_and_other_chats(service: RunningService, chat: str) -> None:
    """Of twelve places, nine are for one chat and one for one address."""
    other = add_chat(service)

    def follow(held: ExitStack, channel: str, address: str) -> requests.Response:
        visitor = Browser(service, channel, extra={"X-Forwarded-For": address})
        visitor.begin()
        answer = held.enter_context(visitor.call("GET", "/stream", stream=True))
        if answer.status_code == 200:
            opened.append(answer.iter_lines(chunk_size=1))  # One that is dropped ends its connection.
            assert next(opened[-1])
        return answer

    opened: list[Iterator[bytes]] = []
    with ExitStack() as held:
        assert follow(held, chat, "192.0.2.1").status_code == 200
        again = follow(held, chat, "192.0.2.1")
        assert (again.status_code, again.headers["Retry-After"]) == (429, "30")
        assert follow(held, chat, "2001:db8::1").status_code == 200
        assert follow(held, chat, "2001:db8::2").status_code == 429
        more = [follow(held, chat, f"192.0.2.{number}").status_code for number in range(2, 11)]
        assert more == [200] * 7 + [429] * 2
        assert [follow(held, other, f"192.0.2.{number}").status_code for number in range(1, 5)] == [200] * 3 + [429]


def test_an_address_that_calls_without_end_leaves_the_calls_of_a_chat_to_others(
    service: RunningService, chat: str
) -> None:
    """Of 300 calls a minute, thirty are for one address, whether or not they are refused."""
    stranger = Browser(service, chat, extra={"X-Forwarded-For": "192.0.2.1"})
    statuses = [stranger.write("Let me in", "k1").status_code for _ in range(80)]
    limited = stranger.call("POST", "/visits", json={})

    assert statuses == [401] * 30 + [429] * 50
    assert (limited.status_code, limited.headers["Access-Control-Allow-Origin"]) == (429, SITE)
    assert 1 <= int(limited.headers["Retry-After"]) <= 60
    Browser(service, chat, extra={"X-Forwarded-For": "192.0.2.2"}).begin()


def test_a_visitor_sends_a_file_once(service: RunningService, chat: str) -> None:
    visitor = Browser(service, chat)
    visitor.begin()
    sent = [
        visitor.call("POST", "/files", params={"key": "k1"}, files={"file": ("cat.png", PNG, "image/png")})
        for _ in range(2)
    ]
    assert [each.status_code for each in sent] == [201, 201], sent[0].text
    assert sent[0].json() == sent[1].json()
    (attachment,) = sent[0].json()["attachments"]
    assert attachment["content_type"] == "image/png"
    assert visitor.call("GET", "/messages").json()["results"][0]["attachments"] == [attachment]
    stored = [path for path in (service.folder).rglob("*.png") if "media" in str(path)]
    assert [path.read_bytes() for path in stored] == [PNG]
    page = visitor.call("POST", "/files", params={"key": "k2"}, files={"file": ("a.html", b"<b>", "text/html")})
    assert (page.status_code, page.json()) == (400, {"file": ["Only images, audio, video and PDF files are accepted."]})
    for key in (None, "", "a b", "x" * 37):
        form = {"params": {"key": key}, "files": {"file": ("cat.png", PNG, "image/png")}}
        assert visitor.call("POST", "/files", **form).status_code == 400
    without = add_chat(service, origins=SITE)
    other = Browser(service, without)
    other.begin()
    refused = other.call("POST", "/files", params={"key": "k1"}, files={"file": ("cat.png", PNG, "image/png")})
    assert refused.status_code == 400


def test_what_is_no_message_is_refused_and_changes_nothing(service: RunningService, chat: str) -> None:
    visitor = Browser(service, chat)
    visitor.begin()
    wrong: list[object] = [
        {},
        {"key": "k1"},
        {"key": "k1", "text": "\x01\x7f"},
        {"key": "k1", "text": "x" * 4097},
        {"key": "a b", "text": "x"},
        {"key": 7, "text": "x"},
        [],
    ]

    answers = [visitor.call("POST", "/messages", json=body).status_code for body in wrong]

    assert answers == [400] * len(wrong)
    assert visitor.messages()["results"] == []


def test_an_address_that_a_visitor_gives_is_part_of_its_own_urn(service: RunningService, chat: str) -> None:
    service.post("/api/v2/contacts.json", {"name": "Ann", "urns": ["mailto:ann@example.org"]})
    visitor = Browser(service, chat)
    code = visitor.begin(name=" Ann ", email="Ann@example.org")
    visitor.write("Hello", "k1")

    (contact,) = service.get("/api/v2/contacts.json", urn=f"webchat:{code}:ann@example.org")["results"]
    assert (contact["name"], contact["urns"]) == ("Ann", [f"webchat:{code}:ann@example.org"])
    assert Browser(service, chat).call("POST", "/visits", json={"email": "nobody"}).status_code == 400


def test_a_visitor_whose_contact_is_deleted_or_blocked_is_told(service: RunningService, chat: str) -> None:
    visitor, blocked = Browser(service, chat), Browser(service, chat)
    code, other = visitor.begin(), blocked.begin()
    act(service, "block", contact_of(service, other))
    assert blocked.write("Hello", "k1").status_code == 409
    act(service, "delete", contact_of(service, code))
    wait_until(lambda: visitor.call("GET", "/messages").status_code == 401, "the contact to be deleted")
