"""What is taken out of a report, and what must stay in it."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from pool.lab.spark.redact import redactor

ENVIRON = {"USER": "annegret", "HF_TOKEN": "tok-of-mine-1", "POOL_API_KEY_PATH": "/x/y", "SHORT_KEY": "abc"}


def taken(text: str) -> str:
    out = redactor(
        ENVIRON,
        secrets=["opensesame"],
        urls=["http://gpubox.lan.example:8000/v1", "http://127.0.0.1:9"],
        hosts=["thinkbox.example", "spark"],
        home="/home/annegret",
    )
    return out.text(text)


def test_names_and_keys() -> None:
    cases = {
        "key opensesame and tok-of-mine-1": "key [key] and [key]",
        "http://gpubox.lan.example:8000/v1": "http://[host]:8000/v1",
        "on THINKBOX or thinkbox.example": "on [host] or [host]",
        "/home/annegret/work and /home/bernd/x": "[home]/work and [home]/x",
        "by annegret": "by [user]",
        "Authorization: Bearer abcdef123456": "Authorization: Bearer [key]",
        "sk-abcdefgh12345": "[key]",
        "mail me@there.example now": "mail [mail] now",
        "at 192.168.1.17:8000": "at [address]:8000",
        "aa:bb:cc:dd:ee:01": "[card]",
    }
    assert {text: taken(text) for text in cases} == cases


def test_what_stays() -> None:
    for text in ("127.0.0.1:8000", "a spark is quick", "vLLM 0.25.1", "version 10.2.3.4", "abc", '{"written": 256}'):
        assert taken(text) == text


def test_the_report_says_what_was_taken() -> None:
    out = redactor({}, secrets=["opensesame"], urls=[], hosts=[], home="")
    assert out.words == ["nothing was found to take out"]
    out.text("opensesame opensesame /home/x")
    assert out.words == ["1 x [home]", "2 x [key]"]


def test_names_in_json() -> None:
    out = redactor({"USER": "j\u00fcrgen"}, secrets=['quo"te\\d'], urls=[], hosts=[], home="/home/j\u00fcrgen")
    assert out.text(json.dumps({"a": "/home/j\u00fcrgen/x", "b": 'quo"te\\d'})) == '{"a": "[home]/x", "b": "[key]"}'


@given(before=st.text(max_size=20), after=st.text(max_size=20))
def test_a_secret_never_stays(before: str, after: str) -> None:
    assert "opensesame" not in taken(f"{before}opensesame{after}").lower()
