"""The served files of the console."""

import gzip
import hashlib
import json
import re
from typing import Any

import pytest

from handlers.asgi.console import FIRST, FOLDER, IMMUTABLE, Console, contents, imported, tree_version
from tests.handlers.exchange import Echo, exchange

IMPORT = re.compile(r'(?:from|import)\s*\(?\s*"(\.[^"]+)"')
COMMENT = re.compile(r"/\*\*.*?\*/", re.DOTALL)
ADDRESS = re.compile(r'(?:href|src)="(?:\{files\}/)?([^"]+)"')


@pytest.fixture
def app() -> Console:
    return Console(Echo(status=404))


def ask(app: Console, path: str, **headers: str) -> Any:
    return exchange(app, "GET", path, headers=list(headers.items()))


def test_the_page_names_files_of_the_present_version_that_all_exist(app):
    reply = ask(app, "/")

    named = re.findall(r'(?:href|src)="(console/[^"]+)"', reply.body.decode())
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    assert reply.headers["cache-control"] == "no-cache"
    assert len(named) > 5
    for name in named:
        assert name.startswith(f"console/{tree_version()}/")
        assert ask(app, f"/{name}").status == 200, name


def test_the_page_names_every_module_of_the_list_of_conversations_so_that_a_browser_asks_for_all_at_once(app):
    page = ask(app, "/").body.decode()

    named = re.findall(r'modulepreload" href="console/\w+/([^"]+)"', page)
    assert {"main.js", "inbox/page.js", "inbox/conversation_list.js", "vendor/preact.js", "shared/texts.js"} <= set(
        named
    )
    assert len(named) == len(set(named)) < len([name for name in contents() if name.endswith(".js")])
    assert {"settings/page.js", "inbox/reply.js"}.isdisjoint(named)


def test_a_file_of_the_present_version_is_kept_for_good_and_one_of_another_is_not(app):
    present = ask(app, f"/console/{tree_version()}/main.js")
    other = ask(app, "/console/0123456789abcdef/main.js")

    assert present.headers["content-type"] == "text/javascript; charset=utf-8"
    assert present.headers["cache-control"] == IMMUTABLE
    assert (other.body, other.headers["cache-control"]) == (present.body, "no-cache")


def test_a_browser_that_has_the_page_gets_a_304(app):
    tag = ask(app, "/").headers["etag"]

    assert ask(app, "/", **{"If-None-Match": tag}).status == 304
    assert ask(app, "/", **{"If-None-Match": '"old"'}).status == 200


def test_files_are_compressed_for_browsers_that_accept_it(app):
    path = f"/console/{tree_version()}/vendor/preact.js"

    packed = ask(app, path, **{"Accept-Encoding": "gzip, br"})

    assert packed.headers["content-encoding"] == "gzip"
    assert packed.headers["vary"] == "Accept-Encoding"
    assert gzip.decompress(packed.body) == ask(app, path).body == contents()["vendor/preact.js"]


def test_only_scripts_styles_of_our_own_run_and_nothing_is_asked_from_elsewhere(app):
    policy = ask(app, "/").headers["content-security-policy"]

    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == rules["frame-ancestors"] == rules["base-uri"] == "'none'"
    assert rules["script-src"] == rules["connect-src"] == rules["style-src"] == "'self'"
    assert "unsafe" not in policy and "http" not in policy


@pytest.mark.together
@pytest.mark.parametrize("path", ["/console/", "/console/x", "/console/x/../main.js", "/console/x/__init__.py"])
def test_nothing_else_of_the_folder_is_served(app, path):
    assert ask(app, path).status == 404


def test_the_page_can_only_be_read(app):
    reply = exchange(app, "POST", "/")

    assert (reply.status, reply.headers["allow"]) == (405, "GET, HEAD")


def test_every_import_and_link_of_the_console_leads_to_a_served_file():
    for name, body in contents().items():
        if name.endswith(".js"):
            for target in IMPORT.findall(COMMENT.sub("", body.decode())):
                path = (FOLDER / name).parent.joinpath(target).resolve().relative_to(FOLDER)
                assert path.as_posix() in contents(), f"{name} imports {target}"
    page = (FOLDER / "index.html").read_text()
    assert not [name for name in ADDRESS.findall(page) if name not in contents() and not name.startswith("api/")]


def test_no_module_of_ours_has_more_than_400_lines():
    long = {name for name, body in contents().items() if name.endswith(".js") and body.count(b"\n") > 400}

    assert {name for name in long if not name.startswith("vendor/")} == set()


def test_the_files_of_the_first_page_are_less_than_120_kilobytes_over_the_wire(app):
    page = ask(app, "/").body
    named = {name for name in contents() if f'/{name}"'.encode() in page}
    sizes = {name: len(gzip.compress(contents()[name], 9)) for name in contents()}
    texts = max(size for name, size in sizes.items() if name.startswith("messages/"))

    assert set(imported(*FIRST)) < named
    assert len(gzip.compress(page, 9)) + sum(sizes[name] for name in named) + texts < 120_000


def test_the_vendored_libraries_are_those_of_the_manifest():
    manifest = json.loads((FOLDER / "vendor" / "manifest.json").read_text())

    files = {name: checksum for package in manifest.values() for name, checksum in package["files"].items()}
    own = {path.name for path in (FOLDER / "vendor").iterdir() if not path.name.endswith((".d.ts", ".json"))}
    assert set(files) == own
    for name, checksum in files.items():
        assert hashlib.sha256((FOLDER / "vendor" / name).read_bytes()).hexdigest() == checksum, name
    assert all(package["version"] and package["license"] for package in manifest.values())
