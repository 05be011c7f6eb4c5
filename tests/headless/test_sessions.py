"""`pool sessions` and `pool stats` as a user calls them: widths, short ids, JSON, and what deleting takes with it."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pool.headless.columns import cut, cut_front, size, width
from pool.headless.sessions import main as sessions_main
from pool.headless.stats import main as stats_main
from pool.sessions.log import SessionLog, read_rows
from pool.sessions.store import sessions_folder
from tests.sessions.made import DAY, finished, row, said, session, started

FIRST = "01990000-0000-7000-8000-0000000000aa"
SECOND = "01990000-1111-7000-8000-0000000000bb"
THIRD = "01990000-1111-7000-8000-0000000000cb"
WIDE = "日本語の長い題名です" * 6


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv("COLUMNS", raising=False)
    made = sessions_folder()
    usage = {"prompt": 4000, "completion": 201, "cached": 1000, "reasoning": 100}
    times = {"first_token_seconds": 1.5, "reply_seconds": 3.5}
    call = row("call.finished", name="edit", status="ok", call="c", data={"step": "exact", "path": "a/parser.py"})
    work = [started("Fix \x1b[31mthe parser\nnow"), row("usage", usage=usage, **times), call, row("turn.finished")]
    session(made, FIRST, *work, said("assistant", "It is done"), finished(mono=4.0), workspace="/w", age=40 * DAY)
    session(made, SECOND, started(WIDE), workspace="/w", age=2 * DAY)
    session(made, THIRD, started("elsewhere"), finished("loop"), workspace="/other/" + "folder/" * 12, age=DAY)
    return made


def run(capsys: pytest.CaptureFixture[str], *argv: str, code: int = 0) -> list[str]:
    main = stats_main if argv[0] == "stats" else sessions_main
    assert main(argv[1:] if argv[0] in ("stats", "sessions") else argv) == code
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("columns", [40, 80])
@pytest.mark.parametrize(
    "argv", [["list", "-C", "/w"], ["list", "--all"], ["search", "-a", "題名"], ["stats", "-a", "--day"]]
)
def test_lines_fit_the_terminal(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: int, argv: Sequence[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = run(capsys, *argv)
    assert lines
    assert max(map(width, lines)) <= columns
    assert all(line.isprintable() for line in lines)


def test_this_folder_or_all_and_how_many(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert [line[:8] for line in run(capsys, "-C", "/w")] == ["000000bb", "000000aa"]
    assert [line[:8] for line in run(capsys, "--all")] == ["000000cb", "000000bb", "000000aa"]
    assert run(capsys, "list", "--all", "-n", "1")[0].endswith("/folder/  elsewhere")
    assert sessions_main(["-C", "/none"]) == 0
    assert "3 in other folders" in capsys.readouterr().err
    rows = [json.loads(line) for line in run(capsys, "--all", "--json")]
    assert [(r["id"], r["title"], r["ended"], r["live"]) for r in rows] == [
        (THIRD, "elsewhere", "loop", False),
        (SECOND, WIDE, "", False),
        (FIRST, "Fix [31mthe parser", "completed", False),
    ]


@pytest.mark.parametrize(
    ("part", "found"),
    [("0aa", FIRST), (FIRST, FIRST), ("01990000-0", FIRST), (SECOND.replace("-", "").upper(), SECOND)],
)
def test_short_forms_of_an_id(folder: Path, capsys: pytest.CaptureFixture[str], part: str, found: str) -> None:
    assert run(capsys, "path", part) == [str(folder / f"{found}.jsonl")]


@pytest.mark.parametrize(
    ("part", "said_"),
    [
        ("0199", "3 sessions fit"),
        ("b", "2 sessions fit"),
        ("zz", "no session"),
        ("-", "no session"),
        ("../x", "no session"),
    ],
)
def test_an_id_that_fits_none_or_several_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], part: str, said_: str
) -> None:
    assert sessions_main(["show", "--", part]) == 2
    err = capsys.readouterr().err
    assert said_ in err
    assert ("elsewhere" in err) is (part in ("0199", "b"))


def test_a_shown_command_is_the_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked: dict[str, Any] = {"title": "Run in /w, 120 s at most", "preview_kind": "command"}
    calls = [row("call.proposed", name="shell", preview=text, **asked) for text in ("make \x1b[2J", " ")]
    session(folder, SECOND, started("build"), *calls, workspace="/w")
    lines = run(capsys, "show", SECOND)
    assert "→ $ make \\x1b[2J" in lines
    assert "→ Run in /w, 120 s at most" in lines


def test_show_and_search(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "\n".join(run(capsys, "show", "0aa"))
    assert text.startswith("Fix [31mthe parser\n")
    assert "> Fix \\x1b[31mthe parser" in text
    assert "It is done" in text
    assert len(run(capsys, "show", "0aa", "--json")) == 7
    assert run(capsys, "search", "-a", "DONE", "Parser.py")[1].strip() == "answer: It is done"
    run(capsys, "search", "-a", "nowhere", code=1)
    (hit,) = [json.loads(line) for line in run(capsys, "search", "-a", "parser.py", "--json")]
    assert (hit["id"], hit["found"], hit["text"]) == (FIRST, "file", "a/parser.py")


def test_rename_is_an_event_of_the_log_and_moves_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / f"{FIRST}.jsonl"
    before = path.stat().st_mtime_ns
    assert run(capsys, "rename", "0aa", "The", "  par\nser") == ["000000aa  The par ser"]
    assert path.stat().st_mtime_ns == before
    assert run(capsys, "-C", "/w")[1].endswith("The par ser")
    last = read_rows(path.read_bytes())[0][-1]
    assert (last["type"], last["name"], last["session"]) == ("session.named", "The par ser", FIRST)
    run(capsys, "rename", "0aa")
    assert run(capsys, "-C", "/w")[1].endswith("the parser")


def test_delete_takes_what_is_kept_for_the_session(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = folder.parent / "files" / FIRST
    kept.mkdir(parents=True)
    (kept / "x").touch()
    other = folder.parent / "files" / f"{FIRST}0"
    other.mkdir()
    run(capsys, "delete", "0aa", code=2)
    assert (folder / f"{FIRST}.jsonl").exists()
    run(capsys, "delete", "0aa", "0bb", "--yes")
    assert [p.name for p in folder.glob("*.jsonl")] == [f"{THIRD}.jsonl"]
    assert (kept.exists(), other.exists()) == (False, True)
    assert [json.loads(line)["id"] for line in run(capsys, "list", "--all", "--json")] == [THIRD]


def test_a_session_in_use_is_neither_deleted_nor_renamed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / f"{FIRST}.jsonl"
    log, _, _ = SessionLog.reopen(path, print)
    with log:
        run(capsys, "delete", "0aa", "0bb", "-y", code=1)
        run(capsys, "rename", "0aa", "x", code=2)
        assert run(capsys, "-C", "/w")[0].endswith("[in use] Fix [31mthe parser")
        run(capsys, "prune", "-a", "--keep", "0", "-y", code=1)
    assert [p.name for p in folder.glob("*.jsonl")] == [path.name]


@pytest.mark.parametrize(
    ("flags", "gone"),
    [
        (["--keep", "1"], [SECOND, FIRST]),
        (["--max-size", "0.9k"], [SECOND, FIRST]),
        (["--max-size", "1G"], []),
        (["--keep", "2", "--max-size", "1G"], [FIRST]),
    ],
)
def test_prune_shows_first(folder: Path, capsys: pytest.CaptureFixture[str], flags: list[str], gone: list[str]) -> None:
    shown = run(capsys, "prune", "--all", "--dry-run", "--json", *flags)
    assert [json.loads(line)["id"] for line in shown] == gone
    assert len(list(folder.glob("*.jsonl"))) == 3
    run(capsys, "prune", "--all", *flags, code=2 if gone else 0)
    run(capsys, "prune", "--all", "-y", *flags)
    assert {p.stem for p in folder.glob("*.jsonl")} == {FIRST, SECOND, THIRD} - set(gone)


def test_prune_by_age_wants_a_limit(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "prune", "--all", "-y", code=2)
    run(capsys, "prune", "--all", "-y", "--older-than", "soon", code=2)
    os.utime(folder / f"{THIRD}.jsonl")
    run(capsys, "prune", "--all", "-y", "--older-than", "30d")
    assert [p.stem for p in folder.glob("*.jsonl")] == [THIRD]


@pytest.mark.parametrize(("answer", "left"), [("y\n", 2), ("\n", 3)])
def test_delete_asks_on_a_terminal(folder: Path, answer: str, left: int) -> None:
    ours, theirs = pty.openpty()
    argv = [sys.executable, "-m", "pool", "sessions", "delete", "0aa"]
    with subprocess.Popen(argv, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        os.write(ours, answer.encode())
        out, err = process.communicate(timeout=30)
    os.close(ours)
    os.close(theirs)
    assert "the parser" in out
    assert "Delete 1 session (" in err
    assert len(list(folder.glob("*.jsonl"))) == left


def test_stats(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = run(capsys, "stats", "0aa")
    for line in (
        "tokens read     4,000, 25 % cached",
        "tokens written  201, 50 % reasoning",
        "reads           2,000 tokens a second",
        "writes          100 tokens a second",
        "  prefill       1.5 s, 38 %",
        "edits found by  1 exact",
    ):
        assert line in lines
    everything: dict[str, Any] = json.loads(run(capsys, "stats", "--all", "--json")[0])
    assert (everything["sessions"], everything["runs"], everything["tools"]) == (3, 3, {"edit ok": 1})
    by_session = [json.loads(line) for line in run(capsys, "stats", "-a", "--session", "--json")]
    assert [row_["session"][:8] for row_ in by_session] == ["000000cb", "000000bb", "000000aa"]
    assert (
        run(capsys, "stats", "-C", "/w", "--model")[1].split() == "laguna 1 4.0k 25 % 201 50 % 2,000 100 100 %".split()
    )
    run(capsys, "stats", "nowhere", code=2)
    run(capsys, "stats", "-C", "/none")


def test_widths_of_text() -> None:
    assert [width(text) for text in ("abc", "日本", "e\u0301", "\u200b", "ｱ")] == [3, 4, 1, 0, 1]
    assert [cut("日本語", columns) for columns in (6, 5, 4, 1, 0)] == ["日本語", "日本…", "日…", "…", ""]
    assert cut("a\x1b", 9) == "a\\x1b"
    assert [cut_front("/a/日本", columns) for columns in (7, 6, 3, 1)] == ["/a/日本", "…/日本", "…本", "…"]
    assert [size(n) for n in (999, 1000, 2_540_000, 9e15)] == ["999 B", "1.0 KB", "2.5 MB", "9,000.0 TB"]
