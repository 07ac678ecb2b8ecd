"""`relayboard user invite`, `relayboard invitation ...`."""

from persistence.accounts.invitations import INVITATIONS, invite, withdraw_invitation
from persistence.lists import ListQuery, read_list
from persistence.sql.columns import is_uuid
from relayboard.base.settings import load_settings
from relayboard.commands.output import (
    CommandFailed,
    opened_database,
    print_json,
    print_records,
    reading_in,
    workspace_named,
    writing_in,
)
from relayboard.usage.parts import Options


def run_invite(options: Options) -> None:
    settings = load_settings()
    root = (options.url or settings.base_url).rstrip("/")
    if not root.startswith(("http://", "https://")):
        raise CommandFailed("the link needs the URL of the service: give --url, or set RELAYBOARD_BASE_URL")
    with opened_database(settings) as database, database.writing() as tx:
        workspace = workspace_named(tx, options.workspace)
        made = invite(tx, workspace, options.email, options.role, root, settings)
    print_json({"email": options.email, "role": options.role, "link": made.link, "mailed": made.is_mailed})


def run_list(options: Options) -> None:
    with reading_in(options) as (tx, workspace):
        records = read_list(ListQuery(tx, workspace), INVITATIONS)
    print_records(records)


def run_withdraw(options: Options) -> None:
    if not is_uuid(options.uuid):
        raise CommandFailed(f"there is no invitation {options.uuid}")
    with writing_in(options) as (tx, workspace):
        withdraw_invitation(tx, workspace.id, options.uuid)
    print_json({"withdrawn": options.uuid})
