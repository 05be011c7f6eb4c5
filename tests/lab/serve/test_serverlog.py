"""What is read from a server's log."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pool.lab.serve.serverlog import LINE_BYTES, Phase, Problem, Progress, ServerLog
from tests.lab.serve.standin import CRASH, NO_CACHE, START


def read(text: str) -> tuple[ServerLog, list[Progress | Problem]]:
    log = ServerLog()
    return log, list(log.feed(text.encode()))


def test_a_start() -> None:
    log, news = read(START)
    assert [(n.phase, n.done, n.of) for n in news if isinstance(n, Progress)] == [
        (Phase.WEIGHTS, 0, 16),
        (Phase.WEIGHTS, 8, 16),
        (Phase.WEIGHTS, 16, 16),
        (Phase.COMPILE, 0, 0),
        (Phase.CACHE, 0, 0),
        (Phase.CAPTURE, 4, 7),
        (Phase.CAPTURE, 7, 7),
        (Phase.SERVING, 0, 0),
    ]
    assert log.facts == {
        "version": "0.25.1",
        "attention_backend": "FLASHINFER",
        "moe_backend": "FLASHINFER_CUTLASS",
        "weights_gib": 66.97,
        "load_seconds": 201.5,
        "kv_gib": 27.11,
        "kv_tokens": 977_533.0,
        "kv_length": 65_536.0,
        "concurrency": 14.92,
        "graph_seconds": 18.0,
        "graph_gib": 0.62,
    }
    assert log.problems == []


@given(st.lists(st.integers(1, len(START.encode()) - 1), max_size=20))
def test_any_cut_reads_the_same(cuts: list[int]) -> None:
    data, log = START.encode(), ServerLog()
    news: list[Progress | Problem] = []
    edges = [0, *sorted(cuts), len(data)]
    for begin, end in pairwise(edges):
        news += log.feed(data[begin:end])
    whole, expected = read(START)
    assert news == expected
    assert log.facts == whole.facts


@pytest.mark.parametrize(
    ("line", "name", "lasting"),
    [
        (NO_CACHE, "no-cache", True),
        (CRASH, "memory", False),
        (
            "ValueError: moe_backend='triton' is not supported for NvFP4 MoE. Expected one of\n",
            "moe-triton-nvfp4",
            True,
        ),
        ("vllm serve: error: unrecognized arguments: --moe-backnd\n", "flags", True),
        ("ValueError: Free memory on device (90.1/121.0 GiB) is less than desired\n", "memory-taken", False),
        ("OSError: [Errno 98] error while attempting to bind: address already in use\n", "port", True),
        ("OSError: [Errno 28] No space left on device\n", "disk", True),
        (
            "llama_model_load: error loading model: wrong number of tensors; expected 76, got 69\n",
            "draft-tensors",
            True,
        ),
        ("ValueError: Model type laguna not supported.\n", "architecture", True),
        ("huggingface_hub.errors.GatedRepoError: 403 Client Error.\n", "access", True),
        ("WARNING Auto-initialization of reasoning token IDs failed\n", "reasoning-marks", False),
        ("WARNING Truncating max_cudagraph_capture_size from 42 to 40\n", "graphs-cut", False),
    ],
)
def test_known_problems(line: str, name: str, lasting: bool) -> None:
    log, news = read(line)
    first = news[0]
    assert isinstance(first, Problem)
    assert (first.name, first.lasting) == (name, lasting)
    assert first.words
    assert first.remedy
    assert (log.lasting is not None) == lasting
    assert list(log.feed(line.encode())) == []  # Told once.


@pytest.mark.parametrize(
    ("line", "phase"),
    [
        ("Fetching 12 files:  25%|##   | 3/12 [00:10<00:30]\n", Phase.FETCH),
        ("INFO [gpu_model_runner.py:5233] Loading drafter model...\n", Phase.DRAFT),
        ("Loading fastsafetensors checkpoint shards:  20% Completed | 1/5 [00:00<00:02]\n", Phase.WEIGHTS),
        ("[Autotuner]: Autotuning process starts ...\n", Phase.TUNE),
        ("[2026-11-30 10:00:00] Load weight begin. avail mem=78.5 GB\n", Phase.WEIGHTS),
        ("[2026-11-30 10:00:00] The server is fired up and ready to roll!\n", Phase.SERVING),
        ("main: server is listening on http://127.0.0.1:8080\n", Phase.SERVING),
        ("\x1b[0;36m(EngineCore pid=3)\x1b[0;0m Capturing CUDA graphs (decode, FULL):  20%|#  | 7/35\n", Phase.CAPTURE),
    ],
)
def test_phases(line: str, phase: Phase) -> None:
    assert read(line)[0].progress.phase is phase


@pytest.mark.parametrize(
    "line",
    [
        "(APIServer pid=1) WARNING [vllm.py:1096] Enforce eager set, disabling torch.compile and CUDAGraphs.\n",
        "(EngineCore pid=2) INFO 11-30 23:37:05 [core.py:90] Initializing a V1 LLM engine with config: compile_sizes\n",
    ],
)
def test_lines_that_only_speak_of_it(line: str) -> None:
    """From a start of vLLM 0.25.1 on a CPU."""
    assert read(line)[0].progress.phase is Phase.BEGIN


def test_the_error_that_matters_is_kept() -> None:
    log, _ = read(
        "(EngineCore pid=2) ERROR 11-30 23:38:25 [core.py:1] ValueError: the cause\n"
        "(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above.\n"
        "(Worker pid=3) INFO 11-30 23:38:25 [cpu_model_runner.py:149] Warming up done.\n"
    )
    assert log.error == "ValueError: the cause"


def test_the_drafts_own_weights_are_the_drafts() -> None:
    log, _ = read(
        "Loading drafter model...\nLoading safetensors checkpoint shards:  50% Completed | 1/2 [00:01<00:01]\n"
    )
    assert log.progress == Progress(Phase.DRAFT, 1, 2)


@given(st.binary(max_size=3_000))
def test_anything_can_be_read(data: bytes) -> None:
    log = ServerLog()
    list(log.feed(data))
    list(log.feed(b"\n"))


def test_a_line_without_end_is_not_kept_without_end() -> None:
    log = ServerLog()
    for _ in range(10):
        list(log.feed(b"x" * LINE_BYTES))
    assert len(log.last_line) <= LINE_BYTES
