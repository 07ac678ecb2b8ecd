from ipaddress import ip_network

import pytest

from relayboard.base.addresses import is_permitted, may_be_called, spells_address_oddly

REFUSED = [
    *(
        "127.0.0.1",
        "127.255.255.254",
        "::1",
        "0.0.0.0",
        "::",
        "10.1.2.3",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
    ),
    *("169.254.169.254", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "224.0.0.1", "ff02::1"),
    *("100.64.0.1", "100.100.100.200", "255.255.255.255", "240.0.0.1", "168.63.129.16", "192.0.0.192"),
    *("::ffff:127.0.0.1", "::ffff:8.8.8.8", "::7f00:1", "64:ff9b::7f00:1", "64:ff9b:1::a00:1", "2002:7f00:1::"),
    *("2001:0:4136:e378::1", "2001:db8::1", "fec0::1"),
]


@pytest.mark.parametrize("address", REFUSED)
def test_an_address_that_is_not_public_is_refused(address):
    assert not is_permitted(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2a00:1450:4001::1"])
def test_a_public_address_is_permitted(address):
    assert is_permitted(address)


def test_an_allowed_network_permits_what_lies_in_it_and_nothing_else():
    allowed = (ip_network("10.0.0.0/8"), ip_network("::1"))

    assert is_permitted("10.9.8.7", allowed)
    assert is_permitted("::1", allowed)
    assert not is_permitted("127.0.0.1", allowed)
    assert not is_permitted("::ffff:10.9.8.7", allowed)


@pytest.mark.parametrize(
    "host", ["2130706433", "0x7f000001", "0x7f.1", "127.1", "0177.0.0.1", "08.8.8.8", "8.8.8.8.", "0x"]
)
def test_other_spellings_of_numbers_are_odd(host):
    assert spells_address_oddly(host)


@pytest.mark.parametrize("host", ["8.8.8.8", "example.org", "1.example.org", "0x7f.example", "a1", "::1", "x.0xyz"])
def test_names_and_usual_addresses_are_not_odd(host):
    assert not spells_address_oddly(host)


def test_an_odd_spelling_of_a_public_address_is_refused():
    assert not is_permitted("8.8.8.8", is_spelled_oddly=True)


@pytest.mark.parametrize(
    "host", [*REFUSED, "localhost", "db.internal", "printer.local.", "127.1", "2130706433", "0x7f.1"]
)
def test_a_host_that_is_known_to_be_private_is_told_when_a_url_is_set(host):
    assert not may_be_called(host, ())


@pytest.mark.parametrize("host", ["１２７.0.0.1", "127。0。0。1", "LOCALHOST", "0x"])
def test_other_ways_to_write_a_private_host_are_known(host):
    assert not may_be_called(host, ())


@pytest.mark.parametrize("host", ["hooks.example.org", "8.8.8.8", "2606:4700::1111", "internal.example.org", "x"])
def test_other_hosts_may_be_set(host):
    assert may_be_called(host, ())


def test_an_allowed_network_may_be_set():
    allowed = (ip_network("10.0.0.0/8"),)

    assert [may_be_called(host, allowed) for host in ("10.1.2.3", "localhost", "127.0.0.1")] == [True, True, False]
