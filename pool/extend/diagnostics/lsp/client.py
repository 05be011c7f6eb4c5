"""One connection to a language server: open and change documents, get their diagnostics.

From the specification of LSP 3.17: diagnostics come by `textDocument/publishDiagnostics` whenever the server likes, or
are pulled by `textDocument/diagnostic` from servers that say so (`diagnosticProvider`). Positions count from 0.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
from pathlib import Path
from typing import Any, cast

from pool.extend.diagnostics.lsp.framing import NoProtocol, encode, read_message
from pool.extend.diagnostics.lsp.process import ServerProcess

SETTLE_SECONDS = 0.25
"""A server that does not say for which version its diagnostics are may publish twice; so long it is waited for that."""

SHUTDOWN_SECONDS = 1.0

_METHOD_NOT_FOUND = -32601
_ANSWERS: dict[str, Any] = {
    "client/registerCapability": None,
    "client/unregisterCapability": None,
    "window/workDoneProgress/create": None,
    "window/showMessageRequest": None,
    "workspace/workspaceFolders": None,
    "workspace/diagnostic/refresh": None,
}
"""Requests of servers that can be answered with nothing."""

Diagnostic = dict[str, Any]


class ServerGone(Exception):
    """The server ended, or said what is no protocol."""


class LanguageClient:
    """Speaks to a started server; `open` comes first, and `close` last."""

    def __init__(self, process: ServerProcess, root: Path, language: str) -> None:
        self._process = process
        self._root = root
        self._language = language
        self._ids = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._published: dict[str, tuple[int | None, list[Diagnostic]]] = {}
        self._arrived = asyncio.Event()
        self._sent: dict[str, tuple[int, str]] = {}
        self._pulls = False
        self._gone = ""
        self._reader = asyncio.create_task(self._read())

    async def open(self) -> None:
        """Shake hands. Raises `ServerGone`."""
        uri = self._root.as_uri()
        text = {
            "synchronization": {"dynamicRegistration": False},
            "publishDiagnostics": {"versionSupport": True, "relatedInformation": False},
            "diagnostic": {"dynamicRegistration": False, "relatedDocumentSupport": False},
        }
        hello = {
            "processId": None,
            "clientInfo": {"name": "pool"},
            "rootUri": uri,
            "rootPath": str(self._root),
            "workspaceFolders": [{"uri": uri, "name": self._root.name}],
            "capabilities": {"textDocument": text, "workspace": {"configuration": True, "workspaceFolders": True}},
        }
        answer: Any = await self._ask("initialize", hello)
        can = _object(_object(answer).get("capabilities"))
        self._pulls = bool(can.get("diagnosticProvider"))
        self._tell("initialized", {})

    async def diagnostics(self, path: Path, text: str) -> list[Diagnostic]:
        """What the server says of a document with this content. Raises `ServerGone`; has no limit of its own."""
        uri = path.as_uri()
        version = self._send(uri, text)
        if self._pulls:
            answer: Any = await self._ask("textDocument/diagnostic", {"textDocument": {"uri": uri}})
            return _items(_object(answer).get("items"))
        return await self._pushed(uri, version)

    async def close(self) -> None:
        """Say goodbye, as far as the server listens."""
        with contextlib.suppress(TimeoutError, ServerGone, OSError):
            async with asyncio.timeout(SHUTDOWN_SECONDS):
                await self._ask("shutdown", None)
                self._tell("exit", None)
        self._reader.cancel()
        await asyncio.gather(self._reader, return_exceptions=True)

    def _send(self, uri: str, text: str) -> int:
        """Tell the server a document's content, unless it knows it; its version."""
        version, known = self._sent.get(uri, (0, ""))
        if version and known == text and uri in self._published:
            return version
        version += 1
        self._sent[uri] = version, text
        self._published.pop(uri, None)
        document: dict[str, Any] = {"uri": uri, "version": version}
        if version == 1:
            opened = {**document, "languageId": self._language, "text": text}
            self._tell("textDocument/didOpen", {"textDocument": opened})
        else:
            changed = {"textDocument": document, "contentChanges": [{"text": text}]}
            self._tell("textDocument/didChange", changed)
        self._tell("textDocument/didSave", {"textDocument": {"uri": uri}})
        return version

    async def _pushed(self, uri: str, version: int) -> list[Diagnostic]:
        while True:
            self._arrived.clear()
            found = self._published.get(uri)
            if found is not None and found[0] == version:
                return found[1]
            if self._gone:
                raise ServerGone(self._gone)
            if found is None or found[0] is not None:
                await self._arrived.wait()
                continue
            try:
                async with asyncio.timeout(SETTLE_SECONDS):
                    await self._arrived.wait()
            except TimeoutError:
                return found[1]

    # -- messages

    async def _ask(self, method: str, params: Any) -> Any:
        if self._gone:
            raise ServerGone(self._gone)
        number = next(self._ids)
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        try:
            message = {"id": number, "method": method, **({} if params is None else {"params": params})}
            self._process.stdin.write(encode(message))
            return await future
        finally:
            self._waiting.pop(number, None)

    def _tell(self, method: str, params: Any) -> None:
        if not self._process.stdin.is_closing():
            message = {"method": method, **({} if params is None else {"params": params})}
            self._process.stdin.write(encode(message))

    async def _read(self) -> None:
        why = "it ended"
        try:
            while (message := await read_message(self._process.stdout)) is not None:
                self._take(message)
        except NoProtocol as error:
            why = f"it sent {error}"
        except OSError as error:
            why = f"it cannot be read: {error.strerror}"
        finally:
            self._gone = why
            self._arrived.set()
            for future in self._waiting.values():
                if not future.done():
                    future.set_exception(ServerGone(why))

    def _take(self, message: dict[str, Any]) -> None:
        method, number = message.get("method"), message.get("id")
        if isinstance(method, str) and number is not None:
            self._answer(method, number, _object(message.get("params")))
        elif method == "textDocument/publishDiagnostics":
            params = _object(message.get("params"))
            version = params.get("version")
            uri = _same(str(params.get("uri", "")))
            known = version if isinstance(version, int) else None
            self._published[uri] = known, _items(params.get("diagnostics"))
            self._arrived.set()
        elif isinstance(number, int) and (future := self._waiting.get(number)) is not None and not future.done():
            if "error" in message:
                text = _object(message["error"]).get("message")
                future.set_exception(ServerGone(f"it refused a request: {text}"))
            else:
                future.set_result(message.get("result"))

    def _answer(self, method: str, number: Any, params: dict[str, Any]) -> None:
        if method == "workspace/configuration":
            reply: dict[str, Any] = {"result": [None for _ in _items(params.get("items"))]}
        elif method in _ANSWERS:
            reply = {"result": _ANSWERS[method]}
        else:
            reply = {"error": {"code": _METHOD_NOT_FOUND, "message": f"{method} is not offered"}}
        if not self._process.stdin.is_closing():
            self._process.stdin.write(encode({"id": number, **reply}))


def _same(uri: str) -> str:
    """A file's address as `Path.as_uri` writes it: servers quote other characters than Python does."""
    from urllib.parse import unquote, urlsplit

    parts = urlsplit(uri)
    path = unquote(parts.path)
    return Path(path).as_uri() if parts.scheme == "file" and os.path.isabs(path) else uri


def _object(value: Any) -> dict[str, Any]:
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def _items(value: Any) -> list[dict[str, Any]]:
    return [_object(one) for one in cast(list[Any], value)] if isinstance(value, list) else []
