"""A server of another kind, over real HTTP: it answers as current servers of the public API do, and badly if told
to."""

import base64
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

Row = dict[str, Any]
TOKEN = "0123456789abcdef0123456789abcdef01234567"
ORDERS = {"contacts": "modified_on", "runs": "modified_on", "flows": "modified_on", "flow_starts": "modified_on"}
WITH_CURSOR = ("messages", "broadcasts", "channel_events", *ORDERS)
PLAIN = (
    *("users", "channels", "fields", "globals", "groups", "labels", "topics", "optins", "classifiers", "resthooks"),
    *("resthook_subscribers", "templates", "campaigns", "tickets", "archives"),
)


class OtherServer:
    """`lists` are its records by the name of their list, in any order. `faults` are answers (status, headers) given
    before anything else; `before` is called with each path before it is answered, and may change records."""

    def __init__(self) -> None:
        self.lists: dict[str, list[Row]] = {name: [] for name in (*PLAIN, *WITH_CURSOR)}
        self.definitions: dict[str, Row] = {}
        self.files: dict[str, bytes] = {}
        self.faults: list[tuple[int, dict[str, str]]] = []
        self.before: Callable[[str], object] = lambda _path: None
        self.asked: list[str] = []
        self.page_size = 3
        self.filters: bool | None = True
        """Whether lists can be limited by time: None if the server does not know the parameter, False if it refuses
        it."""
        self.deleted: list[Row] = []
        """What is left of deleted contacts; only current servers list them."""
        self.knows_deleted = True
        self.refused: set[str] = set()
        """Lists that the token may not read."""
        self.workspace: Row = {
            "uuid": "39958509-45a8-40fd-b9bc-19015f4987a8",
            "name": "Bench",
            "country": "RW",
            "languages": ["eng", "spa"],
            "timezone": "Africa/Kigali",
            "date_style": "day_first",
            "anon": False,
            "primary_language": "eng",
        }
        self.workspace_path = "workspace"
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # or each body waits for the receipt of its headers

            def do_GET(self) -> None:
                server._answer(self)

            def log_message(self, format: str, *args: Any) -> None:
                return None

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    def delete_contact(self, uuid: str, moment: str) -> None:
        """With everything of the contact, as servers do."""
        self.lists["contacts"] = [each for each in self.lists["contacts"] if each["uuid"] != uuid]
        for name in ("messages", "runs", "tickets"):
            self.lists[name] = [each for each in self.lists[name] if each["contact"]["uuid"] != uuid]
        empty = {"name": None, "status": None, "urns": [], "groups": [], "fields": {}}
        self.deleted.append({"uuid": uuid, **empty, "modified_on": moment})

    @contextmanager
    def running(self) -> Iterator["OtherServer"]:
        thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._http.shutdown()
            self._http.server_close()
            thread.join()

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        parts = urlsplit(handler.path)
        self.asked.append(handler.path)
        self.before(handler.path)
        if self.faults:
            status, headers = self.faults.pop(0)
            return _send(handler, status, b"<html>not now</html>", {"Content-Type": "text/html", **headers})
        if parts.path in self.files:
            return _send(handler, 200, self.files[parts.path], {"Content-Type": "application/gzip"})
        if handler.headers.get("Authorization") != f"Token {TOKEN}":
            return _send_json(handler, 403, {"detail": "Invalid token"})
        name = parts.path.removeprefix("/api/v2/").removesuffix(".json")
        query = {key: values for key, values in parse_qs(parts.query).items()}
        if name in self.refused:
            return _send_json(handler, 403, {"detail": "You do not have permission to perform this action."})
        if name == self.workspace_path:
            return _send_json(handler, 200, self.workspace)
        if name == "definitions":
            return _send_json(handler, 200, self._define(query))
        if "after" in query and self.filters is False:
            return _send_json(handler, 400, {"detail": "Unknown parameter after"})
        if name not in self.lists:
            return _send_json(handler, 404, {"detail": "Not found."})
        return _send_json(handler, 200, self._page(name, query))

    def _define(self, query: dict[str, list[str]]) -> Row:
        chosen = [self.definitions[uuid] for uuid in (*query.get("flow", ()), *query.get("campaign", ()))]
        document: Row = {"version": "13", "site": self.url}
        for name in ("flows", "campaigns", "triggers", "fields", "groups"):
            document[name] = list({json.dumps(each): each for one in chosen for each in one.get(name, ())}.values())
        return document

    def _page(self, name: str, query: dict[str, list[str]]) -> Row:
        rows = self.lists[name]
        if "deleted" in query and self.knows_deleted:
            rows = self.deleted
        if "uuid" in query:
            rows = [row for row in rows if row["uuid"] == query["uuid"][0]]
        if name not in WITH_CURSOR:
            return {"next": None, "previous": None, "results": rows}
        order = ORDERS.get(name, "created_on")
        rows = sorted(rows, key=lambda row: (row[order], str(row.get("id") or row.get("uuid"))), reverse=True)
        if "after" in query and self.filters:
            rows = [row for row in rows if row[order] >= query["after"][0]]
        if "cursor" in query:
            position = json.loads(base64.b64decode(query["cursor"][0]))
            rows = [row for row in rows if [row[order], str(row.get("id") or row.get("uuid"))] < position]
        page, rest = rows[: self.page_size], rows[self.page_size :]
        following = None
        if rest:
            last = [page[-1][order], str(page[-1].get("id") or page[-1].get("uuid"))]
            cursor = base64.b64encode(json.dumps(last).encode()).decode()
            after = f"&after={query['after'][0].replace('+', '%2B')}" if "after" in query else ""
            # As behind a proxy, which knows another name of the server.
            following = f"http://internal.example.org/api/v2/{name}.json?cursor={cursor.replace('=', '%3D')}{after}"
        return {"next": following, "previous": None, "results": page}


def _send_json(handler: BaseHTTPRequestHandler, status: int, document: Row) -> None:
    _send(handler, status, json.dumps(document).encode(), {"Content-Type": "application/json"})


def _send(handler: BaseHTTPRequestHandler, status: int, body: bytes, headers: dict[str, str]) -> None:
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)
