"""The tool `search`: lines that match a regular expression, by ripgrep where there is one."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pool_tools.api import Effect, OutputSink, Preview, ToolError, ToolResult, ToolSpec
from pool_tools.arguments import text_argument
from pool_tools.blocking import CancelFlag, run_blocking
from pool_tools.environment import clean_environment, find_program
from pool_tools.folders import open_folder
from pool_tools.frozen import frozen
from pool_tools.globs import compile_glob
from pool_tools.limits import SEARCH_HITS, SEARCH_LINE_CHARS, SEARCH_SECONDS
from pool_tools.lines import shown_line
from pool_tools.masking import Mask
from pool_tools.search_worker import BAD_PATTERN
from pool_tools.secretfiles import left_out, looks_secret
from pool_tools.text import clip, clip_around, size, visible
from pool_tools.textfile import binary_kind
from pool_tools.walk import DEPENDENCY_FOLDERS, REPOSITORY_FOLDERS
from pool_tools.workspace import Workspace

_CHUNK_BYTES = 256 * 1024
_MESSAGE_BYTES = 32 * 1024 * 1024
"""Longest JSON line that is taken in; a hit in a longer line of a file is passed over."""

_ERROR_BYTES = 600
_PATTERN_CHARS = 200
_POLL_SECONDS = 0.1
SHOWN_SECRETS = 5
_WORKER = Path(__file__).with_name("search_worker.py")


@frozen
class _Job:
    """Where to search: the root's real path, the path below it as bytes ("" for all), and how to show results.

    top_rules: the root's ignore file applies, though the search begins below it.
    """

    root: str
    start: bytes
    is_file: bool
    name: str
    shown_root: str
    skip_dependencies: bool
    top_rules: bool
    notes: tuple[str, ...]


@frozen
class _Hit:
    path: str
    line: int
    text: str


class _BadPattern(Exception):
    pass


class SearchTool:
    """Searches file contents. Without ripgrep a process of our own gives the same results, only slower."""

    spec = ToolSpec(
        name="search",
        description=(
            f"Search file contents for a regular expression; gives path:line:text, at most {SEARCH_HITS} hits. "
            "Ignored and binary files are left out."
        ),
        parameters={
            "type": "object",
            "properties": {
                "pattern": {"type": "string", "description": "Regular expression, such as def \\w+_test"},
                "path": {"type": "string", "description": "Folder or file, default the workspace"},
                "glob": {"type": "string", "description": "Only files such as *.py"},
            },
            "required": ["pattern"],
        },
        effect=Effect.READ,
    )

    def __init__(self, workspace: Workspace, search_path: str | None = None) -> None:
        """search_path is where programs are looked up, default the environment's PATH."""
        self._workspace = workspace
        self._search_path = os.environ.get("PATH", os.defpath) if search_path is None else search_path

    def preview(self, args: Mapping[str, Any]) -> Preview:
        pattern = visible(text_argument(args, "pattern"))
        with self._workspace.locate(text_argument(args, "path", ".") or ".") as place:
            name = self._workspace.shown(place)
        return Preview("text", f"Search {name}", f"Search {name} for {pattern}", (name,))

    async def run(self, args: Mapping[str, Any], output: OutputSink) -> ToolResult:
        pattern = text_argument(args, "pattern")
        if not pattern or "\n" in pattern:
            raise ToolError("`pattern` is empty or holds a line end. Search for something within one line.")
        path = text_argument(args, "path", ".") or "."
        return await run_blocking(self._run, path, pattern, text_argument(args, "glob", ""))

    def _run(self, flag: CancelFlag, path: str, pattern: str, glob: str) -> ToolResult:
        job = self._job(path)
        ripgrep = find_program("rg", self._search_path, self._workspace.roots)
        programs = [_ripgrep(ripgrep, job, pattern)] if ripgrep else []
        programs.append(_worker(job, pattern))
        reason = ""
        for program in programs:
            try:
                return _collect(flag, program, job, pattern, glob, self._workspace.mask)
            except _BadPattern as bad:
                reason = reason or str(bad)
            except OSError as error:
                self._workspace.check()
                raise ToolError(f"The search could not be done: {error.strerror or error}. Try again.") from None
        raise ToolError(f"`pattern` is no regular expression: {visible(reason)} Escape ( [ {{ with \\.")

    def _job(self, path: str) -> _Job:
        with self._workspace.locate(path) as place:
            name = self._workspace.shown(place)
            main = self._workspace.is_main(place.root)
            shown_root = "" if main else f"{visible(str(place.root.path))}/"
            start = os.fsencode("/".join(place.parts))
            if not place.is_folder:
                handle, found = self._workspace.open_file(place)
                with os.fdopen(handle, "rb") as file:
                    kind = binary_kind(file.read(_CHUNK_BYTES))
                if kind:
                    raise ToolError(f"{name} is not text: {kind}, {size(found.st_size)}. It is not searched.")
                return _Job(str(place.root.path), start, True, name, shown_root, False, False, ())
        with open_folder(self._workspace, path) as folder:
            skip = folder.walker.skip_dependencies
            folder.walker.max_depth = 2
            if skip:
                for _ in folder.entries():
                    pass
            top_rules = bool(start and folder.rules)
            notes = tuple(folder.notes())
            return _Job(str(place.root.path), start, False, name, shown_root, skip, top_rules, notes)


@frozen
class _Program:
    argv: tuple[str, ...]
    cwd: str
    stdin: bytes


def _ripgrep(program: str, job: _Job, pattern: str) -> _Program:
    flags = ["--json", "--no-config", "--hidden", "--no-messages", "--sort", "path"]
    # The same rules that the built-in walk follows: those of the workspace's top and those on the way down.
    flags += ["--no-require-git", "--no-ignore-parent", "--no-ignore-global", "--no-ignore-exclude"]
    left_out = REPOSITORY_FOLDERS + (DEPENDENCY_FOLDERS if job.skip_dependencies else ())
    for name in left_out:
        flags += ["--glob", f"!**/{name}/"]
    if job.top_rules:
        flags += ["--ignore-file", ".gitignore"]
    target = b"./" + job.start if job.start else b"./"
    argv = (program, *flags, "--regexp", pattern, "--", os.fsdecode(target))
    return _Program(argv, job.root, b"")


def _worker(job: _Job, pattern: str) -> _Program:
    request = {
        "sys_path": sys.path,
        "pattern": pattern,
        "start": base64.b64encode(job.start).decode(),
        "file": job.is_file,
        "skip_dependencies": job.skip_dependencies,
        "top_rules": job.top_rules,
    }
    return _Program((sys.executable, "-I", str(_WORKER)), job.root, json.dumps(request).encode())


def _collect(flag: CancelFlag, program: _Program, job: _Job, pattern: str, glob: str, mask: Mask) -> ToolResult:
    wanted = compile_glob(glob) if glob and not job.is_file else None
    below = len(job.start) + 1 if job.start else 0
    hits: list[_Hit] = []
    secret: dict[str, None] = {}
    more = late = False
    lines = _lines(flag, program)
    try:
        for line in lines:
            hit = _hit(line, mask)
            if hit is None or (wanted and not wanted.fullmatch(os.fsdecode(os.fsencode(hit.path)[below:]))):
                continue
            if not job.is_file and looks_secret(os.path.basename(hit.path)):
                secret[hit.path] = None
                continue
            if len(hits) == SEARCH_HITS:
                more = True
                break
            hits.append(hit)
    except TimeoutError:
        late = True
    finally:
        lines.close()
    if secret:
        job = replace(job, notes=(*job.notes, left_out([visible(path) for path in list(secret)[:SHOWN_SECRETS]])))
    return _result(job, pattern, glob, hits, more, late)


def _lines(flag: CancelFlag, program: _Program) -> Generator[bytes, None, None]:
    """What a program prints, line by line. The program is gone when this ends, however it ends.

    Raises `TimeoutError` at the time limit, `_BadPattern` if the program refused the pattern.
    """
    deadline = time.monotonic() + SEARCH_SECONDS
    process = subprocess.Popen(
        program.argv,
        cwd=program.cwd,
        env=clean_environment(os.environ),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdin
    assert process.stdout
    assert process.stderr
    with process.stdin, process.stdout, process.stderr:
        try:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(program.stdin)
                process.stdin.close()
            yield from _whole_lines(flag, process.stdout.fileno(), deadline)
            if process.wait(max(deadline - time.monotonic(), 0)) == BAD_PATTERN and (
                errors := process.stderr.read(_ERROR_BYTES)
            ):
                raise _BadPattern(" ".join(errors.decode("utf-8", "replace").split()))
        except subprocess.TimeoutExpired:
            raise TimeoutError from None
        finally:
            process.kill()
            process.wait()


def _whole_lines(flag: CancelFlag, source: int, deadline: float) -> Iterator[bytes]:
    pending = b""
    while True:
        flag.check()
        if time.monotonic() > deadline:
            raise TimeoutError
        if not select.select([source], [], [], _POLL_SECONDS)[0]:
            continue
        chunk = os.read(source, _CHUNK_BYTES)
        if not chunk:
            return
        *whole, pending = (pending + chunk).split(b"\n")
        yield from whole
        if len(pending) > _MESSAGE_BYTES:
            pending = b""


def _hit(line: bytes, mask: Mask) -> _Hit | None:
    try:
        message = json.loads(line)
    except ValueError:
        return None
    if message.get("type") != "match":
        return None
    data = message["data"]
    raw = _bytes(data["lines"])
    start = len(raw[: data["submatches"][0]["start"]].decode("utf-8", "surrogateescape")) if data["submatches"] else 0
    text = mask.text(raw.decode("utf-8", "surrogateescape"))
    start = min(start, len(text))
    path = os.fsdecode(_bytes(data["path"])).removeprefix("./")
    return _Hit(path, data["line_number"], shown_line(clip_around(text.rstrip("\r\n"), start, SEARCH_LINE_CHARS)))


def _bytes(value: Mapping[str, str]) -> bytes:
    """ripgrep gives text, or base64 where it is not UTF-8."""
    return value["text"].encode() if "text" in value else base64.b64decode(value["bytes"])


def _result(job: _Job, pattern: str, glob: str, hits: Sequence[_Hit], more: bool, late: bool) -> ToolResult:
    notes = list(job.notes)
    if more:
        notes.insert(0, f"the first {SEARCH_HITS} hits; there are more: narrow pattern, path or glob")
    if late:
        notes.insert(0, f"stopped after {SEARCH_SECONDS:.0f} s, so there may be more: narrow path or glob")
    lines = [f"{job.shown_root}{visible(hit.path)}:{hit.line}:{hit.text}" for hit in hits]
    if not hits:
        among = f" in files {visible(glob)}" if glob else ""
        lines.append(f"No line in {job.name} matches {visible(clip(pattern, _PATTERN_CHARS))}{among}.")
    text = "\n".join(lines + [f"[{note}]" for note in notes])
    return ToolResult(True, text, {"path": job.name, "hits": len(hits), "truncated": more or late})
