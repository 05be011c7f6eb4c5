"""Can thinking be switched on and off, and do thoughts arrive apart from the answer?"""

from __future__ import annotations

from dataclasses import field
from typing import Any

from pool.lab.doctor.finding import Check, Finding, Status
from pool.lab.doctor.marks import thinking_tags
from pool.lab.doctor.remedies import again
from pool.lab.doctor.reply import Reply
from pool.lab.doctor.subject import Ask, Subject, talk
from pool.wire.reading import Ending
from pool_tools.frozen import frozen

ON_TOKENS = 512
OFF_TOKENS = 256
PROMPT = "What is 17 times 23? Work it out, then give the number."


@frozen
class Thought:
    """Where a reply's thought was: names of wire fields, and thinking tags that stood in the content."""

    fields: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    chars: int = 0
    data: dict[str, Any] = field(default_factory=dict[str, Any])

    @property
    def there(self) -> bool:
        return bool(self.fields or self.tags)


def thought_of(reply: Reply) -> Thought:
    """Where the thought of a reply was."""
    tags = tuple(thinking_tags(reply.content))
    fields = tuple(name for name, text in reply.reasoning.items() if text.strip())
    chars = max((len(text) for text in reply.reasoning.values()), default=0)
    data = {"fields": list(fields), "tags_in_content": list(tags), "chars": chars, "ending": reply.reading.ending.value}
    return Thought(fields, tags, chars, data)


async def thinking(subject: Subject) -> Finding:
    """The same question with thinking on and with thinking off."""
    with_it = await subject.ask(Ask(talk(PROMPT), max_tokens=ON_TOKENS, thinking=True))
    without = await subject.ask(Ask(talk(PROMPT), max_tokens=OFF_TOKENS, thinking=False))
    on, off = thought_of(with_it), thought_of(without)
    subject.thought_field = with_it.reading.reasoning_field
    data = {"on": on.data, "off": off.data}
    if on.tags and not on.fields:
        words = f"on: the thought stands in the text ({' '.join(on.tags)})"
        means = "Pool sorts it out as far as the tags allow, but the server does not keep thought and answer apart."
        return Finding("thinking", Status.FAIL, words, means, subject.remedies.reasoning, data)
    if off.there:
        place = f"the field {off.fields[0]}" if off.fields else f"the text ({' '.join(off.tags)})"
        words = f"off: the model thinks all the same, in {place}"
        means = "The switch does not reach the chat template: short questions and summaries will cost thoughts too."
        return Finding("thinking", Status.FAIL, words, means, _switch_line(subject, off), data)
    if not on.there:
        words = "on: no thought came; off: none came"
        means = "Thinking on is a permission, no guarantee; if it is the same again, model or template may not think."
        return Finding("thinking", Status.WARN, words, means, again("thinking"), data)
    words = f"on: thoughts arrive in the field {' and '.join(on.fields)}; off: none"
    if on.tags:
        words += f"; but a second one stood in the text ({' '.join(on.tags)})"
        means = "The model began to think again inside its answer. Pool takes such a thought out."
        return Finding("thinking", Status.WARN, words, means, again("thinking"), data)
    if not with_it.content.strip():
        return _no_answer(with_it, words, data)
    return Finding("thinking", Status.OK, words, data=data)


def _no_answer(reply: Reply, words: str, data: dict[str, Any]) -> Finding:
    """A thought, and nothing after it."""
    if reply.reading.ending is Ending.REPETITION:
        words += "; this thought ran in circles until the server stopped it"
        means = (
            "Pool asks the server to stop loops, as here. The model may not be loaded right, or its weights are faulty."
        )
    elif reply.reading.ending is Ending.LENGTH:
        words += f"; this thought was not over after {ON_TOKENS} tokens"
        means = "A long thought for a small question. Pool closes thoughts that run away, which costs their tokens."
    else:
        words += "; but the answer never came, or stands inside the thought"
        means = "The thought was not closed, so nothing was left for the answer. Pool has to ask again."
    return Finding("thinking", Status.WARN, words, means, again("thinking"), data)


def _switch_line(subject: Subject, off: Thought) -> str:
    return subject.remedies.reasoning if off.tags else "pool run --thinking on"


THINKING = Check(
    "thinking",
    "can thinking be switched?",
    thinking,
    needs=("stream",),
    means="Whether thinking can be switched is not known.",
    reads=2 * 64,
    writes=ON_TOKENS + OFF_TOKENS,
)
