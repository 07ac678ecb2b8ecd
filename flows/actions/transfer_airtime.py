"""Credits the contact's phone (flow format, transfer_airtime)."""

from decimal import Decimal
from uuid import UUID, uuid5

from flows.definition import Action
from flows.definition.action_types import FAILURE, NOT_OFFLINE, SUCCESS, action_type
from flows.definition.fields import amounts_by_currency
from flows.engine.contact import find_channel, plain_number
from flows.engine.services import AirtimeTransfer
from flows.engine.visit import Visit
from flows.numbers import render_decimal
from flows.urns import Urn

# Larger than any amount in any currency.
LARGEST_AMOUNT, CURRENCY_LENGTH = Decimal("1E15"), 8
NEW_TRANSFER_LOCAL = "_new_transfer"
TRANSFERS = UUID("6f1c2a8e-93d5-4b0e-9a77-5d2be1f40c36")
"""The namespace of their UUIDs."""


@action_type(
    {"amounts": amounts_by_currency(LARGEST_AMOUNT, CURRENCY_LENGTH)},
    allowed_in=NOT_OFFLINE,
    categories=(SUCCESS, FAILURE),
    sets_local=NEW_TRANSFER_LOCAL,
    calls_out=True,
    drawn="Transfer airtime",
    palette="call",
)
def transfer_airtime(visit: Visit, action: Action) -> None:
    """Transfers an amount; the transfer's UUID is stored in a local variable (14), the amount in a result (13)."""
    uuid = _name_transfer(visit, action)
    transfer = _transfer(visit, action, uuid)
    if not visit.options.is_early:
        visit.run.locals[NEW_TRANSFER_LOCAL] = uuid if transfer else ""
        return
    name = action.fields.get("result_name")
    if name and transfer:
        visit.save_result(name, render_decimal(transfer.actual), SUCCESS)
    elif name:
        visit.save_result(name, "0", FAILURE)


def _name_transfer(visit: Visit, action: Action) -> str:
    """The UUID of a transfer that is about to be made."""
    sprint = visit.sprint
    if not visit.options.stable_transfers:
        return sprint.clock.uuid()
    # The path and events are not included, because they may differ if the sprint is run again.
    sprint.transfers[action.uuid] += 1
    place = f"{sprint.session.uuid} {sprint.session.sprints} {action.uuid} {sprint.transfers[action.uuid]}"
    return str(uuid5(TRANSFERS, place))


def _transfer(visit: Visit, action: Action, uuid: str) -> AirtimeTransfer | None:
    recipient = visit.sprint.session.contact.find_urn("tel")
    if recipient is None:
        visit.log.error("can't transfer airtime to contact without a phone number")
        return None
    channel = find_channel(recipient, visit.sprint.assets)
    sender = Urn("tel", channel.address) if channel and "tel" in channel.schemes and channel.address else None
    amounts = {currency: Decimal(str(amount)) for currency, amount in action.fields["amounts"].items()}
    service = visit.sprint.services.airtime
    transfer = visit.ask("airtime", service, lambda service: service.transfer(sender, recipient, amounts, uuid))
    if transfer is not None:
        _log_transfer(visit, transfer, sender, recipient, uuid)
    return transfer


def _log_transfer(visit: Visit, transfer: AirtimeTransfer, sender: Urn | None, recipient: Urn, uuid: str) -> None:
    common = {
        "sender": str(sender) if sender else "",
        "recipient": recipient.identity,
        "currency": transfer.currency,
        "http_logs": [dict(log) for log in transfer.http_logs],
    }
    desired, actual = plain_number(transfer.desired), plain_number(transfer.actual)
    if visit.options.is_early:
        visit.log.add("airtime_transferred", {**common, "desired_amount": desired, "actual_amount": actual})
    else:
        amount = {"external_id": transfer.external_id, "amount": actual}
        visit.log.add("airtime_created", {**common, **amount}, uuid=uuid)
