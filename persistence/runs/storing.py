"""How new runs are inserted: at once, or with the clock of their workspace, so that no row is written a second time to
give it its final time.
"""

from persistence.statements import insert_rows
from persistence.tables.runs import flow_run

DOCUMENTS = ("results", "path", "visits")
"""Given as JSON texts."""
insert_runs = insert_rows(
    flow_run,
    (
        *("uuid", "workspace_id", "session_id", "flow_id", "contact_id", "start_id", "parent_uuid", "status"),
        *("responded", "results", "path", "visits", "created_on", "modified_on", "expires_on", "exited_on"),
    ),
    (flow_run.c.id, flow_run.c.uuid),
    as_text=DOCUMENTS,
)
WITH_CLOCK = """INSERT INTO flow_run (uuid, workspace_id, session_id, flow_id, contact_id, start_id, parent_uuid,
status, responded, results, path, visits, created_on, modified_on, expires_on, exited_on)
SELECT noted.uuid, CAST(:workspace_id AS integer), noted.session_id, noted.flow_id, noted.contact_id, noted.start_id,
noted.parent_uuid, noted.status, noted.responded, CAST(noted.results AS json), CAST(noted.path AS json),
CAST(noted.visits AS json), noted.created_on, moment.stamped_on, noted.expires_on, noted.exited_on
FROM moment, json_to_recordset(CAST(:runs AS json)) AS noted (uuid uuid, session_id bigint, flow_id bigint,
contact_id bigint, start_id bigint, parent_uuid uuid, status text, responded boolean, results text, path text,
visits text, created_on timestamptz, expires_on timestamptz, exited_on timestamptz)"""
"""On PostgreSQL; `moment` has the time, `:runs` are the rows as `rows_text` writes them."""
