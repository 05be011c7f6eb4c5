"""Reading and changing a command."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pool.lab.serve.flags import Arguments, Command, Flag, read_flags

COMMAND = Command(
    ("vllm", "serve"), (Flag("", ("m",), ""), Flag("--a", ("1",), ""), Flag("--b", (), "")), (("E", "x y", ""),)
)


def test_own_flags_take_the_place_of_those_there() -> None:
    changed = COMMAND.with_extra(["--a=2", "--c", "3", "4"])
    assert changed.words == ["vllm", "serve", "m", "--a", "2", "--b", "--c", "3", "4"]
    assert changed.flags[1].reason == "given by you"


def test_as_lines_for_a_shell() -> None:
    assert COMMAND.shell() == "E='x y' vllm serve m \\\n    --a 1 \\\n    --b"


@settings(max_examples=20)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1), min_size=1))
def test_a_shell_reads_back_every_word(values: list[str]) -> None:
    command = Command(("printf", "%s\\0"), (Flag("--a", tuple(values), ""),))
    done = subprocess.run(["sh", "-c", command.shell()], capture_output=True, check=True)
    assert done.stdout.decode().split("\0")[:-1] == ["--a", *values]


@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        (["--max_num_seqs", "8"], "--max-num-seqs", 8),
        (["--max-model-len=64k"], "--max-model-len", 64_000),
        (["--max-model-len", "64K"], "--max-model-len", 65_536),
        (["-tp", "2"], "--tensor-parallel-size", 2),
        (["--max-num-seqs", "4", "--max-num-seqs", "8"], "--max-num-seqs", 8),
        (["--max-num-seqs", "many"], "--max-num-seqs", None),
        (["--max-num-seqs"], "--max-num-seqs", None),
    ],
)
def test_numbers(words: list[str], name: str, value: int | None) -> None:
    assert Arguments.of(words).number(name) == value


@pytest.mark.parametrize(
    "words",
    [
        ["--speculative-config", '{"num_speculative_tokens": 3}'],
        ["-sc", '{"num_speculative_tokens":3}'],
        ["--speculative-config.num_speculative_tokens", "3"],
        ["--speculative-config.num-speculative-tokens=3"],
    ],
)
def test_objects(words: list[str]) -> None:
    assert Arguments.of(words).object("--speculative-config") == {"num_speculative_tokens": 3}


@pytest.mark.parametrize("text", ["", "3", "[1]", "{", '"x"'])
def test_what_is_no_object_is_empty(text: str) -> None:
    assert Arguments.of(["--speculative-config", text]).object("--speculative-config") == {}


def test_a_negative_number_is_a_value() -> None:
    assert read_flags(["--a", "-1"]) == [Flag("--a", ("-1",), "given by you")]
