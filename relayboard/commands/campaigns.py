"""`relayboard campaign list|archive|restore`."""

from persistence.campaigns.records import (
    CAMPAIGNS,
    archive_campaign,
    find_any_group,
    find_campaign_workspace,
    find_campaigns,
    restore_campaign,
)
from persistence.database import Transaction
from persistence.lists import ListQuery, read_list, read_record
from persistence.workspaces.records import Workspace, find_workspace
from relayboard.commands.output import CommandFailed, opened_database, print_record, print_records, reading_in
from relayboard.usage.parts import Options


def run_list(options: Options) -> None:
    with reading_in(options) as (tx, workspace):
        records = read_list(ListQuery(tx, workspace), CAMPAIGNS)
    print_records(records)


def run_archive(options: Options) -> None:
    uuid = options.campaign
    with opened_database() as database, database.writing() as tx:
        workspace = _find_its_workspace(tx, uuid)
        record = read_record(tx, CAMPAIGNS, workspace, archive_campaign(tx, workspace.id, uuid))
    print_record(record)


def run_restore(options: Options) -> None:
    uuid = options.campaign
    with opened_database() as database, database.writing() as tx:
        workspace = _find_its_workspace(tx, uuid)
        (campaign_id,) = find_campaigns(tx, workspace.id, [uuid])
        group_id = find_any_group(tx, workspace.id, options.group, field="group") if options.group else None
        restore_campaign(tx, workspace.id, campaign_id, group_id)
        record = read_record(tx, CAMPAIGNS, workspace, campaign_id)
    print_record(record)


def _find_its_workspace(tx: Transaction, uuid: str) -> Workspace:
    workspace_id = find_campaign_workspace(tx, uuid)
    workspace = None if workspace_id is None else find_workspace(tx, workspace_id)
    if workspace is None:
        raise CommandFailed(f"there is no campaign {uuid}")
    return workspace
