"""Files that an agent reads and writes through Pool: those of the workspace only, by the rules of Pool's own tools."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from pool.extend.acp.errors import INVALID_REQUEST, RESOURCE_NOT_FOUND, RpcError, bad_params
from pool_tools.api import ToolError
from pool_tools.blocking import CancelFlag
from pool_tools.workspace import Workspace

Json = dict[str, Any]

WRITTEN_CHARS_MOST = 20_000_000


class AgentFiles:
    """`fs/read_text_file` and `fs/write_text_file` in one folder. Close it to give the handle back."""

    def __init__(self, folder: Path) -> None:
        self._workspace = Workspace(folder)

    def close(self) -> None:
        self._workspace.close()

    async def read(self, params: Json) -> Json:
        """The text of a file, from `line` (the first is 1) and of at most `limit` lines. Raises `RpcError`."""
        path, line, limit = _path(params), _count(params, "line"), _count(params, "limit")
        text = await asyncio.to_thread(self._read, path)
        if line is not None or limit is not None:
            start = max(0, (line or 1) - 1)
            rows = text.splitlines(keepends=True)[start:]
            text = "".join(rows if limit is None else rows[:limit])
        return {"content": text}

    async def write(self, params: Json) -> None:
        """Put a text into a file, which is made if it is not there. Raises `RpcError`."""
        path, content = _path(params), params.get("content")
        if not isinstance(content, str) or len(content) > WRITTEN_CHARS_MOST:
            raise bad_params(f"`content` has to be a text of at most {WRITTEN_CHARS_MOST:,} characters")
        await asyncio.to_thread(self._write, path, content)

    def _read(self, path: str) -> str:
        try:
            with self._workspace.locate(path) as place:
                if place.stat is None:
                    raise RpcError(RESOURCE_NOT_FOUND, f"{self._workspace.shown(place)} does not exist")
                return self._workspace.read(place).data.decode()
        except ToolError as error:
            raise RpcError(INVALID_REQUEST, str(error)) from None
        except UnicodeDecodeError:
            raise RpcError(INVALID_REQUEST, f"{path} is no text in UTF-8") from None
        except OSError as error:
            raise RpcError(INVALID_REQUEST, f"{path} cannot be read: {error.strerror}") from None

    def _write(self, path: str, content: str) -> None:
        try:
            with self._workspace.locate(path) as place:
                self._workspace.check_writable(place)
                self._workspace.replace(place, content.encode(), place.stat, CancelFlag())
        except ToolError as error:
            raise RpcError(INVALID_REQUEST, str(error)) from None
        except (OSError, UnicodeEncodeError) as error:
            raise RpcError(INVALID_REQUEST, f"{path} cannot be written: {error}") from None


def _path(params: Json) -> str:
    path = params.get("path")
    if not isinstance(path, str) or not path.startswith("/") or "\0" in path:
        raise bad_params("`path` has to be an absolute path")
    return path


def _count(params: Json, name: str) -> int | None:
    """A number of lines, None where it is not given."""
    value = params.get(name)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise bad_params(f"`{name}` has to be a number of lines")
    return value
