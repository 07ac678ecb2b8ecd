"""The contract, served as documents, and a page to try it out in the browser without any other server."""

import hashlib
from collections.abc import Callable, MutableMapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import anyio.to_thread
import orjson
import yaml
from swagger_ui_bundle import swagger_ui_path

from handlers.pages import JSON_TYPE, Page, header, wrong_method
from openapi.bundle import Document, published
from relayboard.settings import Settings

GENERATIONS = ("v1", "v2")
YAML_TYPE = "application/yaml"
SCRIPT_TYPE = "text/javascript; charset=utf-8"
STYLE_TYPE = "text/css; charset=utf-8"
STATIC_FILES = {
    "swagger-ui.css": STYLE_TYPE,
    "swagger-ui-bundle.js": SCRIPT_TYPE,
    "favicon-32x32.png": "image/png",
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
HTML = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Relayboard API {generation}</title>
<link rel="stylesheet" href="docs/swagger-ui.css">
<link rel="stylesheet" href="docs/explorer.css">
<link rel="icon" type="image/png" href="docs/favicon-32x32.png">
</head>
<body>
<noscript>This page needs JavaScript; <a href="openapi.json">the contract itself</a> does not.</noscript>
<div id="explorer"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/explorer.js"></script>
</body>
</html>
"""
CSS = "body { margin: 0; }\n"
JAVASCRIPT = """"use strict";
// "Authorize" takes the bare token; the scheme word is added here.
const withScheme = (request) => {
  const given = request.headers && request.headers.Authorization;
  if (given && !/^\\s*token\\s/i.test(given)) {
    request.headers.Authorization = "Token " + given.trim();
  }
  return request;
};
window.ui = SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#explorer",
  deepLinking: true,
  displayRequestDuration: true,
  docExpansion: "none",
  filter: true,
  layout: "BaseLayout",
  presets: [SwaggerUIBundle.presets.apis],
  requestInterceptor: withScheme,
  syntaxHighlight: { activate: true, theme: "agate" },
  validatorUrl: null
});
"""


class Explorer:
    """ASGI layer with `/api/{v1,v2}/openapi.json`, `openapi.yaml` and `docs`; everything else goes inside.

    The root leads to the explorer of the newer generation, for people who open the address in a browser.
    The documents are the bundled contract without service keys; with the setting BASE_URL their server is absolute.
    """

    def __init__(self, app: Any, settings: Settings) -> None:
        self.app = app
        self.base_url = settings.base_url
        self._makers = self._routes()
        self._pages: dict[str, Page] = {}

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["path"] not in self._makers:
            await self.app(scope, receive, send)
            return
        path = scope["path"]
        if path not in self._pages:  # a third of a second for a document: other requests need not wait
            self._pages[path] = await anyio.to_thread.run_sync(_tagged, self._makers[path])
        page = wrong_method(scope) or _unless_known(scope, self._pages[path])
        await page.send(send)

    def _routes(self) -> dict[str, Callable[[], Page]]:
        routes: dict[str, Callable[[], Page]] = {"/": partial(_redirect, "api/v2/docs")}
        for generation in GENERATIONS:
            root = f"/api/{generation}"
            routes[f"{root}/openapi.json"] = partial(json_document, generation, self.base_url)
            routes[f"{root}/openapi.yaml"] = partial(yaml_document, generation, self.base_url)
            routes[f"{root}/docs"] = partial(explorer_page, generation)
            routes[f"{root}/docs/"] = partial(_redirect, "../docs")
            routes |= {f"{root}/docs/{name}": partial(static_page, name) for name in STATIC_FILES}
            routes[f"{root}/docs/explorer.js"] = partial(_asset, JAVASCRIPT.encode(), SCRIPT_TYPE)
            routes[f"{root}/docs/explorer.css"] = partial(_asset, CSS.encode(), STYLE_TYPE)
        return routes


@cache
def served_document(generation: str, base_url: str) -> Document:
    """The published contract; a base URL makes the address of its server absolute."""
    document = published(generation)
    if base_url:
        for server in document["servers"]:
            server["url"] = base_url.rstrip("/") + server["url"]
    return document


def json_document(generation: str, base_url: str) -> Page:
    body = orjson.dumps(served_document(generation, base_url), option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS)
    return _revalidated(body, JSON_TYPE)


def yaml_document(generation: str, base_url: str) -> Page:
    text = yaml.safe_dump(served_document(generation, base_url), sort_keys=False, allow_unicode=True, width=120)
    return _revalidated(text.encode(), YAML_TYPE)


def explorer_page(generation: str) -> Page:
    return _revalidated(HTML.format(generation=generation).encode(), "text/html; charset=utf-8", PAGE_HEADERS)


def static_page(name: str) -> Page:
    """One of the listed files of the user interface package; other names have no route, so no path can leave it."""
    return _asset(Path(str(swagger_ui_path / name)).read_bytes(), STATIC_FILES[name])


def _tagged(make: Callable[[], Page]) -> Page:
    page = make()
    tag = hashlib.sha256(page.body).hexdigest()[:32]
    return replace(page, headers={**page.headers, "ETag": f'"{tag}"'})


def _asset(body: bytes, media_type: str) -> Page:
    return Page(
        body, media_type, headers={"Cache-Control": "public, max-age=3600", "X-Content-Type-Options": "nosniff"}
    )


def _revalidated(body: bytes, media_type: str, headers: dict[str, str] | None = None) -> Page:
    """A page that caches keep but ask about before they use it."""
    return Page(body, media_type, headers={"Cache-Control": "no-cache", **(headers or {})})


def _redirect(target: str) -> Page:
    """To a relative address, which also holds behind a proxy that serves us under a path of its own."""
    return Page(b"", "", 307, {"Location": target})


def _unless_known(scope: MutableMapping[str, Any], page: Page) -> Page:
    """304 without body when the client already has this version of the page."""
    asked = (header(scope, b"if-none-match") or b"").decode("latin-1")
    known = {tag.strip().removeprefix("W/") for tag in asked.split(",")}
    if page.status == 200 and (page.headers["ETag"] in known or "*" in known):
        kept = {name: value for name, value in page.headers.items() if name in ("ETag", "Cache-Control")}
        return Page(b"", "", 304, kept)
    return page
