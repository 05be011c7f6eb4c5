"""Names and rules: what is one host, what is none, and what a rule lets through."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pool_tools.network.rules import AllowList, HostRule, RuleError, allow_list, host_name, split_port


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Example.ORG", "example.org"),
        ("example.org.", "example.org"),
        ("a_b.example.org", "a_b.example.org"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("BÜCHER.example", "xn--bcher-kva.example"),
        ("192.0.2.7", "192.0.2.7"),
        ("2001:DB8::1", "2001:db8::1"),
        ("2001:db8:0:0:0:0:0:1", "2001:db8::1"),
        ("localhost", "localhost"),
    ],
)
def test_names_have_one_form(text: str, name: str) -> None:
    assert host_name(text, typed=True) == name


@pytest.mark.parametrize(
    "text",
    [
        *("", ".", "a..b", "example.org..", ".example.org", "-a.example", "a-.example", "a b", "a\nb", "a\0b", "a/b"),
        *("a" * 64, ".".join(["a" * 60] * 5), "ex%61mple.org", "user@example.org", "[::1]", "::1%lo", "fe80::1%eth0"),
        # What resolvers read as 127.0.0.1.
        *("127.1", "2130706433", "0x7f000001", "0177.0.0.1", "127.0.0.01", "0x7f.0.0.1", "127.0.0.1.", "1.2.3.0x4"),
        "faß.example",
    ],
)
def test_what_is_no_host_name(text: str) -> None:
    with pytest.raises(RuleError):
        host_name(text, typed=True)


def test_programs_send_names_encoded() -> None:
    with pytest.raises(RuleError):
        host_name("bücher.example")


ALLOWED = allow_list(
    ["example.org", ".example.net", "*.example.com", "example.org:8443", "[2001:db8::1]:81", "192.0.2.7"]
)


@pytest.mark.parametrize(
    ("host", "port", "passes"),
    [
        ("example.org", 443, True),
        ("example.org", 80, True),
        ("example.org", 8443, True),
        ("example.org", 22, False),
        ("www.example.org", 443, False),
        ("badexample.org", 443, False),
        ("example.org.evil.test", 443, False),
        ("a.example.net", 443, True),
        ("a.b.example.net", 80, True),
        ("a.example.net", 8443, False),
        ("example.net", 443, False),
        ("aexample.net", 443, False),
        ("a.example.com", 443, True),
        ("example.com", 443, False),
        ("2001:db8::1", 81, True),
        ("2001:db8::1", 80, False),
        ("192.0.2.7", 443, True),
        ("192.0.2.8", 443, False),
    ],
)
def test_what_the_list_lets_through(host: str, port: int, passes: bool) -> None:
    assert (ALLOWED.rule(host, port) is not None) is passes


@pytest.mark.parametrize(
    "entry",
    [
        *("*", ".", "*.", ".org", "*.org", "https://example.org", "example.org/path", "example.org:", "example.org:0"),
        *("example.org:65536", "example.org:-1", "example.org:http", "example.org:80:80", "[::1", "[example.org]"),
        *("localhost", "127.0.0.1", "::1", "*.localhost:80", ".192.0.2.7", "private:", "", "a b", "٣.example:٣"),
    ],
)
def test_rules_that_are_refused(entry: str) -> None:
    with pytest.raises(RuleError):
        allow_list([entry])


def test_ports_of_this_machine() -> None:
    found = allow_list(["localhost:5432", "127.0.0.1:6379", "[::1]:5432", "example.org"])
    assert found == AllowList((HostRule("example.org"),), (5432, 6379))


def test_a_rule_for_a_private_address_wins() -> None:
    found = allow_list([".corp.example", "private:nexus.corp.example"])
    rule = found.rule("nexus.corp.example", 443)
    assert rule is not None
    assert rule.private
    other = found.rule("other.corp.example", 443)
    assert other is not None
    assert not other.private


def test_rules_are_written_as_they_are_read() -> None:
    entries = ["example.org", ".example.net", "example.org:8443", "[2001:db8::1]:81", "private:nexus.lan:8081"]
    found = allow_list(entries)
    assert str(found) == ", ".join(entries)
    assert allow_list(map(str, found.hosts)) == found
    assert str(AllowList()) == "no host"
    assert found.merged(found) == found


@given(st.text(alphabet="abc.-_:[]*%/ \0é0123456789x", max_size=30))
def test_any_text_is_a_rule_or_refused(text: str) -> None:
    try:
        found = allow_list([text])
    except RuleError:
        return
    assert allow_list(map(str, found.hosts)).hosts == found.hosts
    for rule in found.hosts:
        assert rule.name.lstrip(".") == host_name(rule.name.lstrip("."))


@given(st.text(alphabet="abc.:[]019 ", max_size=20))
def test_splitting_a_port_off(text: str) -> None:
    try:
        host, port = split_port(text)
    except RuleError:
        return
    assert port is None or 0 < port < 65_536
    assert host in text
