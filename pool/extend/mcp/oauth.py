"""OAuth for servers with an address, by the official SDK: a login with a person, and its use by sessions."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable

import httpx2
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthMetadata, OAuthToken
from pydantic import AnyUrl

from pool.config.mcp import McpServer
from pool.extend.mcp.logins import Login, Logins

_UNAUTHORIZED = 401
_EARLY_SECONDS = 30.0
"""A token that has less left is renewed first."""


class LoginStore:
    """The SDK's store over `Logins`: begins empty at a new login, else with what is kept."""

    def __init__(self, logins: Logins, server: McpServer, login: Login | None = None) -> None:
        self._logins = logins
        self._server = server
        self._tokens = OAuthToken.model_validate(login.tokens) if login else None
        self._client = OAuthClientInformationFull.model_validate(login.client) if login else None
        self.metadata = OAuthMetadata.model_validate(login.metadata) if login and login.metadata else None
        self.expires = login.expires if login else 0.0
        self.place = ""
        """Where it was kept, once it was."""

    async def get_tokens(self) -> OAuthToken | None:
        return self._tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self._tokens = tokens
        self.expires = time.time() + tokens.expires_in if tokens.expires_in else 0.0
        await self.save()

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self._client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._client = client_info

    async def save(self) -> None:
        """Keep all of it, once there are tokens. Raises OSError."""
        if self._tokens is None or self._client is None:
            return
        metadata = self.metadata.model_dump(mode="json", exclude_none=True) if self.metadata else {}
        login = Login(
            self._tokens.model_dump(mode="json", exclude_none=True),
            self._client.model_dump(mode="json", exclude_none=True),
            metadata,
            self.expires,
        )
        self.place = await asyncio.to_thread(self._logins.write, self._server, login)


def new_login(
    server: McpServer,
    store: LoginStore,
    redirect: str,
    show: Callable[[str], Awaitable[None]],
    answer: Callable[[], Awaitable[AuthorizationCodeResult]],
) -> OAuthClientProvider:
    """Authorises by asking a person. redirect is where the browser comes back to; show brings the address before them,
    answer gives what came back.
    """
    metadata = OAuthClientMetadata(
        client_name="Pool", redirect_uris=[AnyUrl(redirect)], token_endpoint_auth_method="none"
    )
    return OAuthClientProvider(server.url, metadata, store, show, answer)


class KeptLogin(OAuthClientProvider):
    """Uses a login that is kept: renews its token where it has run out, and looks for nothing else by itself."""

    def __init__(self, server: McpServer, store: LoginStore, refused: Callable[[], object]) -> None:
        """refused is called when the server does not take the login any more."""
        super().__init__(server.url, OAuthClientMetadata(redirect_uris=[AnyUrl("http://127.0.0.1/")]), store)
        self._store = store
        self._refused = refused

    async def _initialize(self) -> None:
        await super()._initialize()
        self.context.oauth_metadata = self._store.metadata
        # What the SDK does not keep: without it a token that ran out in another session would be sent as if it held.
        self.context.token_expiry_time = self._store.expires - _EARLY_SECONDS if self._store.expires else None

    async def _auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        async with self.context.lock:
            if not self._initialized:
                await self._initialize()
            renewed = False
            if not self.context.is_token_valid() and self.context.can_refresh_token():
                renewed = True
                await self._handle_refresh_response((yield await self._refresh_token()))
            self._add_auth_header(request)
            response = yield request
            if response.status_code == _UNAUTHORIZED and not renewed and self.context.can_refresh_token():
                await self._handle_refresh_response((yield await self._refresh_token()))
                self._add_auth_header(request)
                response = yield request
            if response.status_code == _UNAUTHORIZED:
                self._refused()
