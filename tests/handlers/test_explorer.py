"""The served contract and its explorer."""

from dataclasses import replace
from typing import Any

import pytest
import yaml
from openapi_spec_validator import validate

from handlers.explorer import CSS, HTML, JAVASCRIPT, Explorer
from openapi.bundle import published
from relayboard.settings import Settings, load_settings
from tests.handlers.exchange import Echo, exchange

GENERATIONS = ("v1", "v2")
FILES = ("swagger-ui.css", "swagger-ui-bundle.js", "favicon-32x32.png", "explorer.js", "explorer.css")


@pytest.fixture
def settings() -> Settings:
    return load_settings({"RELAYBOARD_SECRET_KEY": "a-key-that-only-tests-use"})


@pytest.fixture
def explorer(settings: Settings) -> Explorer:
    return Explorer(Echo(status=404), settings)


@pytest.mark.parametrize("generation", GENERATIONS)
class TestDocuments:
    def test_the_json_document_is_the_published_contract_and_valid(self, explorer, generation):
        reply = exchange(explorer, "GET", f"/api/{generation}/openapi.json")

        assert reply.headers["content-type"] == "application/json"
        assert reply.json == published(generation)
        validate(reply.json)

    def test_the_yaml_document_is_the_same_one_without_anchors(self, explorer, generation):
        reply = exchange(explorer, "GET", f"/api/{generation}/openapi.yaml")

        assert reply.headers["content-type"] == "application/yaml"
        assert yaml.safe_load(reply.body) == published(generation)
        assert b": &id" not in reply.body

    def test_no_service_key_is_published(self, explorer, generation):
        reply = exchange(explorer, "GET", f"/api/{generation}/openapi.json")

        assert not [key for key in keys_of(reply.json) if key.startswith("x-")]

    def test_the_server_is_relative_unless_the_service_knows_its_address(self, settings, generation):
        def servers(base_url: str) -> list[str]:
            app = Explorer(Echo(), replace(settings, base_url=base_url))
            return [server["url"] for server in exchange(app, "GET", f"/api/{generation}/openapi.json").json["servers"]]

        assert servers("") == [f"/api/{generation}"]
        assert servers("https://example.org/sms/") == [f"https://example.org/sms/api/{generation}"]

    def test_a_client_that_has_the_document_gets_a_304(self, explorer, generation):
        path = f"/api/{generation}/openapi.json"
        tag = exchange(explorer, "GET", path).headers["etag"]

        for known in (tag, f'"old", W/{tag}', "*"):
            reply = exchange(explorer, "GET", path, headers=[("If-None-Match", known)])
            assert (reply.status, reply.body, reply.headers["etag"]) == (304, b"", tag)
        assert exchange(explorer, "GET", path, headers=[("If-None-Match", '"old"')]).status == 200


def keys_of(node: Any) -> list[str]:
    """All keys of schema and operation objects; names of headers, properties and examples are data."""
    if isinstance(node, list):
        return [key for item in node for key in keys_of(item)]
    if not isinstance(node, dict):
        return []
    inner = [key for name, value in node.items() if name not in ("headers", "example") for key in keys_of(value)]
    return [*node, *inner]


@pytest.mark.parametrize("generation", GENERATIONS)
class TestPage:
    def test_the_page_and_all_files_it_names_are_served_from_here(self, explorer, generation):
        page = exchange(explorer, "GET", f"/api/{generation}/docs")

        assert page.status == 200
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        for name in FILES:
            assert name == "explorer.js" or f"docs/{name}" in page.body.decode()
            reply = exchange(explorer, "GET", f"/api/{generation}/docs/{name}")
            assert reply.status == 200 and reply.body and reply.headers["x-content-type-options"] == "nosniff"

    def test_the_browser_may_load_and_call_nothing_but_this_server(self, explorer, generation):
        policy = exchange(explorer, "GET", f"/api/{generation}/docs").headers["content-security-policy"]

        rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
        assert rules["default-src"] == "'none'"
        assert rules["script-src"] == rules["connect-src"] == rules["style-src"] == "'self'"
        assert "unsafe" not in policy and "http" not in policy

    def test_a_final_slash_leads_to_the_page(self, explorer, generation):
        reply = exchange(explorer, "GET", f"/api/{generation}/docs/")

        assert (reply.status, reply.headers["location"]) == (307, "../docs")

    def test_pages_can_only_be_read(self, explorer, generation):
        reply = exchange(explorer, "POST", f"/api/{generation}/docs")

        assert (reply.status, reply.headers["allow"]) == (405, "GET, HEAD")
        assert list(reply.json) == ["detail"]


def test_the_root_leads_people_to_the_explorer(explorer):
    reply = exchange(explorer, "GET", "/")

    assert (reply.status, reply.headers["location"]) == (307, "api/v2/docs")


def test_our_own_page_holds_no_inline_script_or_style_and_no_foreign_address():
    for text in (HTML, CSS, JAVASCRIPT):
        assert "//" not in text.replace("// ", "") and "style=" not in text
    assert HTML.count("<script") == HTML.count("<script src=")


@pytest.mark.parametrize(
    "path",
    [
        "/api/v2/docs/../../../etc/passwd",
        "/api/v2/docs/..%2f__init__.py",
        "/api/v2/docs/swagger-ui.css/",
        "/api/v2/docs/index.html",
        "/api/v2/docs/swagger-ui-bundle.js.map",
        "/api/v3/openapi.json",
        "/api/v2/labels.json",
    ],
)
def test_nothing_else_is_served(explorer, path):
    assert exchange(explorer, "GET", path).status == 404
