"""Signs of a thought that ran away: however it is cut into deltas, in any language, and not in honest text."""

from __future__ import annotations

import inspect
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pool.agent.guards import signals
from pool.agent.guards.signals import Finding, ThoughtSignals
from pool.config.guards import GuardSettings
from tests.guards.corpus.texts import code, maths, prose, prose_japanese, table


def found(text: str, size: int = 24, settings: GuardSettings | None = None) -> tuple[Finding | None, int]:
    """The first finding when text comes in pieces of size, and how many characters had come by then."""
    watch = ThoughtSignals(settings or GuardSettings())
    for at in range(0, len(text), size):
        if finding := watch.feed(text[at : at + size]):
            return finding, at + size
    return None, len(text)


@pytest.mark.parametrize("size", [1, 7, 24, 500])
@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("wait, check again " * 800, "repetition"),
        ("I check the list again. " * 300, "same-sentence"),
        ("もう一度、条件を確認する。" * 300, "same-sentence"),
        ("確認" * 4000, "repetition"),
        ("".join(f"Actually, wait. {prose(3, 3 * i)}" for i in range(20)), "plan-restarts"),
        (f"Here:\n{code(100)}", "code-in-thought"),
        ("".join(f"But I should check item {i} again. {prose(2, 2 * i)}" for i in range(30)), "same-sentence"),
    ],
)
def test_runaways_are_seen_however_they_are_cut(text: str, name: str, size: int) -> None:
    finding, _ = found(text, size)
    assert finding is not None
    assert finding.name == name


def test_japanese_is_seen_as_early_as_english_in_tokens() -> None:
    """A Japanese character is about a token, five English letters are one."""
    _, english = found("check it again and " * 2000)
    _, japanese = found("再度確認して、" * 2000)
    assert japanese * 3 <= english * 1.2


@pytest.mark.parametrize(
    "text",
    [
        prose(200),
        prose_japanese(200),
        maths(150),
        table(120),
        code(40) + prose(20) + code(40),
        textwrap.dedent(inspect.getsource(signals)),
        "\n".join(f"        self.assertEqual(run({i}), {i * i})" for i in range(60)),
        "Actually, wait. " + prose(30) + "Let me re-read it. " + prose(30),
    ],
)
def test_honest_texts_are_left_alone(text: str) -> None:
    assert found(text)[0] is None


def test_phrases_of_ones_own() -> None:
    text = "".join(f"Hold your horses, {prose(3, 3 * i)}" for i in range(12))
    assert found(text)[0] is None
    finding, _ = found(text, settings=GuardSettings(restart_phrases=("hold your horses",)))
    assert finding is not None
    assert finding.name == "plan-restarts"
    with pytest.raises(ValueError, match="no regular expression"):
        GuardSettings(restart_phrases=("(",))


def test_zero_switches_a_sign_off() -> None:
    off = GuardSettings(restarts=0, same_sentence=0, code_lines=0)
    assert found(f"Here:\n{code(100)}", settings=off)[0] is None
    assert found("".join(f"Actually, wait. {prose(3, 3 * i)}" for i in range(20)), settings=off)[0] is None


@given(st.text(max_size=400), st.integers(1, 40))
def test_any_text_can_be_fed(text: str, size: int) -> None:
    found(text, size)
