"""Leases of deliveries within the rate limits that some receivers have, which apply to all workers together."""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timedelta

from persistence.database import Transaction
from persistence.deliveries.leases import DueDelivery, lease_deliveries
from persistence.deliveries.settings import charge_paces, lock_paces, next_look, read_paced

Rooms = Mapping[tuple[int, str], int]


def lease_within_paces(tx: Transaction, rooms: Rooms, lease: timedelta) -> tuple[list[DueDelivery], datetime | None]:
    """Leases due deliveries up to a number per workspace and receiver, fewer where a rate limit allows no more; also
    returns when to look again for the others.
    """
    paced = {place: endpoint for place in rooms if (endpoint := read_paced(*place)) is not None}
    paces = lock_paces(tx, sorted(set(paced.values()), key=lambda each: (each.workspace_id, each.kind, each.number)))
    allowed = {
        place: min(room, paces[paced[place]].allowance) if paced.get(place) in paces else room
        for place, room in rooms.items()
    }
    leased = lease_deliveries(tx, allowed, lease)
    if not paces:
        return leased, None
    places = ((each.workspace_id, each.receiver) for each in leased)
    charge_paces(tx, paces, Counter(paced[place] for place in places if place in paced))
    held_up = [next_look(paces[paced[place]], tx.now) for place, room in rooms.items() if allowed[place] < room]
    return leased, min(held_up, default=None)
