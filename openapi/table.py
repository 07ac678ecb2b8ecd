"""All operations of the contract as one page of tables: `python -m openapi.table > docs/operations.md`."""

import sys
from collections.abc import Iterator, Mapping
from typing import Any

from openapi.bundle import GENERATIONS, Document, bundle, operations

HEADING = """# Operations

All operations of the service, generated from the contract by `python -m openapi.table > docs/operations.md`. Parameters
in bold are required; `*` marks those that may be repeated or hold several values separated by commas. The area is what
a token that is limited to areas needs (several: all of them). Operations of `open` and `each` are for every token;
an `each` one shows and changes only the records of its areas ([Areas of tokens](accounts.md#areas-of-tokens)).
"""
COLUMNS = "| Operation | What it does | Parameters | Statuses | Roles | Area |\n|---|---|---|---|---|---|\n"


def render_page() -> str:
    """The whole page in Markdown, one section and table per generation."""
    return HEADING + "".join(_render_generation(bundle(generation)) for generation in GENERATIONS)


def _render_generation(document: Document) -> str:
    base = document["servers"][0]["url"]
    rows = "".join(
        _render_row(f"{method.upper()} {base}{path}".replace("//", "/"), operation, document)
        for path, method, operation in operations(document)
    )
    return f"\n## {document['info']['title']}\n\n{COLUMNS}{rows}"


def _render_row(name: str, operation: Mapping[str, Any], document: Document) -> str:
    cells = (
        f"`{name}`",
        operation["summary"],
        ", ".join(_parameter_names(operation, document)) or "none",
        " ".join(sorted(operation["responses"])),
        ", ".join(operation.get("x-roles", ())) or "everybody",
        ", ".join((operation.get("x-area", "none"), *operation.get("x-shows", ()))),
    )
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |\n"


def _parameter_names(operation: Mapping[str, Any], document: Document) -> Iterator[str]:
    for part in operation.get("parameters", ()):
        parameter = follow(part, document)
        if parameter["in"] == "header":
            continue
        name = f"**`{parameter['name']}`**" if parameter.get("required") else f"`{parameter['name']}`"
        yield f"{name}\\*" if follow(parameter["schema"], document).get("type") == "array" else name


def follow(part: Mapping[str, Any], document: Document) -> dict[str, Any]:
    """A part of a bundled document, with its reference to a component resolved."""
    while "$ref" in part:
        _, _, section, name = part["$ref"].split("/")
        part = document["components"][section][name]
    return dict(part)


if __name__ == "__main__":
    sys.stdout.write(render_page())
