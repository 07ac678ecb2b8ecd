"""Serves the contract as documents, with pages to try it out and read about it, and the guides of `docs/` as pages,
without any other server.
"""

import copy
import gzip
import hashlib
import html
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Any
from urllib.parse import parse_qs

import anyio.to_thread
import orjson
import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token
from starlette.types import ASGIApp, Receive, Scope, Send

from handlers.asgi.plain_responses import JSON_TYPE, LEAST_BYTES, PlainResponse, accepts_gzip, header, wrong_method
from openapi.bundle import Document, operations, parameters, published
from relayboard.base.settings import Settings

ROOTS = {"v1": "/api/v1", "v2": "/api/v2", "relay": "/relayers/relayer", "chat": "/chat"}
WITH_EXPLORER = ("v1", "v2")
YAML_TYPE = "application/yaml"
HTML_TYPE = "text/html; charset=utf-8"
SCRIPT_TYPE = "text/javascript; charset=utf-8"
STYLE_TYPE = "text/css; charset=utf-8"
OWN_FILES = Path(__file__).with_name("explorer_files")
VENDORED_FILES = Path(__file__).with_name("swagger_ui")
ASSETS = {
    "swagger-ui.css": (VENDORED_FILES, STYLE_TYPE),
    "swagger-ui-bundle.js": (VENDORED_FILES, SCRIPT_TYPE),
    "favicon-32x32.png": (VENDORED_FILES, "image/png"),
    "explorer.css": (OWN_FILES, STYLE_TYPE),
    "explorer.js": (OWN_FILES, SCRIPT_TYPE),
}
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
PAGE_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
VERSIONED = "public, max-age=31536000, immutable"
TAG_LENGTH = 32
BEST = 9
"""Each page is compressed once."""

INDEX = "index"
EXAMPLES = ("clinic.json",)
INSTALLED = Path(sys.prefix) / "share" / "relayboard" / "docs"
GUIDE_LINK = re.compile(r"(?:docs/)?((?:\.\./|channels/)?[a-z0-9_-]+)\.md(#[a-z0-9-]+)?\Z")
COMMENT = re.compile(r"^<!--.*?-->\n", re.MULTILINE | re.DOTALL)
"""Notes for who writes the guides. HTML in guides is shown as text, so that comments would be, too."""
MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")


@cache
def guides_folder() -> Path:
    """The folder of the guides: next to the packages of the source tree, or in the installation's shared files."""
    source = Path(__file__).parents[2] / "docs"
    return source if (source / "operations.md").is_file() else INSTALLED


class Explorer:
    """ASGI layer with the contracts, the explorers of both generations and the guides; other requests go to the inner
    layer.

    Contracts: `openapi.json` and `openapi.yaml` in `/api/{v1,v2}/`, `/relayers/relayer/` and `/chat/`, without the
    service's `x-` keys; with the setting BASE_URL the URL of their server is absolute. Explorers: `/api/{v1,v2}/docs`,
    to which `/api/{v1,v2}/` leads. Guides: `/guides/`. All are compressed for clients that accept it.
    """

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app = app
        self.base_url = settings.base_url
        self._makers = self._routes()
        self._pages: dict[str, tuple[PlainResponse, PlainResponse]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] not in self._makers:
            await self.app(scope, receive, send)
            return
        path = scope["path"]
        if path not in self._pages:  # takes a third of a second per document, and other requests should not wait
            self._pages[path] = await anyio.to_thread.run_sync(_tagged, self._makers[path])
        plain, packed = self._pages[path]
        is_packed = accepts_gzip((header(scope, b"accept-encoding") or b"").decode("latin-1"))
        page = wrong_method(scope) or _unless_known(scope, _as_versioned(scope, packed if is_packed else plain))
        await page.send(send)

    def _routes(self) -> dict[str, Callable[[], PlainResponse]]:
        routes: dict[str, Callable[[], PlainResponse]] = {}
        for generation, root in ROOTS.items():
            routes[f"{root}/openapi.json"] = partial(json_document, generation, self.base_url)
            routes[f"{root}/openapi.yaml"] = partial(yaml_document, generation, self.base_url)
        for generation in WITH_EXPLORER:
            docs = f"{ROOTS[generation]}/docs"
            routes[docs] = partial(explorer_page, generation)
            routes[ROOTS[generation]] = partial(_redirect, f"{generation}/docs")
            routes[f"{ROOTS[generation]}/"] = partial(_redirect, "docs")
            routes[f"{docs}/"] = partial(_redirect, "../docs")
            routes[f"{docs}/openapi.json"] = partial(shown_document, generation, self.base_url)
            routes |= {f"{docs}/{name}": partial(asset, name) for name in ASSETS}
        routes["/guides"] = partial(_redirect, "guides/")
        routes["/guides/"] = guide_list
        routes |= {f"/guides/{name}": partial(guide_page, name) for name in guide_names()}
        routes |= {f"/guides/{name}": partial(example_file, name) for name in EXAMPLES}
        return routes


@cache
def served_document(generation: str, base_url: str) -> Document:
    """The published contract; a base URL makes the URL of its server absolute."""
    document = published(generation)
    if base_url:
        for server in document["servers"]:
            server["url"] = base_url.rstrip("/") + server["url"]
    return document


def json_document(generation: str, base_url: str) -> PlainResponse:
    return _json_page(served_document(generation, base_url))


def shown_document(generation: str, base_url: str) -> PlainResponse:
    return _json_page(explorer_document(served_document(generation, base_url)))


def yaml_document(generation: str, base_url: str) -> PlainResponse:
    text = yaml.safe_dump(served_document(generation, base_url), sort_keys=False, allow_unicode=True, width=120)
    return _revalidated(text.encode(), YAML_TYPE)


def explorer_page(generation: str) -> PlainResponse:
    return _html_page("page.html", "docs/", {"generation": generation, "navigation": navigation(generation, "../../")})


def guide_list() -> PlainResponse:
    title, content = render_guide(INDEX)
    return _guide(title, content + render_list(), "")


def guide_page(name: str) -> PlainResponse:
    return _guide(*render_guide(name), name)


def example_file(name: str) -> PlainResponse:
    """A file that a guide tells people to import."""
    return _revalidated((guides_folder() / name).read_bytes(), JSON_TYPE, {"X-Content-Type-Options": "nosniff"})


def navigation(current: str, top: str) -> str:
    """The links between explorers, contracts and guides; `top` is the relative path to the service's root."""
    links = [("v2", "API v2", "api/v2/docs"), ("v1", "API v1", "api/v1/docs"), ("guides", "Guides", "guides/")]
    if current in ROOTS:
        root = ROOTS[current].removeprefix("/")
        links += [("json", "openapi.json", f"{root}/openapi.json"), ("yaml", "openapi.yaml", f"{root}/openapi.yaml")]
    mark = ' aria-current="page"'
    return "\n".join(
        f'<a href="{top}{target}"{mark if name == current else ""}>{text}</a>' for name, text, target in links
    )


def asset(name: str) -> PlainResponse:
    """One of the listed files; other names have no route, so no path can lead out of the folder."""
    folder, media_type = ASSETS[name]
    return _revalidated((folder / name).read_bytes(), media_type, {"X-Content-Type-Options": "nosniff"})


@cache
def asset_version(name: str) -> str:
    """The value of `?v=` in the URL of a file; it changes with the file."""
    return _tag(asset(name).body)


def explorer_document(document: Document) -> Document:
    """The published document with the examples of parameters moved into their descriptions. The explorer would fill
    every field with its example, and users would send it without noticing: filters that find nothing, two that exclude
    each other, the same Idempotency-Key each time, a record to delete.
    """
    shown = copy.deepcopy(document)
    shown["components"].get("securitySchemes", {}).pop("cookie", None)  # a page cannot set it
    for place in (shown, *(operation for _, _, operation in operations(shown))):
        if "security" in place:
            place["security"] = [each for each in place["security"] if "cookie" not in each]
    for parameter in parameters(shown):
        _tell_example(parameter, shown["components"]["schemas"])
        parameter.pop("allowEmptyValue", None)  # a checkbox under every field
    return shown


@cache
def guide_names() -> list[str]:
    """The files of the guides without their suffix, in alphabetical order; those of channels are in a folder."""
    found = (*guides_folder().glob("*.md"), *guides_folder().glob("channels/*.md"))
    return sorted(path.relative_to(guides_folder()).with_suffix("").as_posix() for path in found)


def render_guide(name: str) -> tuple[str, str]:
    """The title and the content of a guide as HTML; links to other guides lead to their pages. Of pictures, which are
    not installed, it has the description."""
    tokens = _parse(name)
    for token in tokens:
        for part in token.children or ():
            if part.type == "link_open":
                part.attrs["href"] = _page_of(name, str(part.attrs["href"]))
            elif part.type == "image":
                part.type, part.children = "text", None
    return html.escape(_title(tokens)), MARKDOWN.renderer.render(tokens, MARKDOWN.options, {})


def render_list() -> str:
    """The guides by their titles, for the end of the index."""
    items = (
        f'<li><a href="{name}">{html.escape(_title(_parse(name)))}</a></li>' for name in guide_names() if name != INDEX
    )
    return f"<h2>All guides</h2>\n<ul>\n{chr(10).join(items)}\n</ul>"


def _guide(title: str, content: str, name: str) -> PlainResponse:
    top = "../" * (1 + name.count("/"))
    texts = {"title": title, "navigation": navigation("guides", top), "content": content}
    return _html_page("guide.html", f"{top}api/v2/docs/", texts)


def _html_page(template: str, assets: str, texts: Mapping[str, str]) -> PlainResponse:
    text = (OWN_FILES / template).read_text(encoding="utf-8")
    addresses = {name: f"{assets}{name}?v={asset_version(name)}" for name in ASSETS}
    for name, value in (addresses | dict(texts)).items():
        text = text.replace("{" + name + "}", value)
    return _revalidated(text.encode(), HTML_TYPE, PAGE_HEADERS)


def _json_page(document: Document) -> PlainResponse:
    return _revalidated(orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS), JSON_TYPE)


def _revalidated(body: bytes, media_type: str, headers: Mapping[str, str] | None = None) -> PlainResponse:
    """A page that caches may store but must revalidate before use."""
    return PlainResponse(body, media_type, headers={"Cache-Control": "no-cache", **(headers or {})})


def _tag(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()[:TAG_LENGTH]


def _tagged(make: Callable[[], PlainResponse]) -> tuple[PlainResponse, PlainResponse]:
    """A page as it is, and compressed if it is worth it."""
    page = make()
    plain = replace(page, headers={**page.headers, "ETag": f'"{_tag(page.body)}"', "Vary": "Accept-Encoding"})
    if len(page.body) < LEAST_BYTES or page.media_type.startswith("image/"):
        return plain, plain
    body = gzip.compress(page.body, BEST, mtime=0)
    return plain, replace(plain, body=body, headers={**plain.headers, "Content-Encoding": "gzip"})


def _as_versioned(scope: Scope, page: PlainResponse) -> PlainResponse:
    """Caches need not revalidate a file whose URL contains a hash of its content."""
    asked = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("v")
    if page.status == 200 and asked and page.headers["ETag"] == f'"{asked[-1]}"':
        return replace(page, headers={**page.headers, "Cache-Control": VERSIONED})
    return page


def _redirect(target: str) -> PlainResponse:
    """A redirect to a relative URL, which also works behind a proxy that serves us under a path prefix."""
    return PlainResponse(b"", "", 307, {"Location": target})


def _unless_known(scope: Scope, page: PlainResponse) -> PlainResponse:
    """304 without body when the client already has this version of the page."""
    asked = (header(scope, b"if-none-match") or b"").decode("latin-1")
    known = {tag.strip().removeprefix("W/") for tag in asked.split(",")}
    if page.status == 200 and (page.headers["ETag"] in known or "*" in known):
        kept = {name: value for name, value in page.headers.items() if name in ("ETag", "Cache-Control", "Vary")}
        return PlainResponse(b"", "", 304, kept)
    return page


def _tell_example(parameter: dict[str, Any], schemas: dict[str, Any]) -> None:
    schema = _without_example(parameter["schema"], schemas)
    example = parameter.pop("example", None)
    parameter["schema"] = schema
    if example is not None:
        parameter["description"] = f"{parameter['description']} Example: `{_as_typed(example)}`."


def _without_example(schema: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    """A copy of the schema, because bodies share named schemas and keep their examples. Of several forms the copy has
    the first: the explorer offers a choice for Booleans and enums, but not for alternatives.
    """
    while "$ref" in schema or "anyOf" in schema:
        schema = schema["anyOf"][0] if "anyOf" in schema else schemas[schema["$ref"].rpartition("/")[2]]
    own = {key: value for key, value in schema.items() if key not in ("example", "default")}
    if "items" in own:
        own["items"] = _without_example(own["items"], schemas)
    return own


def _as_typed(example: object) -> str:
    """An example as a person would type it."""
    if isinstance(example, list):
        return ", ".join(_as_typed(item) for item in example)
    return example if isinstance(example, str) else orjson.dumps(example).decode()


def _parse(name: str) -> list[Token]:
    text = (guides_folder() / f"{name}.md").read_text(encoding="utf-8")
    return MARKDOWN.parse(COMMENT.sub("", text))


def _title(tokens: list[Token]) -> str:
    return next(after.content for token, after in pairwise(tokens) if token.tag == "h1")


def _page_of(name: str, target: str) -> str:
    """Where a link of a guide leads: to the page of another guide, named from the place of this one."""
    found = GUIDE_LINK.match(target)
    if found is None or normpath(join(dirname(name), found[1])) not in guide_names():
        return target
    return found[1] + (found[2] or "")
