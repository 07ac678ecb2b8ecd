"""Sends e-mail (flow format, send_email)."""

from collections.abc import Sequence

from flows.definition import Action
from flows.definition.action_types import NOT_OFFLINE, action_type
from flows.definition.fields import asked, items, template, translated
from flows.engine.services import ServiceError
from flows.engine.visit import Visit


@action_type(
    {
        "addresses": items(template(), required=True),
        "subject": translated(template(required=True)),
        "body": asked(translated(template(required=True)), "long_text"),
    },
    allowed_in=NOT_OFFLINE,
    calls_out=True,
    drawn="E-mail: {subject}",
    palette="send",
)
def send_email(visit: Visit, action: Action) -> None:
    """Sends through the host; skipped without subject, body or any address."""
    subject = " ".join(visit.text(visit.localize_one(action.uuid, "subject", action.fields["subject"])).split())
    if not subject:
        visit.log.error("Email subject evaluated to empty string, skipping")
        return
    body = visit.text(visit.localize_one(action.uuid, "body", action.fields["body"]))
    if not body:
        visit.log.error("Email body evaluated to empty string, skipping")
        return
    addresses = _evaluate_addresses(visit, action.fields["addresses"])
    if not addresses:
        return
    service = visit.sprint.services.email
    try:
        if service is None:
            raise ServiceError("No email service available")
        service.send(addresses, subject, body)
    except ServiceError as error:
        visit.log.error(f"Unable to send email: {error}" if service else str(error))
        return
    visit.log.add("email_sent", {"to": addresses, "subject": subject, "body": body})


def _evaluate_addresses(visit: Visit, templates: Sequence[str]) -> list[str]:
    addresses: list[str] = []
    for each in templates:
        address = visit.text(each).strip().removeprefix("mailto:")
        if address:
            addresses.append(address)
        else:
            visit.log.error("Email address evaluated to empty string, skipping")
    return addresses
