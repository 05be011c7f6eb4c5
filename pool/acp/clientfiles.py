"""Files of the workspace as the client has them: `fs/read_text_file` and `fs/write_text_file`, called from threads."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, cast

from pool.extend.acp.errors import METHOD_NOT_FOUND, Gone, RpcError
from pool.extend.acp.peer import Peer
from pool.messages import valid_text

Json = dict[str, Any]

ANSWER_SECONDS = 10.0
"""How long a client may take for one file; afterwards the disk counts."""

_Failures = (RpcError, Gone, TimeoutError, concurrent.futures.CancelledError)


class ClientFiles:
    """Implements `pool_tools.editorfiles.EditorFiles`. reads and writes say what the client offers.

    real is the workspace as tools name it, shown as the client did: the two differ where a link leads there.
    """

    def __init__(self, peer: Peer, session: str, real: Path, shown: Path, *, reads: bool, writes: bool) -> None:
        self._peer = peer
        self._loop = asyncio.get_running_loop()
        self._session = session
        self._real = real
        self._shown = shown
        self._reads = reads
        self._writes = writes
        self._waiting: set[concurrent.futures.Future[Any]] = set()

    def read(self, path: str) -> str | None:
        """The text that the client has; None where it offers none, has none, or answers with no text."""
        if not self._reads:
            return None
        try:
            given = self._ask("fs/read_text_file", {"path": self._path(path)})
        except _Failures as error:
            self._reads = not _unknown(error)
            return None
        content = cast(Json, given).get("content") if isinstance(given, dict) else None
        return content if isinstance(content, str) and valid_text(content) == content else None

    def write(self, path: str, text: str) -> str | None:
        """Let the client change and save a file: "" if it did, why not, or None where it offers no such thing."""
        if not self._writes:
            return None
        try:
            self._ask("fs/write_text_file", {"path": self._path(path), "content": text})
        except _Failures as error:
            self._writes = not _unknown(error)
            return (str(error) or "it did not answer") if self._writes else None
        return ""

    def give_up(self) -> None:
        """Wait for no answer any more: the turn is cancelled."""
        for future in list(self._waiting):
            future.cancel()

    def _path(self, path: str) -> str:
        place = Path(path)
        return str(self._shown / place.relative_to(self._real)) if place.is_relative_to(self._real) else path

    def _ask(self, method: str, params: Json) -> Any:
        request = self._peer.request(method, {"sessionId": self._session, **params})
        future = self._begin(request)
        self._waiting.add(future)
        try:
            return future.result(ANSWER_SECONDS)
        finally:
            self._waiting.discard(future)
            future.cancel()

    def _begin(self, request: Coroutine[Any, Any, Any]) -> concurrent.futures.Future[Any]:
        return asyncio.run_coroutine_threadsafe(request, self._loop)


def _unknown(error: Exception | BaseException) -> bool:
    return isinstance(error, RpcError) and error.code == METHOD_NOT_FOUND
