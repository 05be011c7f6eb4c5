from __future__ import annotations

import socket

import pytest

from pool_tools.network.addresses import is_own, refusal


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("127.0.0.1", "loopback"),
        ("127.255.255.254", "loopback"),
        ("::1", "loopback"),
        ("::ffff:127.0.0.1", "loopback"),
        ("0.0.0.0", "reserved"),
        ("::", "reserved"),
        ("::127.0.0.1", "reserved"),
        ("64:ff9b::7f00:1", "loopback"),
        ("64:ff9b::a00:1", "private"),
        ("64:ff9b:1::1", "reserved"),
        ("2002:7f00:1::", "tunnel"),
        ("2001:0:7f00:1::", "tunnel"),
        ("10.0.0.1", "private"),
        ("172.16.0.1", "private"),
        ("172.31.255.255", "private"),
        ("192.168.1.1", "private"),
        ("100.64.0.1", "private"),
        ("198.18.0.1", "private"),
        ("::ffff:192.168.1.1", "private"),
        ("fd12::1", "private"),
        ("169.254.169.254", "link-local"),
        ("fe80::1", "link-local"),
        ("fe80::1%lo", "link-local"),
        ("fec0::1", "link-local"),
        ("100.100.100.200", "metadata"),
        ("168.63.129.16", "metadata"),
        ("fd00:ec2::254", "metadata"),
        ("192.0.0.192", "reserved"),
        ("224.0.0.1", "multicast"),
        ("ff02::1", "multicast"),
        ("255.255.255.255", "reserved"),
        ("250.0.0.1", "reserved"),
    ],
)
def test_addresses_that_are_never_reached(address: str, kind: str) -> None:
    assert kind in refusal(address)
    assert bool(refusal(address, private=True)) is (kind != "private")


@pytest.mark.parametrize("address", ["1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1", "64:ff9b::101:101"])
def test_addresses_out_in_the_world(address: str) -> None:
    assert refusal(address) == ""


def test_this_machine_by_its_own_address() -> None:
    """A server that listens on all addresses is reached by each of them. Nothing is sent to find out."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as route:
        try:
            route.connect(("198.51.100.1", 9))
        except OSError:
            pytest.skip("this machine has no address but its loopback")
        own = route.getsockname()[0]
    assert is_own(own)
    assert refusal(own, private=True)
    assert not is_own("198.51.100.1")
