"""The web through the whole agent: off by default, asked for each host, with rules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pool.agent import webtools
from pool.agent.rules.given import rules_of
from pool.agent.rules.syntax import Action, RuleError, parse_rule
from pool.config.settings import Mode, Settings, SettingsError
from pool.config.web import WebSettings
from pool.events import CallFinished
from pool_tools.network.dial import Dialer
from pool_tools.network.session import SessionNetwork
from tests.cases.driver import Json, ModelServer, answer, call, driving
from tests.tools.web.site import moved, page, serving

FETCHING = WebSettings(fetch=True)


def names(body: Json) -> list[str]:
    return [tool["function"]["name"] for tool in body["tools"]]


async def test_nothing_of_it_is_in_the_prompt_unless_it_is_switched_on(tmp_path: Path) -> None:
    async with ModelServer(answer("Done.")) as server, driving(server.url, tmp_path) as driver:
        await driver.run()
    prompt = json.dumps(server.bodies[0])
    assert "fetch" not in names(server.bodies[0])
    assert "web_search" not in prompt


async def test_a_page_is_read_where_a_rule_allows_its_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A redirect to a host that no rule allows ends the call as a denied one."""
    pages = {"a.example/": page("told", "text/plain"), "a.example/on": moved("http://b.example/")}
    steps = (
        call("fetch", "c1", url="http://a.example/"),
        call("fetch", "c2", url="http://a.example/on"),
        call("fetch", "c3", url="http://c.example/"),
        answer("Done."),
    )
    async with serving(pages) as site, ModelServer(*steps) as server:

        async def dialer(network: SessionNetwork) -> Dialer:
            return Dialer({}, site.resolve, site.connect)

        monkeypatch.setattr(SessionNetwork, "page_dialer", dialer)
        more: dict[str, Any] = {"web": FETCHING, "mode": Mode.DEFAULT, "allow": ("fetch(a.example)",)}
        async with driving(server.url, tmp_path, **more) as driver:
            run = await driver.run()
    first, second, third = run.of(CallFinished)
    assert [one.status for one in (first, second, third)] == ["ok", "denied", "denied"]
    assert "told" in first.text
    assert "leads to http://b.example/, which was not approved" in second.text
    assert "--allow 'fetch(c.example)'" in third.text
    assert site.asked == ["a.example/", "a.example/on"]


@pytest.mark.parametrize(
    ("action", "rule", "url", "met"),
    [
        ("allow", "fetch", "https://any.example/", True),
        ("allow", "fetch(a.example)", "https://A.example./x", True),
        ("allow", "fetch(a.example)", "https://b.a.example/", False),
        ("allow", "fetch(.a.example)", "https://b.a.example/", True),
        ("allow", "fetch(a.example)", "http://a.example:8080/", False),
        ("allow", "fetch(a.example:8080)", "http://a.example:8080/", True),
        ("allow", "fetch(a.example)", "https://a.example@evil.example/", False),
        ("deny", "fetch(a.example)", "http://a.example:8080/", True),
        ("deny", "fetch(.a.example)", "http://b.a.example:81/", True),
        ("ask", "fetch(*)", "http://a.example/", True),
    ],
)
def test_rules_for_hosts(tmp_path: Path, action: str, rule: str, url: str, met: bool) -> None:
    given: dict[str, Any] = {action: (rule,)}
    verdict = rules_of(Settings(tmp_path, **given), ["fetch"]).judge("fetch", {"url": url})
    assert (verdict.action is Action(action)) is met


@pytest.mark.parametrize(
    "text", ["fetch(http://a.example/)", "fetch(private:a.example)", "fetch(localhost:1)", "fetch(.com)"]
)
def test_rules_that_are_no_hosts(text: str) -> None:
    with pytest.raises(RuleError):
        parse_rule(Action.ALLOW, text)


def test_a_rule_for_a_tool_that_is_off_is_no_mistake(tmp_path: Path) -> None:
    assert rules_of(Settings(tmp_path, allow=("fetch(a.example)", "web_search")), ["read"]).rules


@pytest.mark.parametrize(
    ("web", "said"),
    [
        (WebSettings(search_url="https://s.example/"), "hold {query}"),
        (WebSettings(search_url="ftp://s.example/{query}"), "begin with http"),
        (WebSettings(search_url="https://s/{query}", search_headers=(("K", "${NOT_SET_1}"),)), "NOT_SET_1 is not set"),
        (WebSettings(search_url="https://s/{query}", search_fields=(("titel", "x"),)), "no 'titel'"),
    ],
)
def test_a_provider_that_is_described_wrongly(tmp_path: Path, web: WebSettings, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        webtools.web_tools(Settings(tmp_path, web=web), None)


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pool_tools.web.markdown.PACKAGES", ("not_there_1",))
    with pytest.raises(SettingsError, match=r"not_there_1.*laguna-pool\[fetch\]"):
        webtools.web_tools(Settings(tmp_path, web=FETCHING), None)


def test_variables_stand_in_headers_and_in_the_address() -> None:
    web = WebSettings(search_url="https://s.example/?k=${K}&q={query}", search_headers=(("X-Key", "${K}"),))
    provider = webtools.provider_of(web, {"K": "s3cret"})
    assert provider.headers == {"X-Key": "s3cret"}
    assert provider.address("a b") == "https://s.example/?k=s3cret&q=a%20b"
    assert "s3cret" not in repr(provider)
