"""The audit log as a list, for administrators."""

from persistence.lists import ListSpec, equals, within
from persistence.pages import Order
from persistence.records import Record
from persistence.tables.service import audit_event

AUDIT_EVENTS = ListSpec(
    audit_event,
    Record(
        {
            "uuid": audit_event.c.uuid,
            "created_on": audit_event.c.created_on,
            "resource": audit_event.c.resource,
            "action": audit_event.c.action,
            "record": Record({"uuid": audit_event.c.record_uuid, "name": audit_event.c.record_name}),
            "changes": audit_event.c.changes,
            "via": audit_event.c.via,
            "user": audit_event.c.actor_email,
            "token": audit_event.c.token,
            "command": audit_event.c.command,
            "address": audit_event.c.address,
        }
    ),
    Order(audit_event.c.created_on, audit_event.c.id),
    filters={
        "resource": equals(audit_event.c.resource),
        "action": equals(audit_event.c.action),
        "record": equals(audit_event.c.record_uuid),
        "user": lambda _query, email: audit_event.c.actor_email == email.strip().lower(),
        **within(audit_event.c.created_on),
    },
)
