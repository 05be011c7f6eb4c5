"""What does a client get that does not say whether the model is to think?"""

from __future__ import annotations

from pool.lab.doctor.finding import Check, Finding, Status
from pool.lab.doctor.subject import Ask, Subject, talk
from pool.lab.doctor.thinking import OFF_TOKENS, PROMPT, thought_of


async def unswitched(subject: Subject) -> Finding:
    """The question of the check of thinking once more, without the switch: left out is neither on nor off."""
    thought = thought_of(await subject.ask(Ask(talk(PROMPT), max_tokens=OFF_TOKENS, switched=False)))
    if thought.tags:
        words = f"without the switch a thought stands in the text ({' '.join(thought.tags)})"
        means = "Pool always sends the switch. Other clients of this server, which may not, show thoughts as answers."
        return Finding("unswitched", Status.WARN, words, means, subject.remedies.switch, thought.data)
    words = f"without the switch the model thinks, in the field {thought.fields[0]}" if thought.fields else ""
    return Finding("unswitched", Status.OK, words or "without the switch no thought came", data=thought.data)


UNSWITCHED = Check(
    "unswitched",
    "what comes if nobody says whether to think?",
    unswitched,
    needs=("stream",),
    means="What clients get that do not send the thinking switch is not known.",
    reads=64,
    writes=OFF_TOKENS,
)
