"""Requests with a method that the HTTP parser does not know: our 405 instead of the parser's 400."""

import re
import sys
from urllib.parse import unquote, urlsplit

import httptools
import orjson
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from handlers.asgi.plain_responses import with_code
from handlers.errors import TEXTS, allowed_methods

METHODS = "DELETE, GET, HEAD, POST"
"""All methods of the service, for URLs that are not in the contract."""
REQUEST_LINE = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+ (\S{1,8192}) HTTP/1\.[01]\r\n")


class UnknownMethods(HttpToolsProtocol):
    """uvicorn's protocol, which responds to a well-formed request with an unknown method with 405 and then closes.
    Other protocols can inherit from it: it only replaces the 400.
    """

    _received = b""

    def data_received(self, data: bytes) -> None:
        self._received = data
        super().data_received(data)
        self._received = b""

    def send_400_response(self, msg: str) -> None:
        line = REQUEST_LINE.match(self._received)
        is_method = isinstance(sys.exception(), httptools.HttpParserInvalidMethodError)
        if is_method and line is not None:
            self._send_wrong_method(line[1].decode("latin-1"))
        else:
            super().send_400_response(msg)

    def _send_wrong_method(self, target: str) -> None:
        path = unquote(urlsplit(target).path)
        body = orjson.dumps(with_code(path, 405, {"detail": TEXTS[405]}))
        methods = allowed_methods(path) or METHODS
        headers = [
            *((name.decode(), value.decode()) for name, value in self.server_state.default_headers),
            ("allow", methods),
            ("content-type", "application/json"),
            ("content-length", str(len(body))),
            ("cache-control", "no-store"),
            ("x-content-type-options", "nosniff"),
            ("connection", "close"),
        ]
        head = "".join(f"{name}: {value}\r\n" for name, value in headers)
        self.transport.write(f"HTTP/1.1 405 Method Not Allowed\r\n{head}\r\n".encode("latin-1") + body)
        self.transport.close()
