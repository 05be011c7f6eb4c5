"""Where connections go: checked addresses, the model server never, the user's own proxy where there is one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import pytest

from pool_tools.network.dial import Dialer, Resolve, Upstream, upstream_for
from pool_tools.network.head import Refused
from pool_tools.network.rules import HostRule


def resolver(names: Mapping[str, Sequence[str]]) -> Resolve:
    """Gives the addresses of names, and fails for others as the system's does."""

    async def resolve(host: str, port: int) -> Sequence[str]:
        await asyncio.sleep(0)
        if host not in names:
            raise OSError("Name or service not known")
        return names[host]

    return resolve


async def refused(dialer: Dialer, host: str, port: int = 443, *, rule: HostRule | None = None) -> Refused:
    with pytest.raises(Refused) as error:
        await dialer.open(host, port, rule or HostRule(host), tunnel=True)
    return error.value


@pytest.mark.parametrize(
    ("addresses", "kind"),
    [
        (["127.0.0.1"], "a loopback address"),
        (["192.168.1.5"], "a private address"),
        (["169.254.169.254"], "a link-local address"),
        (["fd00:ec2::254"], "a metadata service"),
        (["::ffff:10.0.0.1"], "a private address"),
        (["1.1.1.1", "10.0.0.1"], "a private address"),
        (["ff02::1"], "a multicast address"),
    ],
)
async def test_names_that_lead_inside(addresses: list[str], kind: str) -> None:
    reason = await refused(Dialer({}, resolver({"in.example": addresses})), "in.example")
    assert reason.status == 403
    assert f"in.example lies at {addresses[-1]}, {kind}" in reason.reason
    assert ("--net private:in.example" in reason.reason) is (kind == "a private address")


async def test_a_private_host_must_not_be_this_machine() -> None:
    rule = HostRule("in.example", private=True)
    reason = await refused(Dialer({}, resolver({"in.example": ["127.0.0.1"]})), "in.example", rule=rule)
    assert "a loopback address" in reason.reason


async def test_a_name_without_an_address() -> None:
    reason = await refused(Dialer({}, resolver({})), "none.example")
    assert (reason.status, "none.example has no address" in reason.reason) == (502, True)


async def test_the_model_server_is_never_reached() -> None:
    names = {"model.example": ["198.51.100.7"], "alias.example": ["198.51.100.7"], "here.example": ["127.0.0.1"]}
    dialer = Dialer({}, resolver(names))
    assert await dialer.forbid("Model.example", 8000) is False
    for host in ("model.example", "alias.example"):
        reason = await refused(dialer, host, 8000)
        assert "is the model server" in reason.reason
    assert await dialer.forbid("here.example", 8000) is True
    assert await dialer.forbid("unknown.example", 8000) is False
    assert "is the model server" in (await refused(dialer, "unknown.example", 8000)).reason


async def test_a_hosted_model_leaves_its_neighbours_at_the_same_address_alone() -> None:
    names = {"model.example": ["127.0.0.2"], "other.example": ["127.0.0.2"]}
    dialer = Dialer({}, resolver(names))
    await dialer.forbid("model.example", 443)
    assert "is the model server" in (await refused(dialer, "model.example")).reason
    assert "a loopback address" in (await refused(dialer, "other.example")).reason


@pytest.mark.parametrize(
    ("environ", "found"),
    [
        ({}, None),
        ({"HTTPS_PROXY": ""}, None),
        ({"HTTPS_PROXY": "http://proxy.example:3128"}, Upstream("proxy.example", 3128)),
        ({"https_proxy": "proxy.example:3128"}, Upstream("proxy.example", 3128)),
        ({"ALL_PROXY": "http://proxy.example"}, Upstream("proxy.example", 80)),
        ({"HTTP_PROXY": "http://proxy.example"}, None),
        ({"HTTPS_PROXY": "https://proxy.example"}, Upstream("proxy.example", 443, True)),
        (
            {"HTTPS_PROXY": "http://us%20er:p%40ss@proxy.example:1"},
            Upstream("proxy.example", 1, False, b"Proxy-Authorization: Basic dXMgZXI6cEBzcw==\r\n"),
        ),
        ({"HTTPS_PROXY": "http://proxy.example:1", "NO_PROXY": "*"}, None),
        ({"HTTPS_PROXY": "http://proxy.example:1", "NO_PROXY": "other, example.org"}, None),
        ({"HTTPS_PROXY": "http://proxy.example:1", "NO_PROXY": ".example.org"}, None),
        ({"HTTPS_PROXY": "http://proxy.example:1", "NO_PROXY": "ample.org"}, Upstream("proxy.example", 1)),
    ],
)
def test_the_users_own_proxy(environ: dict[str, str], found: Upstream | None) -> None:
    assert upstream_for("www.example.org", environ, tls=True) == found


def test_a_proxy_of_another_kind() -> None:
    with pytest.raises(Refused, match="kind \\(socks5\\)"):
        upstream_for("example.org", {"ALL_PROXY": "socks5://proxy.example:1080"}, tls=False)


async def test_behind_a_proxy_names_need_no_address_here_but_private_ones_are_refused() -> None:
    # Nothing listens there: that the proxy was tried is seen from the words.
    dialer = Dialer({"HTTPS_PROXY": "http://127.0.0.1:1"}, resolver({"in.example": ["10.0.0.1"]}))
    assert "the proxy 127.0.0.1:1 could not be reached" in (await refused(dialer, "out.example")).reason
    assert "a private address" in (await refused(dialer, "in.example")).reason
