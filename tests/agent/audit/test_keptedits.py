"""What checkpoints kept is what is audited: a shell's edits with their step, a job's, an undo's; not the user's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pool.agent.audit.audit import audit_log
from pool.agent.audit.keptedits import kept_edits
from pool.sessions.checkpoints.checkpoints import Checkpoints, checkpoints_folder
from tests.agent.audit.story import PROMPT, TESTS

SESSION = "0123456789abcdef"
SKIPPED = TESTS.replace("def test_price", '@pytest.mark.skip(reason="flaky")\ndef test_price')


def log_of(tmp_path: Path, workspace: Path, *calls: str) -> Path:
    """A log with shell calls of these ids."""

    def added(role: str, **fields: Any) -> dict[str, Any]:
        text = json.dumps({"role": role, "content": "", **fields})
        return {"type": "message.added", "role": role, "text": text, "run": "r1", "turn": 1, "wall": 1.0}

    rows: list[dict[str, Any]] = [
        {"type": "session", "v": 1, "id": SESSION, "workspace": str(workspace), "created": 1.0, "pool": "0"},
        {"type": "run.started", "prompt": PROMPT, "run": "r1", "workspace": str(workspace)},
        added("user", content=PROMPT),
    ]
    for call in calls:
        function = {"name": "shell", "arguments": '{"command": "./change.sh"}'}
        rows.append(added("assistant", tool_calls=[{"id": call, "type": "function", "function": function}]))
        rows.append(added("tool", tool_call_id=call, content="done"))
    rows.append({"type": "task.started", "kind": "general", "task_session": "fedcba98", "run": "r1", "call": calls[0]})
    log = tmp_path / "state" / "sessions" / f"{SESSION}.jsonl"
    log.parent.mkdir(parents=True)
    log.write_text("".join(json.dumps({"seq": seq, **row}) + "\n" for seq, row in enumerate(rows)))
    return log


def test_edits_of_every_kind(tmp_path: Path) -> None:
    workspace = tmp_path / "w"
    (workspace / "tests").mkdir(parents=True)
    spec = workspace / "tests" / "test_stock.py"
    spec.write_text(TESTS)
    log = log_of(tmp_path, workspace, "c1", "c2")
    assert kept_edits(log, workspace) is None
    kept = Checkpoints(checkpoints_folder(log.parent, SESSION), workspace)
    kept.before("r1", 1, "c1")
    spec.write_text(SKIPPED)
    kept.after()
    (workspace / "sitecustomize.py").write_text("x = 1\n")
    kept.by_job("r1")
    (workspace / "conftest.py").write_text("the user's own\n")
    kept.now()
    kept.close()
    audit = audit_log(log)
    assert [(one.name, one.citations[0].step) for one in audit.findings] == [
        ("tests-skipped", 2),
        ("runner-patched", 0),
    ]
    assert audit.record.notes == [
        "the last run has no end: it is still at work, or was killed",
        "a subagent worked in session fedcba98: pool audit fedcba98",
    ]
    kept = Checkpoints(checkpoints_folder(log.parent, SESSION), workspace)
    kept.before("r1", 2, "c2")
    spec.write_text(TESTS)
    kept.after()
    kept.close()
    assert [one.name for one in audit_log(log).findings] == ["runner-patched"]
