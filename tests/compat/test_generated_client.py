"""A client generated from the served contract: it comes without a warning, reads well, and works."""

import importlib
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import Any
from uuid import UUID

import pytest
import requests

from openapi.bundle import HTTP_METHODS
from testbed.patience import PATIENCE_SECONDS
from testbed.running import RunningService, wait_until
from tests.channel_rows import add_channel
from tests.compat.conftest import Tenant
from tests.thinned import EVERY_CASE

PACKAGE = "relayboard_client"
UNKNOWN = UUID("0f9e8d7c-6b5a-4c3d-8e2f-1a0b9c8d7e6f")


def generate(document: dict[str, Any], folder: Path) -> Path:
    """A client package generated from a document; any warning fails."""
    (folder / "openapi.json").write_text(json.dumps(document))
    (folder / "config.json").write_text(json.dumps({"post_hooks": []}))
    command = [sys.executable, "-m", "openapi_python_client", "generate", "--meta", "none", "--fail-on-warning"]
    files = ["--path", "openapi.json", "--config", "config.json", "--output-path", PACKAGE]
    ran = subprocess.run([*command, *files], cwd=folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return folder / PACKAGE


@dataclass(frozen=True, slots=True)
class Made:
    """The document of a generation as the service gives it out, and the client that is made of it."""

    document: dict[str, Any]
    package: Path


@pytest.fixture(scope="module")
def make(service: RunningService, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Made]:
    """Makes the client of a generation once."""

    @cache
    def make_once(generation: str) -> Made:
        url = f"{service.url}/api/{generation}/openapi.json"
        document = requests.get(url, timeout=PATIENCE_SECONDS).json()
        return Made(document, generate(document, tmp_path_factory.mktemp("generated")))

    return make_once


@pytest.fixture(scope="module")
def package(make: Callable[[str], Made]) -> Iterator[ModuleType]:
    """The client of generation 2."""
    folder = str(make("v2").package.parent)
    sys.path.insert(0, folder)
    yield importlib.import_module(PACKAGE)
    sys.path.remove(folder)


# Making a client takes seconds, and generation 1 gets no new names (tests/contract/test_compatibility.py).
@pytest.fixture(scope="module", params=["v1", "v2"] if EVERY_CASE else ["v2"])
def made(request: pytest.FixtureRequest, make: Callable[[str], Made]) -> Made:
    """The client of each generation, to be read."""
    return make(request.param)


@pytest.fixture
def call(package: ModuleType, tenant: Tenant) -> Callable[..., Any]:
    """Calls an operation: `call("contacts.write_contact", body=...)` gives the status and the parsed answer."""
    client = package.AuthenticatedClient(base_url=f"{tenant.url}/api/v2", token=tenant.token, prefix="Token")

    def make(operation: str, **arguments: Any) -> tuple[int, Any]:
        response = importlib.import_module(f"{PACKAGE}.api.{operation}").sync_detailed(client=client, **arguments)
        return int(response.status_code), response.parsed

    return make


@pytest.fixture
def models(package: ModuleType) -> ModuleType:
    return importlib.import_module(f"{package.__name__}.models")


class TestNames:
    def test_every_operation_is_a_module_named_by_a_verb_and_a_resource(self, made: Made) -> None:
        modules = {path.stem for path in made.package.glob("api/*/*.py")} - {"__init__"}
        operations = [
            item[method] for item in made.document["paths"].values() for method in HTTP_METHODS if method in item
        ]
        assert modules == {operation["operationId"] for operation in operations}
        verbs = (
            "act|answer|attend|change|check|claim|create|delete|find|follow|list|merge|preview|read|release|renumber|rotate|run"
            "|send|start|upload|upsert|write"
        )
        assert [name for name in modules if not re.fullmatch(rf"({verbs})(_[a-z]+)+", name)] == []

    def test_models_and_their_constants_have_names_of_words(self, made: Made) -> None:
        models = [path.stem for path in made.package.glob("models/*.py") if path.stem != "__init__"]
        assert [name for name in models if re.search(r"\d|_null|_type_\d|inline", name)] == []
        assert [name for name in models if len(name.split("_")) > 6] == []
        constants = re.findall(
            r"^    ([A-Z]\w*) = ", "".join(path.read_text() for path in made.package.glob("models/*.py")), re.M
        )
        assert constants
        words = set(constants) - {"ED25519", "UCS2"}  # names of a signature and of an alphabet
        encodings = {name for name in words if re.fullmatch(r"(BIG|CP|GB|ISO|KOI|UTF)(_?\d+)+(_[RU])?", name)}
        assert [name for name in words - encodings if re.search(r"VALUE_|\d", name)] == []

    def test_every_module_can_be_imported(self, package: ModuleType) -> None:
        folder = Path(str(package.__file__)).parent
        for path in folder.rglob("*.py"):
            name = ".".join(path.relative_to(folder.parent).with_suffix("").parts)
            assert importlib.import_module(name.removesuffix(".__init__"))


class TestScenario:
    def test_ten_operations_of_a_day(
        self, call: Callable[..., Any], models: ModuleType, package: ModuleType, tenant: Tenant
    ) -> None:
        add_channel(tenant.service.database, tenant.workspace)
        types = importlib.import_module(f"{package.__name__}.types")
        workspace = call("workspace.read_workspace")[1]
        field = call("fields.write_field", body=models.FieldWrite(name="Due Date", type_=models.FieldType.DATETIME))[1]
        group = call("groups.write_group", body=models.GroupWrite(name="Nurses"))[1]
        values = models.FieldValues.from_dict({field.key: "2026-03-02"})
        body = models.ContactWrite(name="Amina", urns=["tel:+250788000111"], groups=["Nurses"], fields=values)
        status, contact = call("contacts.write_contact", body=body)
        form = models.MediaUpload(types.File(BytesIO(b"\x89PNG\r\n\x1a\n"), "leaf.png", "image/png"))
        media = call("media.upload_media", body=form)[1]
        reply = models.QuickReplyWrite(text="OK")
        body = models.MessageWrite(str(contact.uuid), text="Hi", attachments=[str(media.uuid)], quick_replies=[reply])
        message = call("messages.create_message", body=body)[1]
        text = models.BroadcastWriteTextByLanguage.from_dict({"eng": "Hi @contact"})
        broadcast = call("broadcasts.create_broadcast", body=models.BroadcastWrite(text=text, groups=["Nurses"]))[1]
        body = models.ContactAction(contacts=[str(contact.uuid)], action=models.ContactActionName.BLOCK)
        blocking = call("contact_actions.act_on_contacts", body=body)[0]
        members = call("contacts.list_contacts", group="Nurses")[1]
        deletion = call("groups.delete_group", uuid=group.uuid)[0]

        assert (workspace.name, workspace.date_style) == ("Riverside Health", models.DateStyle.DAY_FIRST)
        assert (field.key, group.count, status, contact.name) == ("due_date", 0, 201, "Amina")
        assert (contact.groups[0].name, contact.flow) == ("Nurses", None)
        assert (message.status, message.contact.uuid) == (models.MessageStatus.QUEUED, contact.uuid)
        assert (message.attachments[0].url, message.quick_replies[0].text) == (media.url, "OK")
        assert (broadcast.text["eng"], broadcast.status) == ("Hi @contact", models.BroadcastStatus.PENDING)
        assert (blocking, members.results, deletion) == (204, [], 204)

    def test_pages_are_followed_by_their_cursors(self, call: Callable[..., Any], models: ModuleType) -> None:
        for number in range(6):
            call("labels.write_label", body=models.LabelWrite(name=f"Label {number}"))
        first = call("labels.list_labels")[1]

        rest = call("labels.list_labels", cursor=first.next_.partition("cursor=")[2])[1]

        assert [one.name for one in first.results + rest.results] == [f"Label {number}" for number in range(5, -1, -1)]
        assert rest.next_ is None

    def test_problems_are_parsed_too(self, call: Callable[..., Any], models: ModuleType) -> None:
        missing = call("groups.delete_group", uuid=UNKNOWN)
        refused = call("contacts.write_contact", body=models.ContactWrite(urns=["tel:x"]))
        nested = call(
            "broadcasts.create_broadcast",
            body=models.BroadcastWrite("Hi", urns=["tel:+250788000111"], attachments=[str(UNKNOWN)]),
        )

        assert (missing[0], missing[1].detail) == (404, "No such record.")
        assert (refused[0], list(refused[1]["urns"].additional_properties)) == (400, ["0"])
        assert (nested[0], list(nested[1]["attachments"].additional_properties)) == (400, ["0"])

    def test_a_worker_does_what_was_asked(self, call: Callable[..., Any], models: ModuleType) -> None:
        body = models.BroadcastWrite("Hi", urns=["tel:+250788000111"])
        made = call("broadcasts.create_broadcast", body=body)[1]

        def is_completed() -> bool:
            found = call("broadcasts.list_broadcasts", uuid=made.uuid)[1].results
            return bool(found[0].status == models.BroadcastStatus.COMPLETED)

        wait_until(is_completed, "the broadcast")
