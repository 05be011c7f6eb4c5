"""Logs to export: a session with everything in it, written through the real hub and log."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pool.agent.hub import EventHub
from pool.events import (
    ApprovalGiven,
    Body,
    CallFinished,
    CallProposed,
    CallStarted,
    ChangedFile,
    Compacted,
    GuardFired,
    HeadSet,
    MessageAdded,
    Notice,
    RunFinished,
    RunStarted,
    StopReason,
    TurnFinished,
    TurnStarted,
    Usage,
    UsageReported,
)
from pool.messages import (
    Message,
    ReasoningField,
    Role,
    ToolCall,
    encode,
    encode_json,
    system,
    tool_result,
    user,
)
from pool.sessions.log import Header, SessionLog, read_rows

SESSION = "01890a5d-ac96-774b-bcce-b302099a8057"
DIFF = "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a = 1\n+a = 2\n"
HEAD: dict[str, Any] = {
    "model": "m",
    "tools": [{"type": "function", "function": {"name": "edit", "parameters": {}}}],
    "top_k": 20,
}


class Script:
    """Writes a session's events in their order."""

    def __init__(self, folder: Path, session: str = SESSION) -> None:
        self.log = SessionLog.create(folder, Header(session, "/home/alice/work", 1.7e9, "0.1.0"), print)
        self.hub = EventHub(session, self.log)
        self.path = self.log.path
        self.add(system("You are Pool."))
        self._numbers = 0

    def emit(self, body: Body, call: str = "") -> int:
        return self.hub.emit(body, call).envelope.seq

    def add(self, message: Message, *, replaces: bool = False) -> None:
        text = encode(message).data.decode()
        self.emit(MessageAdded(message.role.value, text, replaces))

    def begin(self, prompt: str, run: str = "run-1", message: str = "") -> int:
        """A run begins; returns the number of its first event."""
        self.hub.run, self.hub.turn = run, 0
        seq = self.emit(RunStarted(prompt, "/home/alice/work", "m", "http://127.0.0.1:1/v1", "auto", "none"))
        self.emit(HeadSet(encode_json(HEAD).decode()))
        self.add(user(message or prompt))
        return seq

    def reply(
        self, text: str, calls: Sequence[ToolCall] = (), reasoning: str = "", usage: Usage = Usage(10, 5, 3, 2)
    ) -> None:
        self.hub.turn += 1
        self.emit(TurnStarted(10, 100))
        self.emit(UsageReported(usage, 0.5, 1.25))
        field = ReasoningField.REASONING if reasoning else ReasoningField.NONE
        self.add(Message(Role.ASSISTANT, text, reasoning, field, tuple(calls)))

    def call(self, call: ToolCall, result: str, status: str = "ok") -> None:
        arguments: dict[str, Any] = {"path": "x.py"}
        self.emit(CallProposed(call.name, arguments, "write", "Edit x.py", "diff", DIFF), call.id)
        self.emit(ApprovalGiven(True, "mode"), call.id)
        self.emit(CallStarted(call.name), call.id)
        changes = (ChangedFile("x.py", "modified", 1, 1),)
        self.emit(CallFinished(call.name, status, result, 0.25, {"path": "x.py"}, changes), call.id)
        self.add(tool_result(call.id, result))

    def turn_end(self, finish: str = "tool_calls", ending: str = "whole") -> None:
        self.emit(TurnFinished(finish, ending, 1))

    def end(self, answer: str = "Done.", reason: StopReason = StopReason.COMPLETED) -> None:
        self.emit(
            RunFinished(reason, 0, "", answer, 2, 3.5, Usage(20, 10, 6, 4), (ChangedFile("x.py", "modified", 1, 1),))
        )

    def rows(self) -> list[dict[str, Any]]:
        return read_rows(self.path.read_bytes())[0]


def edit_call(call_id: str = "c1", **more: Any) -> ToolCall:
    arguments = {"path": "x.py", "edits": [{"old_text": "a = 1", "new_text": "a = 2"}], **more}
    return ToolCall(call_id, "edit", json.dumps(arguments, ensure_ascii=False))


def everything(folder: Path) -> Script:
    """Two runs, a nudge joined to a prompt, a cut reply, a denied call, a compaction, guards and notices."""
    script = Script(folder)
    script.begin("Mend x.py")
    script.hub.turn = 1
    script.emit(TurnStarted(10, 100))
    script.emit(GuardFired("thinking", "cut", "the thought went in circles"))
    script.emit(UsageReported(Usage(8, 90, 0, 90), 0.5, 6.0))
    script.turn_end("length", "length")
    script.add(user("Mend x.py\n\n[Pool] Act."), replaces=True)
    first, second = edit_call(), ToolCall("c2", "shell", '{"command":"ls"}')
    script.reply("I mend it. ```py\nx\n```", [first, second], "It is `a = 1`.")
    script.call(first, "Edited x.py.")
    script.emit(CallProposed("shell", {"command": "ls"}, "execute", "Run in /w", "command", "ls"), "c2")
    script.emit(ApprovalGiven(False, "person", "not now"), "c2")
    script.emit(CallFinished("shell", "denied", "shell was not run: it was denied. not now", 0.0), "c2")
    script.add(tool_result("c2", "shell was not run: it was denied. not now"))
    script.turn_end()
    script.emit(Notice("warning", "the window is small", "ask for more"))
    script.emit(TurnStarted(10, 100))
    script.emit(UsageReported(Usage(30, 20, 0, 0), 0.1, 0.9))
    script.emit(Compacted(900, 100, "900 tokens of history became about 100", 3))
    script.add(user("Mend x.py\n\n[Pool] The account."))
    script.add(Message(Role.ASSISTANT, "", "", ReasoningField.NONE, (first,)))
    script.add(tool_result("c1", "Edited x.py."))
    script.reply("Done.")
    script.turn_end("stop")
    script.end()
    script.begin("Thanks", "run-2")
    script.reply("You are welcome.", usage=Usage(40, 4, 30, 0))
    script.turn_end("stop")
    script.end("You are welcome.")
    return script
