from __future__ import annotations

import base64
import json
from urllib.parse import quote

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pool.wire.endpoint import PLACEHOLDER_KEYS, REDACTED, EndpointError, authorization, parse_endpoint, redact

KEY = "sk-unique-4711-abcdef"
PASSWORD = "pass-word/8812"


@pytest.mark.parametrize(
    ("text", "base", "root"),
    [
        ("h:8000", "http://h:8000/v1", "http://h:8000"),
        ("http://h:8000", "http://h:8000/v1", "http://h:8000"),
        ("http://h:8000/v1/", "http://h:8000/v1", "http://h:8000"),
        (" http://h:8000/v1/chat/completions ", "http://h:8000/v1", "http://h:8000"),
        ("HTTPS://Host.example/api/v1", "https://host.example/api/v1", "https://host.example/api"),
        ("https://host/v1beta/openai", "https://host/v1beta/openai", "https://host"),
        ("http://gateway//laguna/", "http://gateway/laguna/v1", "http://gateway/laguna"),
        ("[::1]:30000", "http://[::1]:30000/v1", "http://[::1]:30000"),
    ],
)
def test_the_ways_to_write_an_address(text: str, base: str, root: str) -> None:
    endpoint = parse_endpoint(text)
    assert (endpoint.base_url, endpoint.root) == (base, root)
    assert endpoint.url("chat/completions") == f"{base}/chat/completions"
    assert endpoint.url("/version") == f"{root}/version"


@pytest.mark.parametrize(
    "text",
    ["", "   ", "ftp://h:21", "http://", "http://h:port/v1", "http://h:99999", "http://h with blank", "http://[::1"],
)
def test_addresses_that_cannot_work_are_refused_with_a_remedy(text: str) -> None:
    with pytest.raises(EndpointError, match=r"write|only http"):
        parse_endpoint(text)


def test_a_refused_address_is_not_quoted_with_its_password() -> None:
    with pytest.raises(EndpointError) as caught:
        parse_endpoint(f"http://me:{PASSWORD}@h:8000")
    assert "8812" not in str(caught.value)


@pytest.mark.parametrize("key", ["a\nb", "schlüssel", "a\x00b"])
def test_keys_that_no_header_can_carry(key: str) -> None:
    with pytest.raises(EndpointError) as caught:
        parse_endpoint("h", key)
    assert key not in str(caught.value)


@pytest.mark.parametrize("header", [("X y", "v"), ("X-A", "v\r\nX-B: w"), ("", "v")])
def test_headers_that_would_break_the_request(header: tuple[str, str]) -> None:
    with pytest.raises(EndpointError):
        parse_endpoint("h", headers=[header])


def test_a_key_with_a_line_end_from_a_file_is_usable() -> None:
    assert authorization(parse_endpoint("h", f"{KEY}\n")) == (("Authorization", f"Bearer {KEY}"),)


def test_who_wins_the_authorization_header() -> None:
    basic = "Basic " + base64.b64encode(b"me:pass word").decode()
    assert authorization(parse_endpoint("http://me:pass%20word@h", KEY)) == (("Authorization", basic),)
    own = ("authorization", "Token abc")
    assert authorization(parse_endpoint("http://me:pw@h", KEY, [own])) == (own,)


@pytest.mark.parametrize(
    ("text", "loopback"),
    [
        ("localhost:8000", True),
        ("LOCALHOST", True),
        ("api.localhost", True),
        ("127.0.0.1", True),
        ("127.8.9.1", True),
        ("[::1]", True),
        ("[::ffff:127.0.0.1]", True),
        ("0.0.0.0:8000", True),
        ("192.168.0.7", False),
        ("spark.local", False),
        ("localhost.example.com", False),
        ("[fe80::1]", False),
    ],
)
def test_loopback(text: str, loopback: bool) -> None:
    assert parse_endpoint(text).is_loopback is loopback


def test_no_text_form_shows_a_secret() -> None:
    endpoint = parse_endpoint(
        "http://me:s3cret-pw@h:8000/v1?token=tok-998877&x=1", KEY, [("X-Api-Key", "other-556677")]
    )
    shown = f"{endpoint!r} {endpoint} {endpoint.display}"
    for secret in (KEY, "s3cret-pw", "tok-998877", "other-556677", base64.b64encode(b"me:s3cret-pw").decode()):
        assert secret not in shown
        assert secret not in redact(f"before {secret} after", endpoint)
        assert secret in " ".join(endpoint.secrets())
    assert endpoint.url("models") == "http://h:8000/v1/models?token=tok-998877&x=1"
    assert "token=" in endpoint.display


def test_query_is_joined_to_a_path_that_has_one() -> None:
    assert parse_endpoint("http://h?token=abcd").url("/slots?x=1") == "http://h/slots?x=1&token=abcd"


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("Authorization: Bearer abcdefgh123", "abcdefgh123"),
        ('{"authorization": "secretvalue"}', "secretvalue"),
        ("GET http://me:hunter22@h/v1", "hunter22"),
        ("GET /v1?access_token=zzz999", "zzz999"),
        ("x-api-key: k-123456", "k-123456"),
        ("Basic bWU6cGFzc3dvcmQ=", "bWU6cGFzc3dvcmQ="),
    ],
)
def test_what_looks_like_a_secret_is_taken_out_without_being_known(text: str, gone: str) -> None:
    assert gone in text
    assert gone not in redact(text)
    assert REDACTED in redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "unexpected token: }",
        "max_tokens=99999 cannot be greater than max_model_len=4096",
        "http://127.0.0.1:8000/v1 refused",
        "a bearer of news",
        "Basic understanding, Bearer authentication",
        "see https://example.org/a?page=2",
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert redact(text, parse_endpoint("h", "EMPTY")) == text


@given(st.text(alphabet=st.characters(min_codepoint=33, max_codepoint=126), min_size=12, max_size=40))
def test_a_key_is_found_in_json_and_in_urls_too(key: str) -> None:
    assume(key.lower() not in PLACEHOLDER_KEYS)
    endpoint = parse_endpoint("h", key)
    assert endpoint.secrets()
    for text in (key, json.dumps({"k": key}), quote(key, safe="")):
        assert key not in redact(text, endpoint)
        assert json.dumps(key)[1:-1] not in redact(text, endpoint)


@given(st.text(alphabet="ab:/?&=@\"'\\\n token key authorization Bearer 12345678", max_size=60))
def test_json_stays_json(text: str) -> None:
    assert isinstance(json.loads(redact(json.dumps({"t": text}))), dict)


@pytest.mark.parametrize("text", ["?" + "key" * 60_000, "://" * 60_000, "Bearer " * 40_000, "&a=" * 60_000])
def test_long_hostile_text_is_redacted_in_no_time(text: str) -> None:
    """What grows with the square of the length would take minutes here; the suite's time limit is the judge."""
    assert redact(text, parse_endpoint("h", KEY))
