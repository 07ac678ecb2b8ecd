"""`relayboard boundaries import|alias`."""

from persistence.boundaries import add_alias, read_aliases, read_features, remove_alias, store_boundaries
from relayboard.commands.output import opened_database, print_json, writing_in
from relayboard.commands.progress import show_progress
from relayboard.usage.parts import Options


def run_import(options: Options) -> None:
    from relayboard.flow_tools.files import read_document  # it loads all of flows

    found = read_features(read_document(options.file), options.country)
    with opened_database() as database, database.writing() as tx, show_progress("Storing boundaries"):
        stored = store_boundaries(tx, found)
    print_json({"imported": stored})


def run_alias(options: Options) -> None:
    with writing_in(options) as (tx, workspace):
        change = remove_alias if options.remove else add_alias
        change(tx, workspace, options.boundary, options.name)
        aliases = read_aliases(tx, workspace, options.boundary)
    print_json({"osm_id": options.boundary, "aliases": aliases})
