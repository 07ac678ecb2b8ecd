"""What spoils a valid request: its values, its text, its query, its headers, its method or its path."""

import copy
import gzip
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import orjson

from tests.fuzz.asks import Ask
from tests.fuzz.memory import Memory

TEXTS = (
    *("", " ", "\x00", "\u0000x", "a\r\nb", "null", "None", "true", "0", "-1", "1e999", "NaN", "undefined", "{}", "[]"),
    *(
        "\u00e9" * 300,
        "x" * 10_000,
        "x" * 100_000,
        "\U0001f600" * 40,
        "\u202e\u0645\u0631\u062d\u0628\u0627",
        "I\u0307",
    ),
    *("\ufeff", "\ud7ff", "\u2028", "\uffff", "a\u0300" * 50, "\u0130stanbul", "\u00df", "\u0661\u0662\u0663", "\x7f"),
    *("';--", "%", "_", "%s%n", "\\", "../../etc/passwd", "@contact.name", "@(1/0)", '@(REPT("x", 9999999))', "<b>"),
    *("tel:", "tel:+250788", "tel:+250788000111?x=1#y", "mailto:a@b", "telegram:1", "foo:bar", "+250788000111", "12"),
    *("00000000-0000-4000-8000-000000000000", "not-a-uuid", "51A0C0A4-8A6B-4A0C-9B0E-6F2D1C3B4A5F", "0" * 36),
    *(
        "2026-02-30T00:00:00Z",
        "0001-01-01T00:00:00Z",
        "9999-12-31T23:59:59.999999Z",
        "2026-03-04",
        "12:00",
        "1767225612",
    ),
    *("2026-03-04T05:06:07+23:59", "eng", "xxx", "rw", "Africa/Kigali", "http://[::1", "https://example.org:99999/x"),
    *("http://127.0.0.1/", "ftp://x", "age > 10", "(((((", 'name = "', "tel ~ 078 AND (group = x OR created_on > 1)"),
)
NUMBERS = (
    0,
    -1,
    1,
    2**31 - 1,
    2**31,
    -(2**31) - 1,
    2**53 + 1,
    2**63 - 1,
    2**63,
    -(2**63) - 1,
    10**30,
    0.1,
    -0.0,
    1e308,
)
OTHERS: tuple[Any, ...] = (None, True, False, [], {}, [None], [[]], {"": None}, ["a", "a"], [{}], {"uuid": 1})
RAW_QUERY = (
    "%",
    "%zz",
    "%ff",
    "%00",
    "%c3%28",
    "%ed%a0%80",
    "+",
    "%2B",
    "%F0%9F%98%80",
    "a%0d%0ab",
    "&",
    ";",
    "=",
    "#",
)
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "PROPFIND")
HEADERS = (
    *(("accept", "text/html"), ("accept", "*/*;q=x"), ("accept", ""), ("accept-encoding", "gzip;q=0, br")),
    *(
        ("accept-language", "\xff\xfe"),
        ("if-none-match", "*"),
        ("if-modified-since", "yesterday"),
        ("range", "bytes=0-"),
    ),
    *(("origin", "https://example.org"), ("cookie", "relayboard_session=x; a=\xff"), ("x-csrf-token", "x")),
    *(("x-workspace", "not-a-uuid"), ("x-request-id", "x" * 5000), ("x-request-id", "\xff"), ("idempotency-key", "")),
    *(("idempotency-key", "k" * 300), ("idempotency-key", "same"), ("x-forwarded-for", "1.2.3.4, x")),
    *(
        ("forwarded", "for=;proto="),
        ("x-forwarded-proto", "gopher"),
        ("host", ""),
        ("host", "a b"),
        ("traceparent", "0"),
    ),
    *(("content-encoding", "gzip"), ("content-encoding", "br"), ("expect", "100-continue"), ("transfer-encoding", "x")),
)
CONTENT_TYPES = (
    *("", "application/json; charset=latin-1", "application/json; charset=utf-16", "application/json; charset=x\xff"),
    *("text/plain", "application/xml", "application/x-www-form-urlencoded", "multipart/form-data", "json", "/", ";"),
    *("multipart/form-data; boundary=", "application/json, text/plain", "APPLICATION/JSON", "application/*", "*/*"),
)
TOKENS = (
    *(
        "",
        "Token",
        "Token x",
        "token {}",
        "Bearer {}",
        "Token  {}",
        "Token {} x",
        "Basic e30=",
        "Token \xff",
        "Token {}x",
    ),
)
Mutation = Callable[[Ask, random.Random, Memory], Ask]


def mutate(ask: Ask, chance: random.Random, memory: Memory) -> Ask:
    """The request with one to three things spoiled."""
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        ask = chance.choices(*OF_REQUESTS)[0](ask, chance, memory)
    return replace(ask, is_whole=False)


def some_value(chance: random.Random, memory: Memory) -> Any:
    kind = chance.randrange(10)
    if kind < 5:
        return chance.choice(TEXTS)
    if kind == 5:
        return "".join(chr(chance.choice((chance.randrange(32, 127), chance.randrange(0xD7FF)))) for _ in range(12))
    if kind == 6 and memory.values:
        return chance.choice(memory.values[chance.choice(list(memory.values))])
    return copy.deepcopy(chance.choice(NUMBERS if kind < 9 else OTHERS))


def spoil_document(ask: Ask, chance: random.Random, memory: Memory) -> Ask:
    """Changes one place of a JSON body."""
    if not isinstance(ask.document, dict):
        return spoil_query(ask, chance, memory)
    document = copy.deepcopy(ask.document)
    holder, name = chance.choice(list(_places(document)) or [(document, "x")])
    change = chance.randrange(8)
    if change == 0 and isinstance(holder, dict):
        holder.pop(name, None)
    elif change == 1 and isinstance(holder, dict):
        holder[str(some_value(chance, memory))] = some_value(chance, memory)
    elif change == 2 and isinstance(holder, list):
        holder *= chance.choice((2, 101))
    elif change == 3 and name in holder:
        holder[name] = [holder[name]]
    elif change == 4:
        holder[name] = nested(chance.choice((3, 40, 120)))
    else:
        holder[name] = some_value(chance, memory)
    return with_document(ask, document)


def _places(node: Any) -> list[tuple[Any, Any]]:
    pairs = list(node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ())
    return [(node, name) for name, _ in pairs] + [place for _, inner in pairs for place in _places(inner)]


def nested(depth: int) -> Any:
    value: Any = "x"
    for _ in range(depth):
        value = [value]
    return value


def with_document(ask: Ask, document: Any) -> Ask:
    """The request with this body; numbers that are too large for the library are written as text is."""
    try:
        body = orjson.dumps(document)
    except TypeError:
        body = json.dumps(document).encode("utf-8", "surrogatepass")
    return replace(ask, document=document, body=body)


def spoil_text(ask: Ask, chance: random.Random, memory: Memory) -> Ask:
    """Changes the bytes of a body, whatever it is."""
    body = ask.body or b'{"name": "x"}'
    place = chance.randrange(len(body) + 1)
    changed: Sequence[bytes] = (
        *(b"", body[:place], body[place:], body + body, b"\xef\xbb\xbf" + body, body + b"\x00", b"\xff" + body),
        *(body[:place] + chance.randbytes(1) + body[place + 1 :], body.replace(b":", b": :", 1), b"[" * 3000),
        *(body[:-1] + b', "name": 1, "name": "x"}', body.replace(b'"', b"'"), body.decode("latin-1").encode("utf-16")),
        *(b"NaN", b"[1]", b'"x"', b"1e400", b"null", gzip.compress(body), b'{"name": "\\ud800"}', b" " * 5000 + body),
        *(body.replace(b'": ', b'": 1e999, "', 1), b"--a-boundary\r\n\r\n", b"a=b&a=c&=&%ff=%00", chance.randbytes(50)),
    )
    return replace(ask, body=chance.choice(changed))


def spoil_query(ask: Ask, chance: random.Random, memory: Memory) -> Ask:
    query = list(ask.query)
    place = chance.randrange(len(query)) if query else 0
    kind = chance.randrange(6)
    if kind == 0 and query:
        del query[place]
    elif kind == 1 and query:
        query.append(query[place])
    elif kind == 2 or not query:
        names = ("uuid", "cursor", "before", "after", "folder", "page_size", "x", "", "id", "contact", "name", "format")
        query.append((chance.choice(names), quote(str(some_value(chance, memory))[:3000], errors="replace")))
    elif kind == 3:
        query[place] = (query[place][0], query[place][1] + chance.choice(RAW_QUERY))
    else:
        value = quote(str(some_value(chance, memory))[:3000], errors="replace")
        query[place] = (query[place][0], chance.choice((value, chance.choice(RAW_QUERY))))
    return replace(ask, query=query)


def spoil_headers(ask: Ask, chance: random.Random, memory: Memory) -> Ask:
    headers = list(ask.headers)
    kind = chance.randrange(5)
    if kind == 0:
        headers.append(chance.choice(HEADERS))
    elif kind == 1:
        headers = [pair for pair in headers if pair[0] != "content-type"]
        headers += [("content-type", one) for one in chance.sample(CONTENT_TYPES, chance.randrange(3))]
    elif kind == 2 and headers:
        headers.append(chance.choice(headers))
    else:
        headers += chance.sample(HEADERS, 2)
    return replace(ask, headers=headers)


def spoil_token(ask: Ask, chance: random.Random, memory: Memory) -> Ask:
    token = next((value.split()[-1] for name, value in ask.headers if name == "authorization" and value.split()), "x")
    others = [pair for pair in ask.headers if pair[0] != "authorization"]
    return replace(ask, headers=[*others, ("authorization", chance.choice(TOKENS).replace("{}", token))])


def spoil_method(ask: Ask, chance: random.Random, memory: Memory) -> Ask:
    """Another method, which may be one that the path has: then it is the request of another operation."""
    return replace(ask, method=chance.choice(METHODS))


def spoil_path(ask: Ask, chance: random.Random, memory: Memory) -> Ask:
    path = ask.path
    place = chance.randrange(len(path)) + 1
    changed = (
        *(path + "/", path.removesuffix(".json"), path + ".json", path.upper(), path.replace("/", "//"), "/" + path),
        *(
            path[:place] + "%00" + path[place:],
            path[:place] + "%2e%2e/" + path[place:],
            path[:place] + "%ff",
            path[:place],
        ),
        *(path + ";x=1", path.replace(".json", ".xml"), path[:place] + "x" * 9000, "/", "/%F0%9F%98%80", path + "%20"),
    )
    return replace(ask, path=chance.choice(changed))


OF_REQUESTS: tuple[Sequence[Mutation], Sequence[int]] = (
    (spoil_document, spoil_text, spoil_query, spoil_headers, spoil_token, spoil_method, spoil_path),
    (55, 10, 15, 8, 3, 4, 5),
)
"""Functions and how often each is chosen."""
