"""`relayboard boundaries import|alias`."""

import argparse
from pathlib import Path

import orjson

from persistence.boundaries.boundaries import add_alias, read_aliases, remove_alias
from persistence.boundaries.importing import read_features, store_boundaries
from relayboard.commands.output import CommandFailed, opened_database, print_json, writing_in
from relayboard.commands.parser import Commands, add_action, add_noun, workspace_action


def register(commands: Commands) -> None:
    actions = add_noun(commands, "boundaries", "countries, states, districts and wards")
    importing = add_action(actions, "import", run_import, "store the boundaries of a GeoJSON file, for all workspaces")
    importing.add_argument("file", type=Path, metavar="FILE", help="a GeoJSON file")
    importing.add_argument("--country", help="two-letter code of a country that has none in the file")
    alias = workspace_action(actions, "alias", run_alias, "another name of a boundary in a workspace")
    alias.add_argument("--boundary", required=True, metavar="OSM_ID", help="as the API names it, for example R171496")
    alias.add_argument("--name", required=True, help="the other name")
    alias.add_argument("--remove", action="store_true", help="remove the name")


def run_import(options: argparse.Namespace) -> None:
    try:
        document = orjson.loads(options.file.read_bytes())
    except OSError as error:
        raise CommandFailed(f"{options.file} cannot be read: {error.strerror}") from error
    except orjson.JSONDecodeError as error:
        raise CommandFailed(f"{options.file} is not JSON: {error}") from error
    found = read_features(document, options.country)
    with opened_database() as database, database.writing() as tx:
        stored = store_boundaries(tx, found)
    print_json({"imported": stored})


def run_alias(options: argparse.Namespace) -> None:
    with writing_in(options) as (tx, workspace):
        change = remove_alias if options.remove else add_alias
        change(tx, workspace, options.boundary, options.name)
        aliases = read_aliases(tx, workspace, options.boundary)
    print_json({"osm_id": options.boundary, "aliases": aliases})
