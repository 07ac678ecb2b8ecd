"""The served contract and its explorer."""

import gzip
import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path
from urllib.parse import urljoin

import pytest
import yaml
from openapi_spec_validator import validate

from handlers.asgi.console import Console
from handlers.asgi.explorer import ASSETS, INDEX, OWN_FILES, VENDORED_FILES, Explorer, guide_names
from openapi.bundle import YAML_LOADER, operations, published
from openapi.table import follow
from relayboard.base.settings import Settings, load_settings
from tests.handlers.exchange import Echo, exchange

GENERATIONS = ("v1", "v2")
ADDRESS = re.compile(r'(?:href|src)="([^"]+)"')


@pytest.fixture(scope="module")
def settings() -> Settings:
    return load_settings({"RELAYBOARD_SECRET_KEY": "a-key-that-only-tests-use"})


@pytest.fixture(scope="module")
def explorer(settings: Settings) -> Console:
    """With the page at the root, to which the other pages lead. It keeps what it has made of a document."""
    return Console(Explorer(Echo(status=404), settings))


@pytest.mark.parametrize("generation", GENERATIONS)
class TestDocuments:
    def test_the_json_document_is_the_published_contract(self, explorer, generation):
        reply = exchange(explorer, "GET", f"/api/{generation}/openapi.json")

        assert reply.headers["content-type"] == "application/json"
        assert reply.json == published(generation)

    def test_the_yaml_document_is_the_same_one_without_anchors(self, explorer, generation):
        reply = exchange(explorer, "GET", f"/api/{generation}/openapi.yaml")

        assert reply.headers["content-type"] == "application/yaml"
        assert yaml.load(reply.body, Loader=YAML_LOADER) == published(generation)
        assert b": &id" not in reply.body

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


@pytest.mark.parametrize("generation", GENERATIONS)
class TestPage:
    def test_the_page_and_everything_it_names_is_served_from_here(self, explorer, generation):
        page = exchange(explorer, "GET", f"/api/{generation}/docs")

        assert page.status == 200
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        named = addresses(page.body.decode(), f"/api/{generation}/")
        assert {f"/api/{generation}/docs/{name}" for name in ASSETS} < {address.partition("?")[0] for address in named}
        for address in named:
            reply = exchange(explorer, "GET", address)
            assert reply.status == 200 and reply.body, address

    def test_files_named_by_their_content_are_kept_for_good(self, explorer, generation):
        page = exchange(explorer, "GET", f"/api/{generation}/docs")
        files = [address for address in addresses(page.body.decode(), f"/api/{generation}/") if "?v=" in address]

        assert len(files) == len(ASSETS)
        for address in files:
            kept = exchange(explorer, "GET", address)
            asked_about = exchange(explorer, "GET", address + "0")
            assert "immutable" in kept.headers["cache-control"]
            assert asked_about.headers["cache-control"] == "no-cache"
            assert kept.headers["x-content-type-options"] == "nosniff"

    def test_the_explorer_fills_in_no_parameter(self, explorer, generation):
        shown = exchange(explorer, "GET", f"/api/{generation}/docs/openapi.json").json

        validate(shown)
        for _, _, operation in operations(shown):
            for part in operation.get("parameters", ()):
                parameter = follow(part, shown)
                assert "example" not in parameter and "allowEmptyValue" not in parameter
                assert not {"example", "default", "anyOf", "$ref"} & set(parameter["schema"]), parameter
                assert "Example: `" in parameter["description"]

    def test_the_explorer_offers_the_same_operations_and_bodies(self, explorer, generation):
        shown = exchange(explorer, "GET", f"/api/{generation}/docs/openapi.json").json
        contract = exchange(explorer, "GET", f"/api/{generation}/openapi.json").json

        assert shown["components"]["schemas"] == contract["components"]["schemas"]
        pairs = zip(operations(shown), operations(contract), strict=True)
        assert all(one[2].get("requestBody") == other[2].get("requestBody") for one, other in pairs)

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


def test_our_own_pages_hold_no_inline_script_or_style_and_no_foreign_address():
    for path in OWN_FILES.iterdir():
        text = path.read_text()
        assert "//" not in text.replace("// ", "") and "style=" not in text, path
        assert text.count("<script") == text.count("<script src=")


def test_the_vendored_files_are_those_of_the_release():
    manifest = json.loads((VENDORED_FILES / "manifest.json").read_text())

    assert (manifest["package"], manifest["version"].split(".")[0]) == ("swagger-ui-dist", "5")
    assert set(manifest["files"]) == {path.name for path in VENDORED_FILES.iterdir()} - {"manifest.json"}
    for name, checksum in manifest["files"].items():
        assert hashlib.sha256((VENDORED_FILES / name).read_bytes()).hexdigest() == checksum, name


@pytest.mark.together
@pytest.mark.parametrize("generation", ["v1", "v2"])
@pytest.mark.parametrize("end", ["", "/"])
def test_the_root_of_a_generation_leads_to_its_explorer(explorer, generation, end):
    path = f"/api/{generation}{end}"

    reply = exchange(explorer, "GET", path)

    assert reply.status == 307
    assert urljoin(path, reply.headers["location"]) == f"/api/{generation}/docs"


@pytest.mark.together
@pytest.mark.parametrize(
    "path", ["/api/v2/openapi.json", "/api/v1/openapi.yaml", "/api/v2/docs/swagger-ui-bundle.js", "/guides/webhooks"]
)
def test_what_is_large_is_compressed_for_those_who_accept_it(explorer, path):
    plain = exchange(explorer, "GET", path, headers=[("Accept-Encoding", "identity")])
    packed = exchange(explorer, "GET", path, headers=[("Accept-Encoding", "gzip, br")])

    assert ("content-encoding" in plain.headers, packed.headers["content-encoding"]) == (False, "gzip")
    assert gzip.decompress(packed.body) == plain.body and len(packed.body) < len(plain.body) / 2
    assert plain.headers["vary"] == packed.headers["vary"] == "Accept-Encoding"
    known = [("Accept-Encoding", "gzip"), ("If-None-Match", packed.headers["etag"])]
    assert exchange(explorer, "GET", path, headers=known).status == 304


@pytest.mark.parametrize(("generation", "root"), [("relay", "/relayers/relayer"), ("chat", "/chat")])
def test_the_contracts_of_phones_and_visitors_are_served_too(explorer, generation, root):
    reply = exchange(explorer, "GET", f"{root}/openapi.json")

    assert (reply.status, reply.json) == (200, published(generation))


class TestGuides:
    def test_each_guide_is_a_page_whose_links_lead_somewhere(self, explorer):
        for name in ("", *guide_names()):
            page = exchange(explorer, "GET", f"/guides/{name}")
            assert page.status == 200 and "default-src 'none'" in page.headers["content-security-policy"]
            for address in addresses(page.body.decode(), f"/guides/{name}"):
                assert exchange(explorer, "GET", address).status == 200, f"{name}: {address}"

    def test_every_file_of_the_documentation_is_listed(self, explorer):
        files = (Path(__file__).parents[3] / "docs").glob("*.md")
        listed = addresses(exchange(explorer, "GET", "/guides/").body.decode(), "/guides/")

        assert {f"/guides/{path.stem}" for path in files if path.stem != INDEX} < set(listed)

    def test_notes_for_writers_are_not_shown(self, explorer):
        shown = [exchange(explorer, "GET", f"/guides/{name}").body.decode() for name in guide_names()]

        assert not [text for text in shown if "&lt;!--" in text or "not run:" in text]

    def test_tables_and_code_are_set_as_such(self, explorer):
        text = exchange(explorer, "GET", "/guides/webhooks").body.decode()

        assert "<table>" in text and "<pre><code>" in text and "<title>Webhooks - Relayboard</title>" in text

    def test_they_open_on_their_index(self, explorer):
        text = exchange(explorer, "GET", "/guides/").body.decode()

        assert "<title>Relayboard" in text and 'href="first-hour"' in text and "All guides" in text

    def test_the_example_that_guides_import_is_served(self, explorer):
        page = exchange(explorer, "GET", "/guides/clinic.json")

        assert (page.status, [each["name"] for each in page.json["flows"]]) == (200, ["Registration"])

    def test_an_unknown_guide_is_not_found(self, explorer):
        assert exchange(explorer, "GET", "/guides/../LICENSE").status == 404


def addresses(text: str, base: str) -> list[str]:
    """The addresses on this service that a page names, without their marks inside a page."""
    found = [urljoin(base, address).partition("#")[0] for address in ADDRESS.findall(text)]
    return [address for address in found if address.startswith("/")]


@pytest.mark.together
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
