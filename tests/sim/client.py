"""A minimal client: an agent loop with real tools, to drive the simulator's model, and readers of its bytes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from pool.sim.settings import DEFAULT_MODEL

REPOSITORY = Path(__file__).parents[2]
RECORDINGS = REPOSITORY / "tests" / "wire" / "recordings" / "vllm-0.25.1"
PROMPT = "The tests fail. Find out why and mend the code, not the tests."
PAGE_LINES = 30
COMMAND_SECONDS = 60
QUICK_PYTEST = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
THINKING = {"enable_thinking": True}
NOT_THINKING = {"enable_thinking": False}

Json = dict[str, Any]


def function(name: str, required: tuple[str, ...], **properties: Json) -> Json:
    """A tool in a request's `tools`."""
    parameters = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": name, "parameters": parameters}}


TEXT: Json = {"type": "string"}
NUMBER: Json = {"type": "integer"}
EDITS: Json = {"type": "array", "items": {"type": "object", "properties": {"old": TEXT, "new": TEXT}}}


def tools_in(dialect: str) -> list[Json]:
    """The `tools` of a client that reads, edits and runs; dialects differ in names, parameters and what there is."""
    match dialect:
        case "bar":
            return [
                function("read", ("path",), path=TEXT, offset=NUMBER, limit=NUMBER),
                function("edit", ("path", "old_text", "new_text"), path=TEXT, old_text=TEXT, new_text=TEXT),
                function("shell", ("command",), command=TEXT, timeout=NUMBER),
            ]
        case "arrow":
            return [
                function("read_file", ("file_path",), file_path=TEXT, offset=NUMBER),
                function("edit_file", ("file_path", "edits"), file_path=TEXT, edits=EDITS),
                function("run_command", ("cmd", "why"), cmd=TEXT, why=TEXT),
            ]
        case "plain":
            return [
                function("read_file", ("path",), path=TEXT),
                function("write_file", ("path", "content"), path=TEXT, content=TEXT),
                function("run_tests", ()),
            ]
        case _:
            return [function("bash", ("command",), command=TEXT)]


@dataclass
class Workbench:
    """A client's tools over a folder. dialect picks their names, parameters and the form of file listings."""

    root: Path
    dialect: str = "bar"
    calls: list[tuple[str, Json]] = field(default_factory=list[tuple[str, Json]])

    @property
    def tools(self) -> list[Json]:
        """What goes into requests."""
        return tools_in(self.dialect)

    def run(self, name: str, arguments: Json) -> str:
        """Do a call and say what came of it."""
        self.calls.append((name, arguments))
        match name, arguments:
            case ("read", {"path": path}):
                return self._read(path, "{}|{}", int(arguments.get("offset", 1)))
            case ("read_file", {"file_path": path}):
                return self._read(path, "{:>5}→{}", int(arguments.get("offset", 1)))
            case ("read_file", {"path": path}):
                return self._read(path, "{1}", 1, page=10_000)
            case ("edit", {"path": path, "old_text": old, "new_text": new}):
                return self._edit(path, old, new)
            case ("edit_file", {"file_path": path, "edits": [{"old": old, "new": new}]}):
                return self._edit(path, old, new)
            case ("write_file", {"path": path, "content": content}):
                (self.root / path).write_text(content, encoding="utf-8")
                return f"wrote {path}"
            case ("shell" | "bash", {"command": command}) | ("run_command", {"cmd": command}):
                return self._shell(command)
            case ("run_tests", {}):
                return self._shell("python -m pytest -q")
            case _:
                return f"error: {name} does not take {arguments}"

    def _read(self, path: str, form: str, first: int, page: int = PAGE_LINES) -> str:
        try:
            lines = (self.root / path).read_text(encoding="utf-8").splitlines()
        except OSError:
            return f"error: there is no file {path}"
        last = min(first - 1 + page, len(lines))
        shown = "\n".join(form.format(number, lines[number - 1]) for number in range(first, last + 1))
        more = f"\n[lines {first}-{last} of {len(lines)}; for more, read with offset {last + 1}]"
        return shown + (more if last < len(lines) else "")

    def _edit(self, path: str, old: str, new: str) -> str:
        text = (self.root / path).read_text(encoding="utf-8")
        if text.count(old) != 1:
            return f"error: the text occurs {text.count(old)} times in {path}"
        (self.root / path).write_text(text.replace(old, new), encoding="utf-8")
        return f"edited {path}"

    def _shell(self, command: str) -> str:
        done = subprocess.run(
            ["/bin/sh", "-c", command.replace("python ", f"{sys.executable} -B ", 1)],
            cwd=self.root,
            env=QUICK_PYTEST,
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )
        return f"{done.stdout}{done.stderr}\n[exit status {done.returncode}]"


@dataclass
class Loop:
    """What a run of the agent loop left behind."""

    messages: list[Json]
    answer: str
    turns: int


def drive(url: str, bench: Workbench, prompt: str = PROMPT, most_turns: int = 40, **body: Any) -> Loop:
    """A minimal agent: send, run the calls, send again, until a reply has none."""
    messages: list[Json] = [{"role": "user", "content": prompt}]
    with httpx.Client(base_url=url, trust_env=False, timeout=30) as client:
        for turn in range(1, most_turns + 1):
            reply = say(client, messages, tools=bench.tools, **body)
            messages.append({key: value for key, value in reply.items() if value})
            if not reply["tool_calls"]:
                return Loop(messages, reply["content"], turn)
            for call in reply["tool_calls"]:
                arguments = json.loads(call["function"]["arguments"])
                result = bench.run(call["function"]["name"], arguments)
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
    raise AssertionError(f"no end after {most_turns} turns: {bench.calls}")


def say(client: httpx.Client, messages: list[Json], **body: Any) -> Json:
    """One streamed reply as an assistant message; reasoning, content and calls as a plain reader collects them."""
    whole = {"model": DEFAULT_MODEL, "stream": True, "chat_template_kwargs": THINKING, **body}
    response = client.post("/v1/chat/completions", json={**whole, "messages": messages})
    assert response.status_code == 200, response.text
    return collect(events(response.content))


def events(raw: bytes) -> list[Json]:
    """The events of a stream before `[DONE]`, which must be there."""
    *chunks, done, end = raw.decode().split("\n\n")
    assert (done, end) == ("data: [DONE]", "")
    return [json.loads(chunk.removeprefix("data: ")) for chunk in chunks]


def collect(chunks: list[Json]) -> Json:
    """Join the deltas of a stream."""
    message: Json = {"role": "assistant", "reasoning": "", "content": "", "tool_calls": []}
    for chunk in chunks:
        choices: list[Json] = chunk.get("choices") or []
        for choice in choices:
            delta: Json = choice["delta"]
            message["reasoning"] += delta.get("reasoning") or ""
            message["content"] += delta.get("content") or ""
            pieces: list[Json] = delta.get("tool_calls") or []
            for piece in pieces:
                if "type" in piece:
                    message["tool_calls"].append({**piece, "function": dict(piece["function"])})
                else:
                    message["tool_calls"][piece["index"]]["function"]["arguments"] += piece["function"]["arguments"]
    return message
