"""A model server with several conversations: each is told apart by its first message, and plays a script of its own."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from tests.cases.driver import MODEL, WINDOW_TOKENS, Json, Step, objection, refuse
from tests.wire.scripted import Exchange, ScriptedServer

GIT = ("git", "-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")


class Talks(ScriptedServer):
    """scripts are steps by a word of the first user message; bodies are the requests of each, by the same word.

    documents are what GETs are answered with, by the end of their path.
    """

    def __init__(self, scripts: Mapping[str, Sequence[Step]], documents: Mapping[str, Any] | None = None) -> None:
        super().__init__(self._answer, "127.0.0.1")
        self.scripts = scripts
        self.documents = documents or {}
        self.bodies: dict[str, list[Json]] = {word: [] for word in scripts}
        self.complaints: list[str] = []
        self.open: dict[str, int] = dict.fromkeys(scripts, 0)
        self.most_open = 0
        self.authorizations: set[str] = set()

    async def _answer(self, exchange: Exchange) -> None:
        if exchange.method == "GET":
            await self._describe(exchange)
            return
        self.authorizations.add(exchange.headers.get("authorization", ""))
        body = cast(Json, json.loads(exchange.body))
        first = str(body["messages"][1]["content"])
        word = next(word for word in self.scripts if word in first)
        bodies = self.bodies[word]
        if complaint := objection(body, bodies[-1] if bodies else None):
            self.complaints.append(f"{word}: {complaint}")
            await refuse(400, complaint)(exchange)
            return
        bodies.append(body)
        self.open[word] += 1
        self.most_open = max(self.most_open, sum(self.open.values()))
        steps = self.scripts[word]
        try:
            await steps[min(len(bodies), len(steps)) - 1](exchange)
        finally:
            self.open[word] -= 1

    async def _describe(self, exchange: Exchange) -> None:
        for path, document in self.documents.items():
            if exchange.path.endswith(path):
                if isinstance(document, str):
                    await exchange.reply(200, document, {"content-type": "text/plain"})
                else:
                    await exchange.reply_json(document)
                return
        if exchange.path.endswith("/models"):
            model = {"id": MODEL, "owned_by": "vllm", "max_model_len": WINDOW_TOKENS}
            await exchange.reply_json({"object": "list", "data": [model]})
        else:
            await exchange.reply_json({"detail": "Not Found"}, 404)

    def results(self, word: str) -> list[str]:
        """What the last request of a conversation has of results of calls."""
        return [str(m["content"]) for m in self.bodies[word][-1]["messages"] if m["role"] == "tool"]


def repository(folder: Path) -> Path:
    """A repository with one commit of `a.txt`."""
    folder.mkdir()
    (folder / "a.txt").write_text("one\n")
    for args in (("init", "-qb", "main"), ("add", "-A"), ("commit", "-qm", "First")):
        subprocess.run([*GIT, *args], cwd=folder, check=True)
    return folder


def git(folder: Path, *args: str) -> str:
    """What git says there."""
    return subprocess.run([*GIT, *args], cwd=folder, check=True, capture_output=True, text=True).stdout
