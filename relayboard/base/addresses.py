"""Which IP addresses this service may call: public ones, and those that the operator allowed. The same rule holds when
a URL is set, for what its host says by itself (`may_be_called`), and at each call, for the addresses that a name has
then.
"""

import socket
import unicodedata
from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

Network = IPv4Network | IPv6Network
LOCAL_NAMES = ("localhost", "local", "internal", "localdomain")
"""The last parts of names that only local networks have."""

_REFUSED_V4 = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",  # unspecified, "this" network
        "10.0.0.0/8",
        "100.64.0.0/10",  # carrier-grade NAT, and one provider's metadata service
        "127.0.0.0/8",
        "168.63.129.16/32",  # a cloud provider's machine agent, on a public address
        "169.254.0.0/16",  # link-local, metadata services
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
    )
)

# Only this block contains public unicast addresses; mapped, NAT64, unique-local, link-local and multicast are outside
# it.
_PUBLIC_V6 = IPv6Network("2000::/3")
_REFUSED_V6 = tuple(
    IPv6Network(text)
    for text in (
        "2001::/23",  # Teredo and other special uses
        "2001:db8::/32",
        "2002::/16",  # 6to4
        "3fff::/20",
    )
)


def is_permitted(address: str, allowed_networks: Iterable[Network] = (), *, is_spelled_oddly: bool = False) -> bool:
    """Whether a resolved address may be called: an address in the allowed networks always, others if they are public.
    An address written in an odd form (`spells_address_oddly`) may not be called even if it is public: such forms are
    only used to bypass checks.
    """
    parsed = ip_address(address.partition("%")[0])
    if any(parsed in network for network in allowed_networks):
        return True
    return not is_spelled_oddly and _is_public(parsed)


def may_be_called(host: str, allowed_networks: Sequence[Network]) -> bool:
    """Whether the host of a URL is not known to be private; where a name leads is looked at when it is called."""
    name = unicodedata.normalize("NFKC", host).replace("\u3002", ".").lower().rstrip(".")
    if name.rpartition(".")[2] in LOCAL_NAMES:
        return bool(allowed_networks)
    is_odd = spells_address_oddly(name)
    try:
        address = socket.inet_ntoa(socket.inet_aton(name)) if is_odd else str(ip_address(name))
    except (OSError, ValueError):
        return not is_odd
    return is_permitted(address, allowed_networks, is_spelled_oddly=is_odd)


def spells_address_oddly(host: str) -> bool:
    """Whether a host is an IPv4 address that is not written as four decimal numbers: `127.1`, `0x7f000001`."""
    last = host.rstrip(".").rpartition(".")[2].lower()
    if not (last.isdecimal() or (last.startswith("0x") and all(digit in "0123456789abcdef" for digit in last[2:]))):
        return False
    try:
        IPv4Address(host)
    except ValueError:
        return True
    return False


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _REFUSED_V4)
    return address in _PUBLIC_V6 and not any(address in network for network in _REFUSED_V6)
