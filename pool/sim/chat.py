"""A chat request on its way: checked, rendered, decided, and made ready to be written."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, cycle
from typing import Any

from pool.sim.chunks import Answer
from pool.sim.engine import Engine, Job, Step
from pool.sim.errors import ApiError, shape_error, too_long
from pool.sim.faults import Faults
from pool.sim.metrics import Metrics
from pool.sim.policy import decide
from pool.sim.request import ChatRequest, read_chat
from pool.sim.say import Call, Saying, scripted
from pool.sim.settings import SimSettings
from pool.sim.template import Rendering, calls_of, render
from pool.sim.tokens import ASSISTANT, END_THINK, END_TURN, THINK, encode

NO_REASONING_CONFIG = (
    "thinking_token_budget is set but reasoning_config is not configured. Please set --reasoning-parser and/or "
    "--reasoning-config to use thinking_token_budget."
)
PADDING = " There is no more to say, so the line is filled."
"""What is written, again and again, where a reply must not end (`ignore_eos`)."""

NOT_WITH_DRAFTS = "The min_p and logit_bias sampling parameters are not yet supported with speculative decoding."


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request that was accepted. refusal is an error that vLLM finds only after it has begun to answer."""

    request: ChatRequest
    answer: Answer
    steps: AsyncGenerator[Step]
    refusal: ApiError | None


class Chat:
    """What a server does with chat requests, apart from HTTP."""

    def __init__(self, settings: SimSettings, metrics: Metrics) -> None:
        self._settings = settings
        self._engine = Engine(settings, metrics)

    def prepare(self, body: Mapping[str, Any], number: int, faults: Faults) -> Prepared:
        """Check request number and decide what to say. Raises `ApiError` for what vLLM answers with an HTTP error."""
        try:
            request = faults.request(read_chat(body, self._settings.model, self._settings.max_model_len))
            prompt_text = render(request.messages, request.tools, self._rendering(request))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            # A value of a wrong type, somewhere inside: vLLM's validation refuses the whole body.
            raise shape_error(f"Input should be valid: {error}", "body", body) from error
        prompt = tuple(encode(prompt_text))[-request.keeps_tokens :]
        limit = self._limit(request, len(prompt))
        saying = faults.say(self._say(request, prompt_text, number))
        budget = request.thinking_budget if request.thinking_budget != -1 else None
        job = Job(
            number=number,
            prompt=prompt,
            tokens=_endless(saying.tokens(budget)) if request.ignore_eos else saying.tokens(budget),
            limit=limit,
            stop=request.stop,
            repetition=request.repetition,
            cache_salt=request.cache_salt,
            accepts_drafts=request.accepts_drafts,
        )
        answer = Answer(
            request=request,
            model=self._settings.model,
            prompt_tokens=len(prompt),
            prompt_text=prompt_text,
            thought_open=saying.opened and request.thinking is True,
            tell_cached=self._settings.prompt_token_details,
            plain=saying.plain or request.raw_text,
            deaf=saying.deaf or request.raw_text,
            finish=saying.finish,
        )
        return Prepared(request, answer, self._engine.run(job), self._refusal(request, budget))

    def _rendering(self, request: ChatRequest) -> Rendering:
        thinks = self._settings.template_thinks if request.thinking is None else request.thinking
        return Rendering(thinks, request.preserve_thinking, request.generate, request.continue_final)

    def _limit(self, request: ChatRequest, prompt: int) -> int:
        window, asked = self._settings.max_model_len, request.max_tokens or 0
        if prompt + max(asked, 1) > window:
            raise too_long(window, asked, prompt)
        return asked or window - prompt

    def _say(self, request: ChatRequest, prompt_text: str, number: int) -> Saying:
        tail = prompt_text.rpartition(ASSISTANT)[2]
        opened = tail.rfind(THINK) > tail.rfind(END_THINK)
        script = self._settings.script
        if script:
            return scripted(script[min(number, len(script)) - 1], opened)
        reply = decide(request, self._settings.cheat)
        return Saying(reply, opened, reply.thought, reply.rest, last_call=_last_call(request))

    def _refusal(self, request: ChatRequest, budget: int | None) -> ApiError | None:
        if budget is not None and not self._settings.reasoning_config:
            return ApiError(NO_REASONING_CONFIG, in_stream=True)
        if request.refused_by_drafts and self._settings.steps.drafts:
            return ApiError(NOT_WITH_DRAFTS, in_stream=True)
        return None


def _endless(tokens: Iterator[str]) -> Iterator[str]:
    """Tokens that go on where the model would end its turn (`ignore_eos`): a filling sentence follows."""
    said = [token for token in tokens if token != END_TURN]
    return chain(said, cycle(encode(PADDING)))


def _last_call(request: ChatRequest) -> Call | None:
    """The last call of the history, for faults that repeat it."""
    for message in reversed(request.messages):
        calls = calls_of(message) if message.get("role") == "assistant" else []
        if calls:
            return Call(calls[-1][1], calls[-1][2])
    return None
