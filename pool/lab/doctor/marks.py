"""Finding a model's own marks in text that should not have them: thinking tags, call markup, marks of the template."""

from __future__ import annotations

import re

from pool.wire.codespans import code_spans
from pool.wire.markup import OPENERS, looks_like_call_start
from pool.wire.reading import DEFAULT_THINK_TAGS
from pool.wire.tags import USER

_TAG = re.compile(f"</?(?:{'|'.join(map(re.escape, DEFAULT_THINK_TAGS))})>")
_OPENER = re.compile("|".join(re.escape(opener) for opener in OPENERS if opener != USER))
_TEMPLATE = re.compile(r"</?(?:assistant|tool_response)>|〈\|[^|\n]{1,20}\|〉|<\|[a-z_]{2,30}\|>")


def thinking_tags(text: str) -> list[str]:
    """The thinking tags in text, in order, each once; tags in Markdown code are no marks."""
    return _outside_code(_TAG, text)


def call_markup(text: str) -> list[str]:
    """The openers of call markup in text, each once: `<tool_call>` and the like, where a call really follows."""
    spans = code_spans(text)
    found = (m for m in _OPENER.finditer(text) if not any(start <= m.start() < end for start, end in spans))
    return list(dict.fromkeys(m[0] for m in found if looks_like_call_start(text[m.start() :]) is not False))


def template_marks(text: str) -> list[str]:
    """Marks that frame messages in a prompt, such as `</assistant>` or `<|im_end|>`, each once."""
    return _outside_code(_TEMPLATE, text)


def _outside_code(pattern: re.Pattern[str], text: str) -> list[str]:
    spans = code_spans(text)
    found = (m for m in pattern.finditer(text) if not any(start <= m.start() < end for start, end in spans))
    return list(dict.fromkeys(m[0] for m in found))
