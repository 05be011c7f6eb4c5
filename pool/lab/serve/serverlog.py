"""Reading a server's log while it starts: what it is doing, how far it is, what it says about itself, what went wrong.

The lines are those of vLLM 0.25, SGLang 0.5 and llama.cpp b11549, as public logs and recordings have them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from pool_tools.colours import plain_text
from pool_tools.frozen import frozen

LINE_BYTES = 8_192
"""Of a longer line only the beginning is looked at."""

_CUT = re.compile(rb"[\r\n]+")


class Phase(StrEnum):
    """What a starting server is busy with, in the order in which it mostly happens."""

    BEGIN = "begin"
    FETCH = "fetch"
    WEIGHTS = "weights"
    DRAFT = "draft"
    COMPILE = "compile"
    TUNE = "tune"
    CACHE = "cache"
    CAPTURE = "capture"
    SERVING = "serving"


WORDS = {
    Phase.BEGIN: "starting the program and its libraries",
    Phase.FETCH: "fetching weights; what is broken off goes on where it was",
    Phase.WEIGHTS: "loading weights into memory",
    Phase.DRAFT: "loading the draft model",
    Phase.COMPILE: "compiling kernels: minutes on a first start, and nothing is logged meanwhile",
    Phase.TUNE: "trying which kernels are fastest here",
    Phase.CACHE: "measuring memory and laying out the cache",
    Phase.CAPTURE: "recording CUDA graphs, one for each batch size",
    Phase.SERVING: "opening the port",
}

_PHASES: tuple[tuple[re.Pattern[str], Phase], ...] = tuple(
    (re.compile(pattern), phase)
    for pattern, phase in (
        (r"Fetching \d+ files|Downloading \(|Downloading shards|downloading from ", Phase.FETCH),
        (r"Loading drafter model|loading draft model", Phase.DRAFT),
        (
            r"Loading \w* ?checkpoint shards|Loading safe|Load weight begin|Starting to load model|load_tensors:",
            Phase.WEIGHTS,
        ),
        (
            r"Dynamo bytecode|torch\.compile took|Compiling a graph|Warming up model|is JIT-compiled|ninja: ",
            Phase.COMPILE,
        ),
        (r"\[Autotuner\]|autotuning process", Phase.TUNE),
        (
            r"Available KV cache memory|GPU KV cache size|KV cache allocated|max_total_num_tokens=|llama_kv_cache",
            Phase.CACHE,
        ),
        (r"Capturing CUDA graphs|Capture .*(?:graph|extend) begin", Phase.CAPTURE),
        (r"Started server process|Application startup complete|listening on http|fired up", Phase.SERVING),
    )
)
_ERROR = re.compile(r"^(?:\([^)]*\) )?(?:ERROR [^]]*\] )?((?:[\w.]*(?:Error|Exception)|error|fatal): .*)")
_POINTS_ELSEWHERE = "See root cause above"
"""What the last of several errors says of the others (vLLM)."""

_STEPS = re.compile(r"(?P<percent>\d{1,3})%.*?(?P<done>\d+)/(?P<of>\d+)")


@frozen
class Progress:
    """Where a start is; done of so many steps, 0 of 0 where nothing is counted."""

    phase: Phase
    done: int = 0
    of: int = 0


@frozen
class Problem:
    """A known line that something is wrong. lasting: starting again would only meet it again."""

    name: str
    words: str
    remedy: str
    lasting: bool
    line: str


_PROBLEMS: tuple[tuple[str, str, str, str, bool], ...] = (
    (
        "moe-triton-nvfp4",
        r"moe_backend='triton' is not supported for NvFP4",
        "the triton backend does not take NVFP4 experts",
        "leave out --moe-backend",
        True,
    ),
    (
        "no-cache",
        r"No available memory for the cache blocks|larger than the available KV cache memory",
        "weights and work space leave too little for the cache",
        "a smaller --context or --step-tokens; pool serve plan",
        True,
    ),
    (
        "memory-taken",
        r"Free memory on device .* is less than desired",
        "another program holds memory that this server was promised",
        "nvidia-smi shows which; or a smaller --utilization",
        False,
    ),
    (
        "memory",
        r"out of memory|NV_ERR_NO_MEMORY",
        "memory ran out",
        "fewer --sessions or a smaller --utilization",
        False,
    ),
    (
        "graph-sizes",
        r"No valid cudagraph sizes after rounding",
        "no recorded batch size fits the draft's depth",
        "leave the sizes to Pool, or name multiples of K+1",
        True,
    ),
    (
        "graphs-cut",
        r"Truncating max_cudagraph_capture_size",
        "the largest recorded batch was cut down to the grid, so that full steps may run unrecorded",
        "a multiple of 8 for --max-cudagraph-capture-size",
        False,
    ),
    (
        "reasoning-marks",
        r"Auto-initialization of reasoning token IDs failed",
        "limits for thoughts will be refused by the server",
        "--reasoning-config, as pool serve prints it",
        False,
    ),
    (
        "flags",
        r"unrecognized arguments|error: invalid argument",
        "a flag that this version does not know",
        "see the log",
        True,
    ),
    (
        "port",
        r"[Aa]ddress already in use|couldn't bind",
        "another program listens on the port",
        "stop it, or another --port",
        True,
    ),
    (
        "access",
        r"GatedRepoError|Repository Not Found|401 Client Error|RepositoryNotFoundError",
        "the weights may not be fetched with this account",
        "hf auth login, and accept the licence at the model's page",
        True,
    ),
    ("disk", r"No space left on device", "the disk is full", "free some, or HF_HOME on another disk", True),
    (
        "draft-tensors",
        r"wrong number of tensors; expected \d+, got \d+",
        "this llama.cpp is too old for the draft",
        "a newer llama.cpp, or --draft 0",
        True,
    ),
    (
        "architecture",
        r"unknown model architecture|Model type \w+ not supported|are not supported for now",
        "this version of the server does not know the model",
        "a newer version",
        True,
    ),
    ("load", r"error loading model|failed to load model", "the weights could not be loaded", "see the log", True),
)
_KNOWN = tuple(
    (name, re.compile(pattern), words, remedy, lasting) for name, pattern, words, remedy, lasting in _PROBLEMS
)

_FACTS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(pattern))
    for name, pattern in (
        ("version", r"(?:vLLM.*|█  )version v?(\d+\.\d+\.\d+[\w.+]*)"),
        ("weights_gib", r"Model loading took ([\d.]+) GiB"),
        ("load_seconds", r"Model loading took [\d.]+ GiB.*? and ([\d.]+) seconds"),
        ("kv_gib", r"Available KV cache memory: ([\d.]+) GiB"),
        ("kv_tokens", r"GPU KV cache size: ([\d,]+) tokens"),
        ("kv_length", r"Maximum concurrency for ([\d,]+) tokens per request"),
        ("concurrency", r"Maximum concurrency for [\d,]+ tokens per request: ([\d.]+)x"),
        ("moe_backend", r"Using '?(\w+)'?(?: \w+)? MoE backend"),
        ("attention_backend", r"Using '?(\w+)'? attention backend"),
        ("graph_seconds", r"Graph capturing finished in ([\d.]+) secs"),
        ("graph_gib", r"Graph capturing finished in [\d.]+ secs, took (-?[\d.]+) GiB"),
        ("largest_graph", r"max_cudagraph_capture_size'?: (\d+)"),
    )
)
_TEXTS = frozenset({"version", "moe_backend", "attention_backend"})


@dataclass(slots=True)
class ServerLog:
    """What a log has said so far. facts: numbers (GiB, tokens, seconds, requests) and names by what they are."""

    progress: Progress = field(default_factory=lambda: Progress(Phase.BEGIN))
    facts: dict[str, float | str] = field(default_factory=dict[str, float | str])
    problems: list[Problem] = field(default_factory=list[Problem])
    last_line: str = ""
    error: str = ""
    """The last line that names an error, "" if none did."""

    _rest: bytes = b""

    def feed(self, data: bytes) -> Iterator[Progress | Problem]:
        """Read more of the log; what is new comes out. A line that is rewritten in place counts each time."""
        *lines, self._rest = _CUT.split(self._rest + data)
        if len(self._rest) > LINE_BYTES:
            lines.append(self._rest)
            self._rest = b""
        for raw in lines:
            if line := plain_text(raw[:LINE_BYTES].decode("utf-8", "replace")).strip():
                yield from self._line(line)

    @property
    def lasting(self) -> Problem | None:
        """The first problem that would come again."""
        return next((problem for problem in self.problems if problem.lasting), None)

    def _line(self, line: str) -> Iterator[Progress | Problem]:
        self.last_line = line
        if (error := _ERROR.match(line)) and _POINTS_ELSEWHERE not in line:
            self.error = error.group(1)
        for name, pattern in _FACTS:
            if found := pattern.search(line):
                self.facts[name] = found.group(1) if name in _TEXTS else float(found.group(1).replace(",", ""))
        progress = self._progress(line)
        if progress is not None and progress != self.progress:
            self.progress = progress
            yield progress
        for name, pattern, words, remedy, lasting in _KNOWN:
            if pattern.search(line) and all(old.name != name for old in self.problems):
                self.problems.append(Problem(name, words, remedy, lasting, line))
                yield self.problems[-1]

    def _progress(self, line: str) -> Progress | None:
        phase = next((phase for pattern, phase in _PHASES if pattern.search(line)), None)
        if phase is None:
            return None
        if phase is Phase.WEIGHTS and self.progress.phase is Phase.DRAFT:
            phase = Phase.DRAFT
        steps = _STEPS.search(line)
        return Progress(phase, int(steps["done"]), int(steps["of"])) if steps else Progress(phase)
