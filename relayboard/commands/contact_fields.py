"""`relayboard field access`."""

from persistence.errors import RecordMissing
from persistence.field_writes import set_agent_access
from persistence.fields import FIELDS, require_field
from persistence.lists import read_record
from relayboard.commands.output import CommandFailed, print_record, writing_in
from relayboard.usage.parts import Options


def run_access(options: Options) -> None:
    with writing_in(options) as (tx, workspace):
        try:
            field_id, _, _ = require_field(tx, workspace.id, options.key)
        except RecordMissing as error:
            raise CommandFailed(f"there is no field {options.key}") from error
        set_agent_access(tx, workspace.id, field_id, options.agents)
        record = read_record(tx, FIELDS, workspace, field_id)
    print_record(record)
