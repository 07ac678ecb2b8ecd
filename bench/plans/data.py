"""A workspace with millions of rows, made inside PostgreSQL in minutes: a million messages, with a contact for every
five and a run for every three and a third.

The rows are the same each time. Groups, labels and flows have very different sizes, because plans depend on them.
"""

from dataclasses import dataclass

from sqlalchemy import text

from channels.types import DEFAULT_GATEWAY
from persistence.channels.channels import create_gateway
from persistence.channels.settings import new_gateway_secret
from persistence.database import Database, Transaction
from persistence.tickets.topics import create_topic
from persistence.users import add_member
from persistence.workspaces.records import Workspace
from persistence.workspaces.writes import create_workspace

GROUP_SHARES = (0.5, 0.3, 0.2, 0.15, 0.1, 0.1, 0.05, 0.05, 0.05, 0.05, 0.025, 0.025, 0.025, 0.01, 0.01)
GROUP_SIZES = (1000, 1000, 500, 100, 10)
"""Groups are a share of the contacts, or have as many members as this however many contacts there are."""
LABEL_SHARES = (0.05, 0.025, 0.0125, 0.006, 0.003)
LABEL_SIZES = (1000, 500, 200, 100, 10)
FIELD_TYPES = ("text",) * 4 + ("number",) * 3 + ("datetime",) * 3
NAME = "Plans"
HEAVY_CONTACT = 1
"""This contact has every thousandth message; half of the others are in the first tenth of the contacts."""

BEGAN = "timestamptz '2025-01-01 00:00+00'"
YEAR_SECONDS = "31536000.0"

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
AGENTS = 20
FLOWS = 50
TOPICS = 5
ARCHIVED_DAYS = 366

NUMBERED = f"""(SELECT i, {BEGAN} + i * interval '1 second' * ({YEAR_SECONDS} / :number) AS t
 FROM generate_series(1, :number) AS i) AS numbered"""
"""Rows that are spread over the year."""

STAMPS = """INSERT INTO record_stamp (kind, record, workspace_id, stamped_on)
 SELECT 'message', id, workspace_id, modified_on FROM message
 UNION ALL SELECT 'broadcast', id, workspace_id, modified_on FROM broadcast"""
CONVERSATIONS = """INSERT INTO conversation
 (workspace_id, contact_id, message_id, last_on, folder, unread_count, is_unread, read_id)
 SELECT workspace_id, contact_id, id, created_on, folder,
 CASE WHEN is_new THEN 1 ELSE 0 END, is_new, CASE WHEN is_new THEN id - 1 ELSE id END
 FROM (SELECT *, contact_id % 10 = 0 AND folder = 'inbox' AS is_new FROM
 (SELECT DISTINCT ON (contact_id) * FROM message ORDER BY contact_id, created_on DESC, id DESC) AS newest) AS last"""
"""A tenth of the last messages is unread."""
BROADCASTS = f"""INSERT INTO broadcast (workspace_id, uuid, status, urns, text, attachments, files, quick_replies,
 base_language, is_evaluated, total, started, last_contact_id, created_on, modified_on)
 SELECT :workspace, pg_temp.u('broadcast' || i), 'completed', '[]', json_build_object('eng', 'Broadcast number ' || i),
 '{{}}', '{{}}', '{{}}', 'eng', false, 3, 3, 0, t, t FROM {NUMBERED}"""
BROADCAST_CONTACTS = """INSERT INTO broadcast_contact (workspace_id, broadcast_id, contact_id, is_named)
 SELECT :workspace, b.id, 1 + (b.id * 17 + n) % :contacts, true FROM broadcast AS b, generate_series(1, 3) AS n"""
BROADCAST_GROUPS = """INSERT INTO broadcast_group (workspace_id, broadcast_id, group_id, is_excluded)
 SELECT :workspace, b.id, g.id, false FROM broadcast AS b JOIN contact_group AS g ON g.name_key = 'group '
 || 1 + b.id % 20 WHERE b.id % 2 = 0"""
FLOW_STARTS = f"""INSERT INTO flow_start (workspace_id, uuid, flow_id, status, start_type, restart_participants,
 exclude_active, makes_runs, total, started, contact_count, batch_count, last_contact_id, is_expanded, created_on,
 modified_on)
 SELECT :workspace, pg_temp.u('start' || i), 1 + i % :flows, 'completed', CASE WHEN i % 4 = 0 THEN 'trigger' ELSE 'api'
 END, true, false, false, 1, 1, 1, 1, 0, true, t, t + interval '1 second' FROM {NUMBERED}"""
FLOW_START_CONTACTS = """INSERT INTO flow_start_contact (workspace_id, start_id, contact_id, is_named)
 SELECT :workspace, s.id, 1 + s.id * 17 % :contacts, true FROM flow_start AS s"""
TICKETS = f"""INSERT INTO ticket (workspace_id, uuid, contact_id, status, topic_id, assignee_id, opened_on, modified_on,
 closed_on, replied_on)
 SELECT :workspace, pg_temp.u('ticket' || i), 1 + i::bigint * 7919 % :contacts, CASE WHEN i % 20 = 0 THEN 'open' ELSE
 'closed' END, (SELECT min(id) FROM topic) + CASE WHEN i % 10 < 7 THEN 0 ELSE i % :topics END,
 CASE WHEN i % 3 > 0 THEN (SELECT min(user_id) FROM membership) + i / 3 % :agents END, t,
 t + pg_temp.h(i, 30) % 864000 * interval '1 second', CASE WHEN i % 20 > 0 THEN t + interval '10 days' END, t
 FROM {NUMBERED}"""
NOTES = f"""INSERT INTO contact_note (workspace_id, uuid, contact_id, user_id, text, created_on)
 SELECT :workspace, pg_temp.u('note' || i), 1 + pg_temp.h(i, 31) % :contacts, (SELECT min(user_id) FROM
 membership) + i % :agents, 'Note number ' || i, t FROM {NUMBERED}"""
CHANNEL_EVENTS = f"""INSERT INTO channel_event (workspace_id, uuid, channel_id, contact_id, type, urn, extra,
 external_id, occurred_on, created_on, is_pending)
 SELECT :workspace, pg_temp.u('event' || i), 1 + i % 2, c, (ARRAY['call-in', 'call-out', 'call-in-missed', 'call-in',
 'call-in', 'call-in', 'call-in', 'call-in', 'call-in', 'call-out-missed'])[1 + i % 10], 'tel:+2507' || 10000000 + c,
 '{{"duration": 60}}', 'report' || i, t, t + interval '2 seconds', false
 FROM (SELECT i, t, CASE WHEN i % 100 = 7 THEN 1 ELSE 1 + pg_temp.h(i, 32) % :contacts END AS c FROM {NUMBERED})
 AS called"""
RESTHOOKS = f"""INSERT INTO resthook (workspace_id, slug, created_on, modified_on)
 SELECT :workspace, 'hook-' || i, {BEGAN}, {BEGAN} FROM generate_series(1, 3) AS i"""
SUBSCRIBERS = f"""INSERT INTO resthook_subscriber (workspace_id, resthook_id, target_url, created_on)
 SELECT :workspace, id, 'https://example.org/' || slug, {BEGAN} FROM resthook"""
RESTHOOK_EVENTS = """INSERT INTO resthook_event (workspace_id, resthook_id, data, created_on)
 SELECT :workspace, (SELECT min(id) FROM resthook) + CASE WHEN i % 100 < 99 THEN 0 ELSE 1 END,
 json_build_object('contact', i, 'text', 'event number ' || i),
 now() - i * interval '1 second' * (86400.0 / :number) FROM generate_series(1, :number) AS i"""
"""Of the last day, because older ones are not listed for long."""
DELIVERIES = f"""INSERT INTO delivery (workspace_id, uuid, event, channel_id, subscriber_id, contact_id, receiver, url,
 content_type, body, status, attempts, created_on, scheduled_on, due_on, finished_on, last_status)
 SELECT :workspace, pg_temp.u('delivery' || i), CASE WHEN i % 4 = 0 THEN 'resthook' WHEN i % 4 = 1 THEN 'mt_sent'
 WHEN i % 1000 = 2 THEN 'mo_call' ELSE 'mo_sms' END, CASE WHEN i % 4 > 0 THEN 1 + i / 4 % 2 END,
 CASE WHEN i % 4 = 0 THEN (SELECT min(id) FROM resthook_subscriber) END,
 CASE WHEN i % 100 = 7 THEN 1 ELSE 1 + pg_temp.h(i, 33) % :contacts END, 'https://example.org:443',
 'https://example.org/hook', 'application/json', '{{"event": "number ' || i || '"}}',
 CASE WHEN i % 50 = 0 THEN 'failed' ELSE 'delivered' END, 1, t, t, t, t + interval '1 second',
 CASE WHEN i % 50 = 0 THEN 500 ELSE 200 END FROM {NUMBERED}"""
AUDIT_EVENTS = f"""INSERT INTO audit_event (workspace_id, uuid, resource, action, record_uuid, record_name, changes,
 via, actor_email, address, created_on)
 SELECT :workspace, pg_temp.u('audit' || i), (ARRAY['contacts', 'contacts', 'contacts', 'flows', 'groups', 'fields',
 'contacts', 'contacts', 'contacts', 'campaigns'])[1 + i % 10], CASE WHEN i % 10 = 0 THEN 'created' WHEN i % 500 = 1
 THEN 'deleted' ELSE 'changed' END, pg_temp.u('contact' || 1 + pg_temp.h(i, 34) % :contacts), 'Record ' || i,
 '{{"name": {{"before": "a", "after": "b"}}}}', 'session', 'agent' || 1 + i % :agents || '@example.org', '192.0.2.7', t
 FROM {NUMBERED}"""
GATEWAY_CALLS = f"""INSERT INTO gateway_call (workspace_id, channel_id, contact_id, message_id, part, outcome, method,
 url, headers, body, status, answer, duration_ms, created_on)
 SELECT :workspace, 1 + i % 2, i, i, 1, CASE WHEN i % 100 = 0 THEN 'refused' ELSE 'accepted' END, 'POST',
 'https://example.org/send', '{{}}', 'text=number ' || i, 200, 'OK', 20, t FROM {NUMBERED}"""
ARCHIVES = f"""INSERT INTO archive (workspace_id, archive_type, period, start_date, part, record_count, last_record_id,
 size, hash, location, is_trimmed, created_on)
 SELECT :workspace, kind, 'daily', ({BEGAN} - day * interval '1 day')::date, 0, 100, 0, 1000, md5(kind || day),
 kind || '/' || day || '.jsonl.gz', true, {BEGAN} FROM generate_series(1, :number) AS day,
 unnest(ARRAY['message', 'run']) AS kind"""


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


def add_the_rest(tx: Transaction, workspace_id: int, messages: int, contacts: int, broadcasts: int) -> None:
    """Fill the other tables; contacts, groups, flows and messages are there."""
    for number in range(1, AGENTS + 1):
        add_member(tx, workspace_id, f"agent{number}@example.org", "agent")
    for number in range(1, TOPICS):
        create_topic(tx, workspace_id, f"Topic {number}")
    sizes = {
        BROADCASTS: broadcasts,
        BROADCAST_CONTACTS: 0,
        BROADCAST_GROUPS: 0,
        STAMPS: 0,
        CONVERSATIONS: 0,
        FLOW_STARTS: messages // 1000,
        FLOW_START_CONTACTS: 0,
        TICKETS: messages // 20,
        NOTES: messages // 100,
        CHANNEL_EVENTS: messages // 10,
        RESTHOOKS: 0,
        SUBSCRIBERS: 0,
        RESTHOOK_EVENTS: messages // 50,
        DELIVERIES: messages // 5,
        AUDIT_EVENTS: messages // 50,
        GATEWAY_CALLS: min(messages, 2000),
        ARCHIVES: ARCHIVED_DAYS,
    }
    known = {"workspace": workspace_id, "contacts": contacts, "flows": FLOWS, "agents": AGENTS, "topics": TOPICS}
    for statement, number in sizes.items():
        tx.execute(text(statement), known | {"number": max(number, 1)})


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
