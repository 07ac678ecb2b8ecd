"""Airtime transfers of flows, with one service (flow format, transfer_airtime)."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from flows.engine.services import AirtimeTransfer, ServiceError
from flows.numbers import NumberError, parse_decimal, render_decimal
from flows.urns import Urn
from worker.flows.services.json_services import JsonService

ID_CHARACTERS = 255


@dataclass(frozen=True, slots=True)
class FlowAirtime:
    """Requests transfers from the service in the settings, each with a UUID by which the service recognizes a
    repeat."""

    service: JsonService

    def transfer(
        self, sender: Urn | None, recipient: Urn, amounts: Mapping[str, Decimal], transfer_uuid: str
    ) -> AirtimeTransfer:
        """The transfer that the service reports. Raises ServiceError."""
        offered = {currency: amount for currency, amount in amounts.items() if amount > 0}
        if not offered:
            raise ServiceError("there is no amount to transfer")
        question = {
            "uuid": transfer_uuid,
            "recipient": recipient.identity,
            "sender": None if sender is None else sender.identity,
            "amounts": {currency: render_decimal(amount) for currency, amount in offered.items()},
        }
        answer = self.service.ask(question, {"Idempotency-Key": transfer_uuid})
        currency = answer.get("currency")
        actual = _read_amount(answer.get("amount"))
        if not isinstance(currency, str) or currency not in offered or actual is None:
            raise self.service.fail("did not return an amount in one of the currencies")
        return AirtimeTransfer(_read_id(answer.get("id")), currency, offered[currency], actual)


def _read_amount(amount: object) -> Decimal | None:
    """A number above 0, given as a JSON number or a string; None for anything else."""
    if isinstance(amount, bool) or not isinstance(amount, int | float | str):
        return None
    try:
        number = parse_decimal(str(amount))
    except NumberError:
        return None
    return number if number > 0 else None


def _read_id(text: object) -> str:
    return text.replace("\0", "")[:ID_CHARACTERS] if isinstance(text, str) else ""
