"""A channel may move to another workspace, so no query joins it to records by its id alone."""

import ast
import re
from pathlib import Path

import persistence
import relayboard
import worker
from tests.each_case import holds_for_each

SOURCES = sorted(
    path for package in (persistence, relayboard, worker) for path in Path(package.__path__[0]).glob("**/*.py")
)


COLUMN = re.compile(r"(\.c|^_?rows|^columns|^left)\.channel_id$")
"""How a record's column is written, unlike a value that was looked up before."""


def joins_of_channels(tree: ast.AST) -> list[ast.AST]:
    """The smallest statements or calls that compare a channel's id with the one that a record names."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.Call, ast.Assign)):
            names = {ast.unparse(each) for each in ast.walk(node) if isinstance(each, ast.Compare)}
            if any(is_join(name) for name in names):
                found.append(node)
    return [node for node in found if not any(other is not node and other in ast.walk(node) for other in found)]


def is_join(comparison: str) -> bool:
    sides = comparison.split(" == ")
    return any(side == "channel.c.id" for side in sides) and any(COLUMN.search(side) for side in sides)


def is_walled(node: ast.AST) -> bool:
    return ".workspace_id" in ast.unparse(node)


@holds_for_each(SOURCES)
def test_a_channel_is_joined_by_its_workspace_too(path: Path) -> None:
    source = path.read_text()
    if "channel.c.id" not in source:  # as in most files
        return
    without = [ast.unparse(node) for node in joins_of_channels(ast.parse(source)) if not is_walled(node)]

    assert without == []


def test_a_join_by_the_id_alone_is_found() -> None:
    source = "x = select(message).join(channel, channel.c.id == message.c.channel_id)"

    (join,) = joins_of_channels(ast.parse(source))
    assert not is_walled(join)
