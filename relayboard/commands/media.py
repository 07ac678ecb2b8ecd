"""`relayboard media list|delete`."""

from persistence.media.store import delete_media, list_media, open_store, read_usage
from relayboard.base.settings import load_settings
from relayboard.commands.output import CommandFailed, opened_database, print_json, workspace_named
from relayboard.usage.parts import Options


def run_list(options: Options) -> None:
    settings = load_settings()
    with opened_database(settings) as database, database.reading() as tx:
        workspace = workspace_named(tx, options.workspace)
        files, used_bytes = list_media(tx, workspace.id), read_usage(tx, workspace.id)
    print_json({"used_bytes": used_bytes, "quota_bytes": settings.media_quota_bytes, "media": files})


def run_delete(options: Options) -> None:
    settings = load_settings()
    store = open_store(settings)
    with opened_database(settings) as database, database.writing() as tx:
        workspace = workspace_named(tx, options.workspace)
        places = {uuid: delete_media(tx, workspace.id, uuid) for uuid in options.media}
        for uuid, place in places.items():
            if place is None:
                raise CommandFailed(f"this workspace has no file {uuid}")
        # Before the commit: a crash in between leaves a row, which can be deleted again.
        for place in places.values():
            store.remove(str(place))
    print_json({"deleted": list(places)})
