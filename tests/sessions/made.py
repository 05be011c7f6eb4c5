"""Sessions for tests, written by the log itself."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from pool.events import SessionNamed
from pool.sessions.log import Header, SessionLog

Row = dict[str, Any]
DAY = 86_400.0


def row(type_: str, mono: float = 0.0, **values: Any) -> Row:
    return {"type": type_, "v": 1, "seq": 0, "wall": 1_700_000_000.0 + mono, "mono": mono, **values}


def started(prompt: str, mono: float = 0.0, model: str = "laguna") -> Row:
    return row("run.started", mono, prompt=prompt, workspace="/w", model=model, server="http://s", mode="auto")


def said(role: str, content: str) -> Row:
    return row("message.added", role=role, text=json.dumps({"role": role, "content": content}))


def finished(reason: str = "completed", mono: float = 1.0) -> Row:
    return row("run.finished", mono, reason=reason, turns=1, seconds=1.0, detail="", answer="", usage={})


def session(folder: Path, id_: str, *rows: Row, workspace: str = "/w", age: float = 0.0, name: str = "") -> Path:
    """A session whose file was changed age seconds before a fixed time."""
    with SessionLog.create(folder, Header(id_, workspace, 1_600_000_000.0, "0"), lambda text: None) as log:
        for one in rows:
            log.write(one, sync=False)
        if name:
            log.write(row(SessionNamed.type, name=name), sync=False)
    when = 1_700_000_000.0 - age
    os.utime(log.path, (when, when))
    return log.path
