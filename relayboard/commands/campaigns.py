"""`relayboard campaign list|archive`."""

import argparse
from typing import Any

import orjson

from persistence.campaigns.v2 import list_campaigns, read_campaign
from persistence.campaigns.writes import archive_campaign, find_campaign_workspace
from persistence.sql.pages import Position
from relayboard.commands.output import CommandFailed, opened_database, print_json, workspace_named
from relayboard.commands.parser import add_workspace

PAGE_SIZE = 250


def register(commands: Any) -> None:
    parser = commands.add_parser("campaign", help="campaigns, made by the API or by an import")
    actions = parser.add_subparsers(dest="action", required=True)
    listing = actions.add_parser("list", help="the campaigns of a workspace that are not archived")
    add_workspace(listing)
    listing.set_defaults(run=run_list)
    archive = actions.add_parser("archive", help="end a campaign: its events no longer fire, its group is free")
    archive.add_argument(
        "--campaign", required=True, metavar="UUID", help="the campaign, as `relayboard campaign list` names it"
    )
    archive.set_defaults(run=run_archive)


def run_list(options: argparse.Namespace) -> None:
    records: list[Any] = []
    with opened_database() as database, database.reading() as tx:
        workspace = workspace_named(tx, options.workspace)
        position: Position | None = None
        while True:
            page = list_campaigns(tx, workspace.id, position, PAGE_SIZE)
            records += [orjson.loads(record) for record in page.records]
            position = page.next
            if position is None:
                break
    print_json(records)


def run_archive(options: argparse.Namespace) -> None:
    uuid = options.campaign
    with opened_database() as database, database.writing() as tx:
        workspace_id = find_campaign_workspace(tx, uuid)
        if workspace_id is None:
            raise CommandFailed(f"there is no campaign {uuid}")
        campaign_id = archive_campaign(tx, workspace_id, uuid)
        record = read_campaign(tx, workspace_id, campaign_id)
    print_json(orjson.loads(record))
