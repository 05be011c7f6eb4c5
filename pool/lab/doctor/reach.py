"""Does anything answer, and what is it?"""

from __future__ import annotations

import re
import shlex
import time

from pool.lab.doctor.finding import Check, Finding, Status
from pool.lab.doctor.remedies import START, export
from pool.lab.doctor.reply import duration
from pool.lab.doctor.subject import Subject
from pool.wire.dialects import ServerKind
from pool.wire.errors import ProblemKind, ServerProblem
from pool.wire.identify import MODELS_PATH, ServerInfo
from pool.wire.probe import PROBE_SECONDS, USUAL_PORTS, probe

REACH_SECONDS = 10.0
"""Limit for the first answer: a list of models needs no computing, but the machine may be far away or busy."""

OLDEST_VLLM = (0, 25)
"""vLLM 0.25.0 is the first that serves Laguna with its parsers."""

AWAY = frozenset(
    {ProblemKind.REFUSED, ProblemKind.UNREACHABLE, ProblemKind.TIMEOUT, ProblemKind.DROPPED}
    | {ProblemKind.LOADING, ProblemKind.BUSY, ProblemKind.SERVER_ERROR}
)
"""Problems that may be gone when asked again; the others need a change."""

_NUMBERS = re.compile(r"(\d+)\.(\d+)")


async def reachable(subject: Subject) -> Finding:
    """Ask for the model list, then for everything else that tells what the server is."""
    if subject.found is not None and not subject.found:
        ports = ", ".join(str(port) for port in USUAL_PORTS)
        words = f"no model server answers on this machine (ports {ports})"
        means = "Pool has nothing to talk to. Start a server, or name one with --base-url or POOL_BASE_URL."
        return Finding("reachable", Status.FAIL, words, means, START, {"away": True})
    problem = await _asked(subject)
    if problem is not None and problem.kind is not ProblemKind.NOT_FOUND:
        return _unreachable(subject, problem)
    subject.info = await probe(subject.transport, subject.environment.model or None, PROBE_SECONDS)
    if problem is not None and subject.info.kind is ServerKind.GENERIC:
        return _unreachable(subject, problem)
    # Timed the second time: the first also opens the connection and loads the client.
    begun = time.monotonic()
    await _asked(subject)
    seconds = time.monotonic() - begun
    words = f"{subject.display} answers in {duration(seconds)}"
    others = [server.words for server in (subject.found or ())[1:]]
    if others:
        words += f"; also on this machine: {'; '.join(others)}"
    return Finding("reachable", Status.OK, words, data={"seconds": round(seconds, 4), "others": others})


async def _asked(subject: Subject) -> ServerProblem | None:
    try:
        await subject.transport.get(MODELS_PATH, REACH_SECONDS)
    except ServerProblem as problem:
        return problem
    return None


def _unreachable(subject: Subject, problem: ServerProblem) -> Finding:
    away = problem.kind in AWAY
    data = {"away": away, "problem": problem.kind.value, "http_status": problem.status}
    means = "Pool cannot work with it." if not problem.remedy else f"Pool cannot work with it: {problem.remedy}."
    return Finding("reachable", Status.FAIL, str(problem), means, _line(subject, problem), data)


def _line(subject: Subject, problem: ServerProblem) -> str:
    endpoint = subject.transport.endpoint
    models = shlex.quote(f"{endpoint.base_url}/{MODELS_PATH}")
    match problem.kind:
        case ProblemKind.REFUSED if endpoint.is_loopback:
            return START
        case ProblemKind.UNAUTHORIZED:
            return export("POOL_API_KEY", "KEY")
        case ProblemKind.NOT_FOUND | ProblemKind.NOT_A_SERVER:
            return export("POOL_BASE_URL", "http://HOST:PORT/v1")
        case ProblemKind.LOADING | ProblemKind.BUSY:
            return f"until curl -sf {models} >/dev/null; do sleep 5; done; pool doctor"
        case _:
            return f"curl -v --max-time 30 {models}"


async def server(subject: Subject) -> Finding:
    """Name the server and its version from what the probe fetched."""
    info = subject.info
    data = {"kind": info.kind.value, "version": info.version, "speculation": info.speculation}
    name = f"{info.dialect.name} {info.version}".strip()
    if info.kind is ServerKind.GENERIC:
        words = "a server that Pool does not know, with an OpenAI-compatible interface"
        means = "Pool speaks to it with what all servers take; loop detection on the server and exact counts are off."
        return Finding("server", Status.WARN, words, means, data=data)
    version = _NUMBERS.match(info.version)
    old = info.kind is ServerKind.VLLM and version and (int(version[1]), int(version[2])) < OLDEST_VLLM
    if old and "laguna" in info.model.lower():
        means = "Laguna needs vLLM 0.25 or newer; older versions lack its parsers or send thoughts under another name."
        return Finding("server", Status.FAIL, name, means, subject.remedies.upgrade, data)
    return Finding("server", Status.OK, f"{name}{_details(info)}", data=data)


def _details(info: ServerInfo) -> str:
    version = "" if info.version else "; it does not tell its version"
    match info.speculation:
        case True:
            return f"{version}; speculative decoding is on, so Pool leaves out min_p and logit_bias"
        case False:
            return f"{version}; no speculative decoding"
        case None:
            return version


REACHABLE = Check("reachable", "does it answer?", reachable)
SERVER = Check("server", "what is it?", server, needs=("reachable",))
