"""A workspace with millions of rows, made inside PostgreSQL in minutes: a million messages, with a contact for every
five and a run for every three and a third.

The rows are the same each time. Groups, labels and flows have very different sizes, because plans depend on them.
"""

from dataclasses import dataclass

from sqlalchemy import text

from bench.plans.further_data import BEGAN, FLOWS, YEAR_SECONDS, add_the_rest
from persistence.channels.channels import create_gateway
from persistence.channels.settings import new_gateway_secret
from persistence.channels.types import DEFAULT_GATEWAY
from persistence.database import Database, Transaction
from persistence.workspace_setup import create_workspace
from persistence.workspaces import Workspace

GROUP_SHARES = (0.5, 0.3, 0.2, 0.15, 0.1, 0.1, 0.05, 0.05, 0.05, 0.05, 0.025, 0.025, 0.025, 0.01, 0.01)
GROUP_SIZES = (1000, 1000, 500, 100, 10)
"""Groups are a share of the contacts, or have as many members as this however many contacts there are."""
LABEL_SHARES = (0.05, 0.025, 0.0125, 0.006, 0.003)
LABEL_SIZES = (1000, 500, 200, 100, 10)
FIELD_TYPES = ("text",) * 4 + ("number",) * 3 + ("datetime",) * 3
NAME = "Plans"
HEAVY_CONTACT = 1
"""This contact has every thousandth message; half of the others are in the first tenth of the contacts."""


@dataclass(frozen=True, slots=True)
class Size:
    messages: int

    @property
    def contacts(self) -> int:
        return self.messages // 5

    @property
    def broadcasts(self) -> int:
        return max(self.messages // 1000, 1)

    @property
    def runs(self) -> int:
        return self.messages * 3 // 10


def build(database: Database, size: Size) -> Workspace:
    """Fill an empty database."""
    with database.writing() as tx:
        workspace = create_workspace(tx, NAME, country="RW", timezone="Africa/Kigali")
        for number in (1, 2):
            options = {"schemes": ["tel"], "country": "RW", "secret": new_gateway_secret(), "config": {}}
            address = f"+25078800000{number}"
            create_gateway(tx, workspace.id, DEFAULT_GATEWAY, name=f"Gateway {number}", address=address, **options)
    values = {
        "workspace": workspace.id,
        "messages": size.messages,
        "contacts": size.contacts,
        "active": max(size.contacts // 10, 1),
        "runs": size.runs,
        "flows": FLOWS,
        "broadcasts": size.broadcasts,
    }
    with database.writing() as tx:
        tx.connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
        tx.connection.exec_driver_sql("SET LOCAL session_replication_role = replica")  # rows fit: no key is checked
        _create_functions(tx)
        for statement in STATEMENTS:
            tx.execute(text(statement), values)
        _add_to_groups(tx, workspace.id, size)
        _add_labels(tx, workspace.id, size)
        add_the_rest(tx, workspace.id, size.messages, size.contacts, size.broadcasts)
        _count(tx)
    with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("SET statement_timeout = 0")
        connection.exec_driver_sql("VACUUM ANALYZE")
    return workspace


def _create_functions(tx: Transaction) -> None:
    """`h` is a number that looks random, and `u` a UUID; both depend on their arguments alone."""
    tx.connection.exec_driver_sql(
        "CREATE FUNCTION pg_temp.h(i bigint, s bigint) RETURNS bigint IMMUTABLE PARALLEL SAFE LANGUAGE sql AS"
        " 'SELECT hashint8extended(i, s) & 9223372036854775807'"
    )
    tx.connection.exec_driver_sql(
        "CREATE FUNCTION pg_temp.u(t text) RETURNS uuid IMMUTABLE PARALLEL SAFE LANGUAGE sql AS"
        " 'SELECT overlay(overlay(md5(t) placing ''4'' from 13) placing ''8'' from 17)::uuid'"
    )


STATEMENTS = (
    f"""INSERT INTO contact_field (workspace_id, uuid, key, name, name_key, type, is_featured, priority, agent_access,
 created_on)
 SELECT :workspace, pg_temp.u('field' || i), 'field_' || i, 'Field ' || i, 'field ' || i, t, false, 0, 'view',
 {BEGAN} + i * interval '1 second'
 FROM unnest(string_to_array('{" ".join(FIELD_TYPES)}', ' ')) WITH ORDINALITY AS types(t, i)""",
    f"""INSERT INTO contact (workspace_id, uuid, name, language, status, is_deleted, fields, open_ticket_count,
 created_on, modified_on, last_seen_on)
 SELECT :workspace, pg_temp.u('contact' || i), 'Person ' || pg_temp.h(i, 2) % 20 || ' ' || pg_temp.h(i, 3) % 20,
 (ARRAY['eng', 'spa', 'eng', 'fra'])[i % 4 + 1], 'active', false,
 jsonb_build_object(
 pg_temp.u('field1')::text, jsonb_build_object('text', 'value ' || i % 100),
 pg_temp.u('field2')::text, jsonb_build_object('text', 'word ' || i % 7),
 pg_temp.u('field3')::text, jsonb_build_object('text', 'place ' || i % 1000),
 pg_temp.u('field5')::text, jsonb_build_object('text', (i % 90)::text, 'number', (i % 90)::text),
 pg_temp.u('field6')::text, jsonb_build_object('text', (i % 9)::text, 'number', (i % 9)::text),
 pg_temp.u('field8')::text, jsonb_build_object('text', '2025-03-04', 'datetime', '2025-03-04T00:00:00.000000+02:00')),
 0, {BEGAN} + i * interval '1 second' * ({YEAR_SECONDS} / :contacts),
 {BEGAN} + i * interval '1 second' * ({YEAR_SECONDS} / :contacts)
 + pg_temp.h(i, 1) % 2592000000000 * interval '1 microsecond',
 CASE WHEN i % 10 > 0 THEN {BEGAN} + i * interval '1 second' * ({YEAR_SECONDS} / :contacts) END
 FROM generate_series(1, :contacts) AS i""",
    """INSERT INTO contact_urn (workspace_id, contact_id, scheme, path, priority, channel_id)
 SELECT :workspace, c.id, 'tel', '+2507' || (10000000 + c.id), 0, 1 FROM contact AS c""",
    f"""INSERT INTO flow (workspace_id, uuid, name, name_key, type, base_language, expires_after_minutes, is_archived,
 ignores_triggers, definition_revision, results, parent_refs, dependencies, issues, rulesets, active_run_count,
 completed_run_count, interrupted_run_count, expired_run_count, created_on, modified_on)
 SELECT :workspace, pg_temp.u('flow' || i), 'Flow ' || i, 'flow ' || i, 'message', 'eng', 720, false, false, 1,
 '[]', '[]', '[]', '[]', '[]', 0, 0, 0, 0, {BEGAN} + i * interval '1 hour', {BEGAN} + i * interval '1 hour'
 FROM generate_series(1, :flows) AS i""",
    f"""INSERT INTO message (workspace_id, uuid, contact_id, urn, channel_id, flow_id, broadcast_id, direction, type,
 status, visibility, text, attachments, quick_replies, error_count, created_on, sent_on, modified_on)
 SELECT :workspace, pg_temp.u('message' || m), c, 'tel:+2507' || (10000000 + c), CASE WHEN m % 10 < 7 THEN 1 ELSE 2 END,
 CASE WHEN m % 10 = 0 THEN 1 + m / 10 % :flows END, CASE WHEN m % 10 = 5 THEN 1 + m / 10 % :broadcasts END,
 CASE WHEN m % 5 = 0 THEN 'out' ELSE 'in' END, 'text',
 CASE WHEN m % 5 > 0 THEN 'handled' WHEN m % 10 = 0 THEN 'sent' ELSE 'delivered' END, 'visible',
 rpad(md5(m::text) || ' message number ' || m, (20 + pg_temp.h(m, 5) % 140)::int, ' lorem ipsum dolor'),
 CASE WHEN m % 20 = 1 THEN '[{{"content_type": "image/jpeg", "url": "https://example.org/photo.jpg"}}]'::json
 ELSE '[]'::json END, '[]', 0, t, CASE WHEN m % 5 = 0 THEN t + pg_temp.h(m, 6) % 60 * interval '1 second' END,
 t + interval '2 seconds'
 FROM (SELECT m, {BEGAN} + m * interval '1 second' * ({YEAR_SECONDS} / :messages) AS t,
 CASE WHEN m % 1000 = 7 THEN {HEAVY_CONTACT} WHEN m % 2 = 0 THEN 2 + pg_temp.h(m, 16) % (:contacts - 1)
 ELSE 2 + pg_temp.h(m, 17) % :active END AS c
 FROM generate_series(1, :messages) AS m) AS numbered""",
    f"""INSERT INTO flow_run (workspace_id, uuid, flow_id, contact_id, status, responded, results, path, visits,
 created_on, modified_on, exited_on)
 SELECT :workspace, pg_temp.u('run' || r),
 CASE WHEN pg_temp.h(r, 20) % 10 < 3 THEN 1 ELSE 2 + pg_temp.h(r, 21) % (:flows - 1) END,
 1 + pg_temp.h(r, 24) % :contacts,
 CASE WHEN r % 20 = 0 THEN 'waiting' WHEN r % 20 < 4 THEN 'expired' WHEN r % 20 = 4 THEN 'interrupted'
 ELSE 'completed' END, r % 3 > 0, results::json, path::json, visits::json, t, t + pg_temp.h(r, 25) % 600 * interval
 '1 second', CASE WHEN r % 20 > 0 THEN t + interval '10 minutes' END
 FROM (SELECT r, {BEGAN} + r * interval '1 second' * ({YEAR_SECONDS} / :runs) AS t,
 '{{"answer": {{"value": "yes", "category": "Yes", "node": "' || pg_temp.u('node1') || '", "time":'
 ' "2025-01-01T00:00:00.000000Z", "input": "yes", "name": "Answer"}}}}' AS results,
 (SELECT '[' || string_agg('{{"node": "' || pg_temp.u('node' || n)
 || '", "time": "2025-01-01T00:00:00.000000Z"}}', ', ') || ']' FROM generate_series(1, 3) AS n) AS path,
 (SELECT '[' || string_agg('{{"type": "A", "left_on": "2025-01-01T00:00:00.000000Z", "results": []}}', ', ') || ']'
 FROM generate_series(1, 3) AS n) AS visits
 FROM generate_series(1, :runs) AS r) AS numbered""",
)


def _add_to_groups(tx: Transaction, workspace_id: int, size: Size) -> None:
    sizes = [round(share * size.contacts) for share in GROUP_SHARES] + list(GROUP_SIZES)
    for number, members in enumerate(sizes, start=1):
        values = {"workspace": workspace_id, "number": number, "contacts": size.contacts, "members": members}
        tx.execute(text(GROUP), values)
        tx.execute(text(MEMBERS), values)


def _add_labels(tx: Transaction, workspace_id: int, size: Size) -> None:
    sizes = [round(share * size.messages) for share in LABEL_SHARES] + list(LABEL_SIZES)
    for number, labeled in enumerate(sizes, start=1):
        values = {"workspace": workspace_id, "number": number, "messages": size.messages, "labeled": labeled}
        tx.execute(text(LABEL), values)
        tx.execute(text(LABELED), values)


GROUP = f"""INSERT INTO contact_group (workspace_id, uuid, name, name_key, status, is_system, member_count, created_on,
 modified_on, evaluated_after_id)
 SELECT :workspace, pg_temp.u('group' || :number), 'Group ' || :number, 'group ' || :number, 'ready', false, 0,
 {BEGAN} + :number * interval '1 hour', {BEGAN}, 0"""
MEMBERS = """INSERT INTO group_membership (workspace_id, group_id, contact_id)
 SELECT :workspace, (SELECT id FROM contact_group WHERE name_key = 'group ' || :number), i
 FROM generate_series(1, :contacts) AS i WHERE pg_temp.h(i, 1000 + :number) % :contacts < :members"""
LABEL = f"""INSERT INTO label (workspace_id, uuid, name, name_key, message_count, created_on)
 SELECT :workspace, pg_temp.u('label' || :number), 'Label ' || :number, 'label ' || :number, 0,
 {BEGAN} + :number * interval '1 hour'"""
LABELED = """INSERT INTO message_label (workspace_id, message_id, label_id, created_on)
 SELECT :workspace, m.id, (SELECT id FROM label WHERE name_key = 'label ' || :number), m.created_on
 FROM message AS m WHERE m.direction = 'in' AND pg_temp.h(m.id, 2000 + :number) % (:messages * 4 / 5) < :labeled"""


def _count(tx: Transaction) -> None:
    tx.execute(
        text(
            "UPDATE contact_group AS g SET member_count ="
            " (SELECT count(*) FROM group_membership AS m WHERE m.group_id = g.id)"
        )
    )
    tx.execute(
        text(
            "UPDATE topic AS t SET (open_count, closed_count) = (SELECT count(*) FILTER (WHERE k.status = 'open'),"
            " count(*) FILTER (WHERE k.status = 'closed') FROM ticket AS k WHERE k.topic_id = t.id)"
        )
    )
    tx.execute(
        text(
            "UPDATE contact AS c SET open_ticket_count = 1 WHERE id IN"
            " (SELECT contact_id FROM ticket WHERE status = 'open')"
        )
    )
    tx.execute(
        text("UPDATE label AS l SET message_count = (SELECT count(*) FROM message_label AS m WHERE m.label_id = l.id)")
    )
