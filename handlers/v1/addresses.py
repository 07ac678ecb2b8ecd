"""Addresses in the query strings of generation 1."""

from collections.abc import Sequence

from flows.urns import Urn
from handlers.request import Request
from persistence.contacts.addresses import find_urns
from persistence.errors import Refused


def read_addresses(request: Request, texts: Sequence[str] | None, parameter: str) -> list[Urn] | None:
    """The addresses of a parameter in the form they are stored; strings that are not addresses are left out.

    Raises Refused in a workspace that hides addresses.
    """
    if texts is None:
        return None
    refuse_addresses(request, parameter)
    # A plain `+` in a query string arrives as a blank.
    wanted = [text.strip().replace(": ", ":+") for text in texts]
    return list(find_urns(request.tx, request.workspace, wanted).values())


def refuse_addresses(request: Request, parameter: str) -> None:
    """Raises Refused in a workspace that hides addresses: even an empty list would tell who exists."""
    if request.workspace.is_anonymous:
        raise Refused(f"This workspace hides addresses; parameter {parameter} cannot be used.")
