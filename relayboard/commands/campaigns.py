"""`relayboard campaign list|archive`."""

import argparse
from typing import Any

import orjson

from persistence.campaigns.v2 import list_campaigns, read_campaign
from persistence.campaigns.writes import archive_campaign, find_campaign_workspace
from persistence.sql.pages import Position
from relayboard.commands.output import CommandFailed, opened_database, print_json, print_record, reading_in
from relayboard.commands.parser import add_action, add_noun, workspace_action

PAGE_SIZE = 250


def register(commands: Any) -> None:
    actions = add_noun(commands, "campaign", "campaigns, made by the API or by an import")
    workspace_action(actions, "list", run_list, "the campaigns of a workspace that are not archived")
    archive = add_action(
        actions, "archive", run_archive, "end a campaign: its events no longer fire, its group is free"
    )
    archive.add_argument(
        "--campaign", required=True, metavar="UUID", help="the campaign, as `relayboard campaign list` names it"
    )


def run_list(options: argparse.Namespace) -> None:
    records: list[Any] = []
    with reading_in(options) as (tx, workspace):
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
    print_record(record)
