"""Recording: sends a case's request and keeps what comes back, byte for byte."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

from tests.realserver.vllm.cases import KEPT_FILES, Case
from tests.realserver.vllm.serving import API_KEY

READ_SECONDS = 120.0
KILL_AFTER_BYTES = 20_000
"""How much of a reply has come when the engine is killed."""

KEPT_HEADERS = ("content-type", "retry-after", "www-authenticate")


def record(case: Case, url: str, folder: Path, kill_engine: Callable[[], None] | None = None) -> None:
    """Record a case of the server at url into folder/NAME. kill_engine is called in the middle of the stream."""
    target = folder / case.name
    target.mkdir(parents=True, exist_ok=True)
    for name in KEPT_FILES:
        if (case.folder / name).exists():
            shutil.copyfile(case.folder / name, target / name)
    with httpx.Client(base_url=url, trust_env=False, timeout=READ_SECONDS) as client:
        if not case.stream:
            _keep_answer(target, _send(client, case.exchange))
            return
        _record_stream(client, case, target, kill_engine)
        if case.whole:
            response = _send(client, _scripted(case, stream=False))
            if response.is_success:
                (target / "whole.json").write_bytes(response.content)


def _record_stream(client: httpx.Client, case: Case, target: Path, kill_engine: Callable[[], None] | None) -> None:
    exchange = _scripted(case, stream=True)
    with client.stream("POST", exchange["path"], json=exchange["body"], headers=_headers(exchange)) as response:
        data = bytearray()
        for chunk in response.iter_raw():
            data += chunk
            if kill_engine and len(data) > KILL_AFTER_BYTES:
                kill_engine()
                kill_engine = None
    if response.is_success:
        (target / "stream.sse").write_bytes(data)
    else:
        _keep(target, response, bytes(data))


def _scripted(case: Case, *, stream: bool) -> dict[str, Any]:
    """The exchange with the script's name, streaming or not; options of a stream are left out where there is none."""
    exchange = case.exchange
    extra = {"script": case.name} | ({"steps": case.steps} if case.steps else {})
    body: dict[str, Any] = {**exchange["body"], "stream": stream, "vllm_xargs": extra}
    if not stream:
        body.pop("stream_options", None)
    return {**exchange, "body": body}


def _send(client: httpx.Client, exchange: dict[str, Any]) -> httpx.Response:
    body = exchange.get("body")
    content = None if body is None else body.encode() if isinstance(body, str) else json.dumps(body).encode()
    return client.request(exchange["method"], exchange["path"], content=content, headers=_headers(exchange))


def _headers(exchange: dict[str, Any]) -> dict[str, str]:
    key = exchange.get("authorization", f"Bearer {API_KEY}")
    return {"Content-Type": "application/json", "Authorization": key}


def _keep_answer(target: Path, response: httpx.Response) -> None:
    _keep(target, response, response.content)


def _keep(target: Path, response: httpx.Response, body: bytes) -> None:
    headers = {name: response.headers[name] for name in KEPT_HEADERS if name in response.headers}
    described = json.dumps({"status": response.status_code, "headers": headers}, indent=1)
    (target / "response.json").write_text(described + "\n")
    (target / "response.body").write_bytes(body)
