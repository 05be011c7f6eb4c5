from __future__ import annotations

import json

import pytest

from pool.messages import ReasoningField
from pool.wire.dialects import DIALECTS, Dialect, ServerKind, TokenizerKind, for_server


@pytest.mark.parametrize("kind", list(ServerKind))
def test_every_kind_of_server_has_a_whole_dialect(kind: ServerKind) -> None:
    dialect = for_server(kind)
    assert dialect.kind is kind
    assert dialect.name
    assert dialect.source
    assert dialect.window_remedy
    assert dialect.thinking_on != dialect.thinking_off
    assert dialect.reasoning_history is not ReasoningField.NONE
    for fragment in (dialect.thinking_on, dialect.repetition_detection, dialect.continue_message, dialect.progress):
        json.dumps(fragment)
    assert bool(dialect.reasoning_control) == bool(dialect.reasoning_control_path)
    assert not dialect.refused_under_speculation & dialect.sampling - {"min_p"}


def test_the_switch_of_the_template_is_a_boolean() -> None:
    """The string "false" would turn thinking on."""
    for dialect in DIALECTS.values():
        for on in (True, False):
            switch = dialect.thinking(on).get("chat_template_kwargs", {"enable_thinking": on})
            assert switch == {"enable_thinking": on}


def test_an_unknown_server_is_spoken_to_as_to_vllm_but_without_its_own_fields() -> None:
    generic, vllm = for_server(ServerKind.GENERIC), for_server(ServerKind.VLLM)
    assert generic.thinking(True) == vllm.thinking(True)
    assert generic.reasoning_history is ReasoningField.BOTH
    assert not generic.repetition_detection
    assert generic.tokenizer is TokenizerKind.NONE


def test_a_budget_goes_where_the_server_looks_for_it() -> None:
    assert for_server(ServerKind.VLLM).budget(512) == {"thinking_token_budget": 512}
    assert for_server(ServerKind.SGLANG).budget(512) == {"custom_params": {"thinking_budget": 512}}
    assert for_server(ServerKind.OLLAMA).budget(512) == {}
    assert Dialect(ServerKind.GENERIC, "x", thinking_budget=("a", "b", "c")).budget(1) == {"a": {"b": {"c": 1}}}
