"""One side of a JSON-RPC connection: takes messages, hands them to handlers, sends requests and awaits their answers.

Knows no transport: `send` takes a message, `take` is given one. Requests are worked side by side, each in a task that
begins in the order in which the messages came.
"""

from __future__ import annotations

import asyncio
import json
import math
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

from pool.extend.acp.errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    REQUEST_CANCELLED,
    Gone,
    RpcError,
)
from pool_tools.frozen import frozen

CANCEL_REQUEST = "$/cancel_request"

Json = dict[str, Any]


@frozen
class Answer:
    """What a request is answered with; then is called once the answer has been handed to the transport."""

    result: Any
    then: Callable[[], object]


Handler = Callable[[Json], Awaitable[Any]]
"""Gets the params, an object; gives the result, or an `Answer`. Raises `RpcError`."""


Complain = Callable[[str, Exception], object]


def complain(method: str, error: Exception) -> None:
    """A defect, for whoever reads the log of the editor."""
    sys.stderr.write(f"pool acp: {method} failed inside: {error!r}\n")


class Peer:
    """A connection. methods are requests, heard are notifications, by name.

    complain gets the method and the error where a handler failed inside.
    """

    def __init__(
        self, send: Callable[[bytes], object], complain: Callable[[str, Exception], object] = complain
    ) -> None:
        self._send = send
        self._complain = complain
        self.methods: Mapping[str, Handler] = {}
        self.heard: Mapping[str, Handler] = {}
        self._next = 0
        self._asked: dict[int, asyncio.Future[Any]] = {}
        self._working: dict[str, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._hung_up = False
        self._closed = False

    # -- sending

    def notify(self, method: str, params: Json) -> None:
        """Tell something that is not answered."""
        self._write({"jsonrpc": "2.0", "method": method, "params": params})

    async def request(self, method: str, params: Json) -> Any:
        """Ask; the result. Raises `RpcError` as the other side says, and `Gone`."""
        if self._hung_up or self._closed:
            raise Gone
        number, self._next = self._next, self._next + 1
        future = asyncio.get_running_loop().create_future()
        self._asked[number] = future
        try:
            self._write({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
            return await future
        finally:
            del self._asked[number]

    def _write(self, message: Json) -> None:
        if not self._closed:
            self._send(encoded(message))

    # -- taking

    def take(self, line: bytes) -> None:
        """Take a message. Never raises: what is no message is answered with an error."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError) as error:
            self._fail(None, RpcError(PARSE_ERROR, f"this is no JSON: {_short(error)}"))
            return
        self._take(message)

    def _take(self, message: Any) -> None:
        if not isinstance(message, dict):
            what = "batches are not part of the protocol" if isinstance(message, list) else "an object is wanted"
            self._fail(None, RpcError(INVALID_REQUEST, f"this is no message: {what}"))
            return
        row = cast(Json, message)
        method, number = row.get("method"), row.get("id")
        if method is None and ("result" in row or "error" in row):
            self._answered(row)
        elif not isinstance(method, str):
            self._fail(_id(number), RpcError(INVALID_REQUEST, "this is no message: `method` is missing"))
        elif "id" not in row:
            self._hear(method, row.get("params"))
        elif number is not None and _id(number) is None:
            self._fail(None, RpcError(INVALID_REQUEST, "`id` has to be a number or a text"))
        else:
            self._begin(method, row.get("params"), number)

    def _answered(self, row: Json) -> None:
        number = row.get("id")
        future = self._asked.get(number) if isinstance(number, int) else None
        if future is None or future.done():
            return
        error = row.get("error")
        if error is None:
            future.set_result(row.get("result"))
            return
        given = cast(Json, error) if isinstance(error, dict) else Json()
        code = given.get("code")
        text = str(given.get("message") or "no reason was given")
        future.set_exception(RpcError(code if isinstance(code, int) else INTERNAL_ERROR, text, given.get("data")))

    def _hear(self, method: str, params: Any) -> None:
        if method == CANCEL_REQUEST:
            row = cast(Json, params) if isinstance(params, dict) else Json()
            task = self._working.get(_key(row.get("requestId")))
            if task is not None:
                task.cancel()
            return
        handler = self.heard.get(method)
        if handler is None:
            return
        self._spawn(self._told(handler, method, params))

    def _begin(self, method: str, params: Any, number: Any) -> None:
        handler = self.methods.get(method)
        if handler is None:
            self._fail(number, RpcError(METHOD_NOT_FOUND, f"there is no method {method!r}"))
            return
        task = self._spawn(self._worked(handler, method, params, number))
        key = _key(number)
        self._working[key] = task
        task.add_done_callback(lambda done: self._working.pop(key, None) if self._working.get(key) is done else None)

    def _spawn(self, work: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _worked(self, handler: Handler, method: str, params: Any, number: Any) -> None:
        then: Callable[[], object] = _nothing
        try:
            result = await handler(_object(params))
            if isinstance(result, Answer):
                result, then = result.result, result.then
            self._write({"jsonrpc": "2.0", "id": number, "result": result})
        except RpcError as error:
            self._fail(number, error)
        except Gone:
            return
        except asyncio.CancelledError:
            self._fail(number, RpcError(REQUEST_CANCELLED, "the request was taken back"))
            return
        except Exception as error:
            self._complain(method, error)
            self._fail(number, RpcError(INTERNAL_ERROR, f"Pool failed inside: {error!r}; please report this"))
        then()

    async def _told(self, handler: Handler, method: str, params: Any) -> None:
        try:
            await handler(_object(params))
        except (RpcError, Gone):
            return
        except Exception as error:
            self._complain(method, error)

    def _fail(self, number: Any, error: RpcError) -> None:
        self._write({"jsonrpc": "2.0", "id": number, "error": error.to_json()})

    def refuse(self, error: RpcError) -> None:
        """Answer something that was no message."""
        self._fail(None, error)

    # -- ending

    def hang_up(self) -> None:
        """The other side sends nothing more: what was asked of it fails with `Gone`."""
        self._hung_up = True
        for future in self._asked.values():
            if not future.done():
                future.set_exception(Gone())

    async def settled(self) -> None:
        """Wait until all that was taken has been worked."""
        while self._tasks:
            await asyncio.wait(set(self._tasks))

    def close(self) -> None:
        """Send nothing more."""
        self._closed = True


def encoded(message: Json) -> bytes:
    """A message as one line of UTF-8. What strict readers refuse is changed: lone surrogates become question marks,
    and numbers that JSON does not have (a model may call a tool with 1e999) null.
    """
    try:
        text = json.dumps(message, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except ValueError:
        text = json.dumps(_finite(message), ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace") + b"\n"


def _finite(value: Any) -> Any:
    match value:
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {key: _finite(one) for key, one in cast(Json, value).items()}
        case list() | tuple():
            return [_finite(one) for one in cast(list[Any], value)]
        case _:
            return value


def _object(params: Any) -> Json:
    if params is None:
        return {}
    if not isinstance(params, dict):
        raise RpcError(INVALID_PARAMS, "`params` has to be an object")
    return cast(Json, params)


def _id(number: Any) -> Any:
    """An id as it can be answered; None for what is none."""
    if isinstance(number, bool) or not isinstance(number, int | float | str):
        return None
    return None if isinstance(number, float) and not math.isfinite(number) else number


def _key(number: Any) -> str:
    """Ids 1 and "1" are two."""
    return f"{type(number).__name__}:{number}"


def _short(error: Exception) -> str:
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)


def _nothing() -> None:
    return None
