"""Names of the old expression context and their new names."""

from __future__ import annotations

import pytest

from flows.definition.legacy.paths import migrate_path
from flows.expressions.parser import parse_expression


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("contact", "contact"),
        ("CONTACT.Name", "contact.name"),
        ("contact.created_on", "contact.created_on"),
        ("contact.age", "fields.age"),
        ("contact.2nd", 'fields["2nd"]'),
        ("contact.groups", 'join(contact.groups, ",")'),
        ("contact.tel", "format_urn(urns.tel)"),
        ("contact.tel_e164", 'default(urn_parts(urns.tel).path, "")'),
        ("contact.telegram", 'default(urn_parts(urns.telegram).path, "")'),
        ("contact.whatsapp.display", "format_urn(urns.whatsapp)"),
        ("contact.whatsapp.scheme", "urn_parts(urns.whatsapp).scheme"),
        ("contact.whatsapp.urn", "urns.whatsapp"),
        ("step.contact.age", "fields.age"),
        ("parent.contact.name", "parent.contact.name"),
        ("flow.child.contact.age", "child.fields.age"),
    ],
)
def test_contacts_have_fields_and_addresses_apart(old: str, new: str) -> None:
    assert migrate_path(old).text == new


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("flow", "results"),
        ("flow.color", "results.color"),
        ("flow.color.value", "results.color.value"),
        ("flow.color.category", "results.color.category_localized"),
        ("flow.color.text", "results.color.input"),
        ("flow.color.time", "results.color.created_on"),
        ("flow.2nd.text", 'results["2nd"].input'),
        ("parent", "parent.results"),
        ("parent.color.text", "parent.results.color.input"),
        ("child.color", "child.results.color"),
        ("extra.flow", "parent.results"),
        ("extra.flow.color.category", "parent.results.color.category_localized"),
    ],
)
def test_results_are_those_of_a_run(old: str, new: str) -> None:
    assert migrate_path(old).text == new


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("step", "input"),
        ("step.value", "input"),
        ("step.text", "input.text"),
        ("step.time", "input.created_on"),
        ("step.attachments", 'foreach(foreach(input.attachments, attachment_parts), extract, "url")'),
        ("step.attachments.1", "attachment_parts(input.attachments[1]).url"),
        ("channel", "contact.channel.address"),
        ("channel.tel_e164", "contact.channel.address"),
        ("channel.name", "contact.channel.name"),
        ("extra", "legacy_extra"),
        ("extra.order.0.name", 'legacy_extra.order["0"].name'),
        ("date", "now()"),
        ("date.now", "now()"),
        ("date.today", "format_date(today())"),
        ("date.yesterday", 'format_date(datetime_add(now(), -1, "D"))'),
    ],
)
def test_messages_channels_extras_and_days_have_new_names(old: str, new: str) -> None:
    assert migrate_path(old).text == new
    assert str(parse_expression(new))


def test_days_can_stay_values() -> None:
    assert migrate_path("date.tomorrow", raw_dates=True).text == 'datetime_add(now(), 1, "D")'


@pytest.mark.parametrize(
    "path", ["flow.color.smoke", "contact.tel.smoke", "step.smoke", "channel.smoke", "date.smoke", "smoke", "flow.x."]
)
def test_names_that_never_were_stay(path: str) -> None:
    assert migrate_path(path).text == path
