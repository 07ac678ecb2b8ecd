"""What else a workspace with so many messages has: conversations, tickets, broadcasts, flow starts, calls, deliveries,
and what people did. Each list that grows with the workspace has rows, in which some values are frequent and some rare.
"""

from sqlalchemy import text

from persistence.database import Transaction
from persistence.topics import create_topic
from persistence.users import add_member

BEGAN = "timestamptz '2025-01-01 00:00+00'"
YEAR_SECONDS = "31536000.0"
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
