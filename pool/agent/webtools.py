"""The tools for the web that the settings switch on; none by default."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote

from pool.config.settings import Settings, SettingsError
from pool.config.web import WebSettings
from pool_tools import Tool
from pool_tools.network.rules import AllowList
from pool_tools.network.session import SessionNetwork

if TYPE_CHECKING:
    from pool_tools.web.fetching import Opens
    from pool_tools.web.provider import Provider

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def web_tools(settings: Settings, network: SessionNetwork | None) -> tuple[Tool, ...]:
    """The tools. network is what commands reach, None where nothing is fetched. Raises `SettingsError`."""
    tools: list[Tool] = []
    if settings.web.fetch:
        from pool_tools.web.fetch import FetchTool
        from pool_tools.web.markdown import missing_packages

        if missing := missing_packages():
            raise SettingsError(
                f"web.fetch needs the package {missing[0]!r}: pip install 'laguna-pool[fetch]', or switch it off"
            )
        tools.append(FetchTool(lambda: _opener(network), lambda: network.reached if network else AllowList()))
    if settings.web.search_url:
        from pool_tools.web.search import WebSearchTool

        tools.append(WebSearchTool(provider_of(settings.web, os.environ)))
    return tuple(tools)


def provider_of(web: WebSettings, environ: Mapping[str, str]) -> Provider:
    """The search provider that the settings describe. Raises `SettingsError`."""
    from pool_tools.web.provider import FIELDS, QUERY, Provider

    if not web.search_url.startswith(("http://", "https://")) or QUERY not in web.search_url:
        raise SettingsError(f"web.search_url must begin with http:// or https:// and hold {QUERY}, for the words")
    for name, _ in web.search_fields:
        if name not in FIELDS:
            raise SettingsError(f"web.search_fields has no {name!r}; there are {', '.join(FIELDS)}")

    def value(found: re.Match[str]) -> str:
        if found[1] not in environ:
            raise SettingsError(
                f"the search of the web: the variable {found[1]} is not set; set it before you start Pool"
            )
        return environ[found[1]]

    url = _VARIABLE.sub(lambda found: quote(value(found), safe=""), web.search_url)
    headers = {name: _VARIABLE.sub(value, text) for name, text in web.search_headers}
    return Provider(url, headers, dict(web.search_fields))


async def _opener(network: SessionNetwork | None) -> Opens:
    """What connects to hosts: never to the model server, this machine or private networks, unless `--net` names one."""
    from pool_tools.network.dial import Dialer

    return await network.page_dialer() if network else Dialer(os.environ)
