"""An agent that does what the prompt's first word says, good or bad. Run as a program; standard library only."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

Json = dict[str, Any]

HUGE_BYTES = 33 * 1024 * 1024
number = 0
values: Json = {"model": "small", "loud": False}


def send(row: Json) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **row}) + "\n")
    sys.stdout.flush()


def update(which: str, **fields: Any) -> None:
    send({"method": "session/update", "params": {"sessionId": "s", "update": {"sessionUpdate": which, **fields}}})


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def ask(method: str, **params: Any) -> Any:
    """Ask the client; its answer, or what it says next if that comes first."""
    global number
    number += 1
    send({"id": f"ask-{number}", "method": method, "params": {"sessionId": "s", **params}})
    while True:
        row = json.loads(sys.stdin.readline())
        if row.get("id") == f"ask-{number}":
            return row.get("result", row.get("error"))


def options(*kinds: str) -> list[Json]:
    return [{"optionId": f"o-{kind}", "name": kind, "kind": kind} for kind in kinds]


def edit() -> None:
    update("agent_thought_chunk", content=text("Hm."))
    update("agent_message_chunk", content=text("I change it."))
    update("plan", entries=[{"content": "change", "status": "in_progress"}, {"content": "", "status": 7}, 3])
    update("usage_update", used=1234, size=100000)
    diff = {"type": "diff", "path": os.path.join(os.getcwd(), "a.txt"), "oldText": "one\n", "newText": "two\n"}
    call = {"toolCallId": "c", "title": "Edit \x1b[2J a.txt", "kind": "edit", "content": [diff]}
    update("tool_call", status="pending", **call)
    given = ask(
        "session/request_permission", toolCall=call, options=options("allow_once", "allow_always", "reject_once")
    )
    update("agent_message_chunk", content=text(json.dumps(given["outcome"])))
    allowed = "allow" in given["outcome"].get("optionId", "")
    update("tool_call_update", toolCallId="c", status="completed" if allowed else "failed")
    run = {"toolCallId": "r", "title": "run", "kind": "execute", "rawInput": {"command": "make"}}
    update("tool_call", status="in_progress", **run)
    for shown in ("line 1\n", "line 1\nline 2\n"):
        update("tool_call_update", toolCallId="r", content=[{"type": "content", "content": text(shown)}])
    update("tool_call_update", toolCallId="r", status="completed")
    update("tool_call", toolCallId="n", title="Read", kind="read")


def wait() -> str:
    """Ask, and end as cancelled whatever the answer is."""
    call = {"toolCallId": "w", "title": "Wait", "kind": "execute"}
    given = ask("session/request_permission", toolCall=call, options=options("allow_once", "reject_once"))
    update("agent_message_chunk", content=text(given["outcome"]["outcome"]))
    return "cancelled"


def files() -> None:
    for method, fields in (
        ("fs/read_text_file", {"path": os.path.abspath("a.txt"), "line": 1, "limit": 1}),
        ("fs/read_text_file", {"path": "/etc/passwd"}),
        ("fs/read_text_file", {"path": os.path.abspath("link")}),
        ("fs/write_text_file", {"path": os.path.abspath("new/b.txt"), "content": "made\n"}),
        ("fs/write_text_file", {"path": os.path.abspath(".git/config"), "content": "bad"}),
        ("terminal/create", {"command": "id"}),
    ):
        given = ask(method, **fields)
        words = "done" if given is None else given.get("content") or f"no {given.get('code')}"
        update("agent_message_chunk", content=text(words.strip() + ";"))


def odd() -> None:
    """What is no message, or one of an unknown kind; it goes on."""
    for junk in ("a banner", "\x1b[31mred", "[1]", "{", '{"id": 5, "result": {}}', '{"method": 7}'):
        sys.stdout.write(junk + "\n")
    update("agent_message_chunk")
    update("agent_message_chunk", content=[])
    update("agent_message_chunk", content={"type": "image", "data": "x"})
    update("tool_call")
    update("tool_call_update", toolCallId={"a": 1}, status=["x"], content="none", rawInput=[])
    update("dream", content=text("unknown"))
    send({"method": "session/update", "params": {"sessionId": "other", "update": {}}})
    send({"method": "session/update", "params": [1]})


def flood() -> None:
    for _ in range(100_000):
        sys.stdout.write("no message\n")


def huge() -> None:
    sys.stdout.write('{"x": "' + "y" * HUGE_BYTES)
    sys.stdout.flush()
    time.sleep(1000)


def die() -> None:
    sys.stderr.write("starting\nError: no luck \x1b[31m\nbye\n")
    sys.stderr.flush()
    os._exit(3)


def deaf() -> None:
    update("agent_message_chunk", content=text("no"))
    time.sleep(1000)


def child() -> None:
    """A process that leaves the agent's session."""
    started = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    update("agent_message_chunk", content=text(str(started.pid)))


def listen() -> None:
    """Hear two words of the person's; the second one is not taken."""
    for outcome in ("injected", "promptRequired"):
        update("agent_message_chunk", content=text("? "))
        row = json.loads(sys.stdin.readline())
        params = row["params"]
        update("agent_message_chunk", content=text(f"{row['method']} {params['prompt'][0]['text']}; "))
        if outcome == "injected" and "inputId" in params:
            update("session_info_update", _meta={"poolside/clientInputId": params["inputId"]})
        send({"id": row["id"], "result": {"outcome": outcome}})


def tell() -> None:
    """What an earlier session was."""
    update("user_message_chunk", content=text("Mend "), messageId="1")
    update("user_message_chunk", content=text("it."), messageId="1")
    update("agent_thought_chunk", content=text("Hm."))
    call = {"toolCallId": "c", "title": "Read a.txt", "kind": "read"}
    update("tool_call", status="pending", **call)
    update("tool_call_update", toolCallId="c", status="completed", rawOutput="one")
    update("agent_message_chunk", content=text("Done."))
    update("plan", entries=[{"content": "mend", "status": "completed"}])


DEEDS: dict[str, Callable[[], str | None]] = {
    deed.__name__: deed for deed in (edit, wait, files, odd, flood, huge, die, deaf, child, listen)
}


def settings() -> list[Json]:
    group = {"group": "g", "options": [{"value": "small", "name": "Small"}, {"value": "big", "name": "Big"}]}
    model = {"id": "model", "name": "Model", "category": "model", "type": "select", "options": [group]}
    loud = {"id": "loud", "name": "Loud", "type": "boolean"}
    return [model | {"currentValue": values["model"]}, loud | {"currentValue": values["loud"]}]


def abilities() -> Json:
    keeps = "keeps" in sys.argv
    extras: Json = {"steering": {"supported": "injects" in sys.argv}, "poolside/session_steer": "steers" in sys.argv}
    return {"loadSession": keeps, "sessionCapabilities": {"list": {} if keeps else None}, "_meta": extras}


def answer(row: Json) -> Json:
    match row["method"]:
        case "initialize":
            methods = [{"id": "key", "name": "API key"}]
            said = {"protocolVersion": 1, "agentInfo": {"name": "liar", "version": "7"}, "authMethods": methods}
            return said | {"agentCapabilities": abilities()}
        case "session/new":
            update("available_commands_update", availableCommands=[{"name": "review", "description": "reads"}, 4])
            modes = {"currentModeId": "calm", "availableModes": [{"id": "calm", "name": "Calm"}, {"id": "wild"}]}
            return {"sessionId": "s", "modes": modes, "configOptions": settings()}
        case "session/set_config_option":
            values[row["params"]["configId"]] = row["params"]["value"]
            return {"configOptions": settings()}
        case "session/list":
            page = row["params"].get("cursor", "")
            rows = [{"sessionId": f"{n}{page}", "cwd": os.getcwd(), "title": "t\x1b"} for n in ("s", "old")]
            return {"sessions": [*rows, {"sessionId": "far", "cwd": "/far"}, 5], "nextCursor": f"{page}x"}
        case "session/load":
            tell()
            return {}
        case "session/prompt":
            deed = DEEDS[row["params"]["prompt"][0]["text"].split()[0]]
            return {"stopReason": deed() or "end_turn"}
        case _:
            return {}


def main() -> None:
    wants_login = "login" in sys.argv
    while line := sys.stdin.readline():
        row = json.loads(line)
        if "id" not in row or "method" not in row:
            continue
        if row["method"] == "session/new" and wants_login:
            send({"id": row["id"], "error": {"code": -32000, "message": "Authentication required"}})
            continue
        wants_login = wants_login and row["method"] != "authenticate"
        send({"id": row["id"], "result": answer(row)})


if __name__ == "__main__":
    main()
