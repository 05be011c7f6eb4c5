"""Which model will answer, and how much text fits into its window?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pool.lab.doctor.finding import Check, Finding, Status
from pool.lab.doctor.remedies import WINDOW_VARIABLE, export
from pool.lab.doctor.subject import Ask, Subject, talk
from pool.wire.dialects import ServerKind
from pool.wire.errors import ProblemKind, ServerProblem
from pool.wire.identify import SMALL_WINDOW_TOKENS

NO_SUCH_MODEL = "pool-doctor-no-such-model"
SHOWN_MODELS = 8

LEAST_WINDOW_TOKENS = 4_096
"""Pool's own prompt takes up to 2,500; below this there is no room for a file and an answer."""

ASKED_FOR_UNKNOWN = frozenset(
    {ServerKind.VLLM, ServerKind.SGLANG, ServerKind.LLAMACPP, ServerKind.LMSTUDIO}
    | {ServerKind.OLLAMA, ServerKind.OLLAMA_NATIVE}
)
"""Servers that can be asked for a model that does not exist. Others may first unload theirs to fetch it (MLX)."""


async def model(subject: Subject) -> Finding:
    """Choose the model as a run does, and see what the server does with a name that it cannot know."""
    info, wanted = subject.info, subject.environment.model
    subject.model = info.model or wanted
    accepted = await _accepts_unknown(subject)
    data: dict[str, Any] = {
        "model": subject.model,
        "wanted": wanted,
        "models": list(info.models[:SHOWN_MODELS]),
        "unknown_accepted": accepted,
    }
    if not subject.model:
        means = "Pool does not know which model to ask for."
        remedy = export("POOL_MODEL", "MODEL")
        return Finding("model", Status.FAIL, "the server lists no model", means, remedy, data)
    if wanted and info.models and subject.model not in info.models:
        return _not_listed(subject, info.models, accepted, data)
    if not wanted and len(info.models) > 1:
        words = f"{subject.model}, one of {len(info.models)}: {', '.join(info.models[:SHOWN_MODELS])}"
        means = "Pool takes this one as long as you name none."
        return Finding("model", Status.WARN, words, means, export("POOL_MODEL", subject.model), data)
    if accepted and len(info.models) > 1:
        words = f"{subject.model}; the server answers to any model name, also to ones that it does not have"
        means = "A misspelt name goes unnoticed, and another model may answer."
        return Finding("model", Status.WARN, words, means, export("POOL_MODEL", subject.model), data)
    note = {True: "; the server answers to any other name too", False: "; other names are refused", None: ""}[accepted]
    return Finding("model", Status.OK, f"{subject.model}{note}", data=data)


def _not_listed(subject: Subject, names: Sequence[str], accepted: bool | None, data: dict[str, Any]) -> Finding:
    listed = ", ".join(names[:SHOWN_MODELS])
    words = f"{subject.model} is not among the server's models ({listed})"
    remedy = export("POOL_MODEL", names[0])
    if accepted:
        means = f"The server answers to any name, so {names[0]} will answer under the name {subject.model}."
        return Finding("model", Status.WARN, words, means, remedy, data)
    return Finding("model", Status.FAIL, words, "The server will refuse every request.", remedy, data)


async def _accepts_unknown(subject: Subject) -> bool | None:
    """Whether the server answers to a model that does not exist; None if that was not tried or cannot be told."""
    if subject.info.kind not in ASKED_FOR_UNKNOWN:
        return None
    try:
        await subject.ask(Ask(talk("Say yes."), max_tokens=1, model=NO_SUCH_MODEL))
    except ServerProblem as problem:
        refused = problem.kind in (ProblemKind.MODEL_NOT_FOUND, ProblemKind.NOT_FOUND, ProblemKind.BAD_REQUEST)
        return False if refused else None
    return True


async def window(subject: Subject) -> Finding:
    """Compare what the server says of its window with what the environment says."""
    told, given = subject.info.window, subject.environment.window
    data = {"told": told, "source": subject.info.window_source, "given": given, "used": given or told}
    dialect = subject.info.dialect
    if given and dialect.shape.sets_window:
        return Finding("window", Status.OK, f"{given:,} tokens, which Pool asks the server for", data=data)
    if not told and not given:
        words = f"{dialect.name} does not tell it"
        if dialect.window_when_loaded:
            words += " before the model is loaded"
        means = (
            "Pool cannot see when a conversation gets too long. Set it to the tokens that the server was started with."
        )
        return Finding("window", Status.WARN, words, means, WINDOW_VARIABLE, data)
    if told and given > told:
        words = f"POOL_CONTEXT_LENGTH says {given:,} tokens, the server has {told:,} ({subject.info.window_source})"
        means = "Long conversations will run into the server's limit without warning."
        return Finding("window", Status.WARN, words, means, "unset POOL_CONTEXT_LENGTH", data)
    words = f"{given or told:,} tokens"
    words += f" by POOL_CONTEXT_LENGTH; the server has {told:,}" if told and given else ""
    words += " by POOL_CONTEXT_LENGTH; the server does not tell" if given and not told else ""
    words += f" ({subject.info.window_source})" if told and not given else ""
    if (given or told) < SMALL_WINDOW_TOKENS:
        means = f"That is small for an agent: {SMALL_WINDOW_TOKENS:,} is the least that is of use."
        remedy = "unset POOL_CONTEXT_LENGTH" if told >= SMALL_WINDOW_TOKENS else subject.remedies.window
        status = Status.FAIL if (given or told) < LEAST_WINDOW_TOKENS else Status.WARN
        return Finding("window", status, words, means, remedy, data)
    return Finding("window", Status.OK, words, data=data)


MODEL = Check("model", "which model?", model, needs=("reachable",), reads=64, writes=1)
WINDOW = Check("window", "how much fits?", window, needs=("model",))
