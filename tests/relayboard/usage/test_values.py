"""The words that options take are those of the rooms behind them."""

import pytest

from flows.definition.exports import Dependencies
from flows.numbers import NUMBER_FORMATS
from openapi.bundle import bundle
from persistence import classifiers, fields, repeating, templates, tokens, users
from persistence.channels import health
from persistence.channels.event_form import CHANNEL_EVENTS
from persistence.contacts import merging
from persistence.stamps import EVENT_AREAS
from persistence.tables import deliveries
from persistence.tables.complete import metadata
from persistence.tables.policies import policy_of
from persistence.tickets import ticketers
from persistence.triggers import records
from persistence.workspaces.records import BY_COUNTRY, DATE_STYLES
from relayboard.usage import values

AUDITED = [rule for each in metadata.sorted_tables if (rule := policy_of(each).audited) is not None]
CONTRACT = bundle("v2")["components"]["schemas"]
SAME = {
    "DOUBLES": (merging.OLD_NUMBER, merging.TWO_SCHEMES),
    "ROLES": users.ROLES,
    "SCOPES": tokens.SCOPES,
    "AREAS": tokens.AREAS,
    "AUDIT_ACTIONS": CONTRACT["AuditAction"]["enum"],
    "AUDIT_RESOURCES": tuple(sorted({rule.resource for rule in AUDITED})),
    "TICKETERS": ticketers.TYPES,
    "CLASSIFIERS": classifiers.TYPES,
    "TEMPLATE_STATUSES": templates.STATUSES,
    "FIELD_TYPES": fields.TYPES,
    "FIELD_ACCESSES": CONTRACT["AgentAccess"]["enum"],
    "TRIGGER_TYPES": records.TYPES,
    "KEYWORD_MATCHES": records.KEYWORD_MATCHES,
    "REPEATS": repeating.REPEATS,
    "CALL_OUTCOMES": (health.ACCEPTED, health.REFUSED_CALL, health.UNANSWERED),
    "CHANNEL_EVENTS": CHANNEL_EVENTS,
    "WORKSPACE_EVENTS": tuple(EVENT_AREAS),
    "DATE_STYLES": DATE_STYLES,
    "NUMBER_FORMATS": (BY_COUNTRY, *NUMBER_FORMATS),
    "DEPENDENCIES": [each.value for each in Dependencies],
    "DELIVERY_STATUSES": [deliveries.PENDING, deliveries.DELIVERED, deliveries.FAILED],
    "SIGNATURES": [deliveries.SYMMETRIC, deliveries.ED25519],
}


@pytest.mark.parametrize("name", SAME)
def test_an_option_takes_the_words_that_its_room_knows(name: str) -> None:
    assert getattr(values, name) == tuple(SAME[name])


def test_no_words_are_left_out_of_this_comparison() -> None:
    words = {name for name, value in vars(values).items() if isinstance(value, tuple)}

    assert words - set(SAME) == set()
