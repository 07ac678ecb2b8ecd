"""`relayboard campaign list|archive`."""

from persistence.campaigns.records import CAMPAIGNS, archive_campaign, find_campaign_workspace
from persistence.lists import ListQuery, read_list, read_record
from persistence.workspaces.records import find_workspace
from relayboard.commands.output import CommandFailed, opened_database, print_record, print_records, reading_in
from relayboard.usage.parts import Options


def run_list(options: Options) -> None:
    with reading_in(options) as (tx, workspace):
        records = read_list(ListQuery(tx, workspace), CAMPAIGNS)
    print_records(records)


def run_archive(options: Options) -> None:
    uuid = options.campaign
    with opened_database() as database, database.writing() as tx:
        workspace_id = find_campaign_workspace(tx, uuid)
        workspace = None if workspace_id is None else find_workspace(tx, workspace_id)
        if workspace is None:
            raise CommandFailed(f"there is no campaign {uuid}")
        record = read_record(tx, CAMPAIGNS, workspace, archive_campaign(tx, workspace.id, uuid))
    print_record(record)
