"""Redaction: a planted secret survives in no format, wherever it is planted and however it is written."""

from __future__ import annotations

import json
import re
import string
from pathlib import Path
from typing import Any, cast

import atif
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pool.messages import ToolCall
from pool.sessions.export.cleanrows import redacted
from pool.sessions.export.fold import folded
from pool.sessions.export.redact import Redactor
from pool.sessions.export.session import Format, Read, exported
from tests.sessions.export.logs import Script, everything

Json = dict[str, Any]
ALNUM = string.ascii_letters + string.digits

FIXED = ("type", "role", "status", "head", "agent", "call")
"""Keys whose values are words of Pool's, tie rows together, or are planted in after unpacking."""
HOW = ["plain", "inside", "json", "json twice", "unicode escapes"]


def word(alphabet: str, least: int, most: int = 0) -> st.SearchStrategy[str]:
    return st.text(alphabet, min_size=least, max_size=most or least)


def with_digit(text: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return text.map(lambda t: f"{t}7")


SHAPED = st.one_of(
    word(ALNUM + "_-", 20, 60).map(lambda t: f"sk-{t}"),
    word(ALNUM, 36).map(lambda t: f"ghp_{t}"),
    word(string.ascii_uppercase + string.digits, 16).map(lambda t: f"AKIA{t}"),
    st.tuples(word(ALNUM, 12), word(ALNUM, 20), word(ALNUM, 20)).map(lambda t: f"eyJ{t[0]}.eyJ{t[1]}.{t[2]}"),
    word(ALNUM, 30).map(lambda t: f"hf_{t}"),
    word(ALNUM + "+/", 64, 200).map(lambda t: f"-----BEGIN RSA PRIVATE KEY-----\n{t}\n-----END RSA PRIVATE KEY-----"),
)
NAMED = st.one_of(
    with_digit(word(ALNUM, 8, 40)).map(lambda t: (f"export DB_PASSWORD={t}", t)),
    with_digit(word(ALNUM, 8, 40)).map(lambda t: (f'GITHUB_TOKEN="{t}"', t)),
    with_digit(word(ALNUM, 12, 40)).map(lambda t: (f"curl -H 'Authorization: Bearer {t}'", t)),
    with_digit(word(ALNUM, 12, 40)).map(lambda t: (f"postgres://me:{t}@db/x", t)),
    with_digit(word(ALNUM, 8, 40)).map(lambda t: (f'"api_key": "{t}"', t)),
)
PLANTED = st.one_of(SHAPED.map(lambda t: (t, t)), NAMED)


def squeezed(text: str) -> str:
    """A text without line breaks, blanks and JSON escapes, to see whether a secret is still in it."""
    text = re.sub(r"\\+u00([2-7][0-9a-fA-F])", lambda m: chr(int(m.group(1), 16)), text)
    return re.sub(r"\\+[nr]|[\s\\]|&#?\w+;", "", text)


def written(text: str, how: str) -> str:
    match how:
        case "json":
            return json.dumps({"out": text})
        case "json twice":
            return json.dumps(json.dumps(text))
        case "unicode escapes":
            return "".join(f"\\u{ord(c):04x}" if c in "-_kA" else c for c in text)
        case _:
            return f"before {text} after" if how == "inside" else text


def all_formats(rows: list[Json], redactor: Redactor) -> dict[str, str]:
    clean, _ = redacted(rows, redactor)
    read = Read(clean, folded(clean), redactor.found)
    return {f"{form} {raw}": exported(read, form, raw=raw) for form in Format for raw in (False, True)}


def texts_in(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all free texts of a row."""
    if isinstance(value, str):
        return [path]
    if isinstance(value, dict):
        items = cast(Json, value).items()
        return [p for k, v in items if k not in FIXED for p in texts_in(v, (*path, k))]
    if isinstance(value, list):
        return [p for i, v in enumerate(cast(list[Any], value)) for p in texts_in(v, (*path, i))]
    return []


def planted(row: Json, path: tuple[Any, ...], text: str) -> Json:
    copy: Json = json.loads(json.dumps(row))
    at: Any = copy
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = text
    return copy


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[Json]:
    return everything(tmp_path_factory.mktemp("log")).rows()


@settings(max_examples=25)
@given(data=st.data(), secret=PLANTED, how=st.sampled_from(HOW))
def test_a_secret_in_any_field_survives_in_no_format(
    rows: list[Json], data: st.DataObject, secret: tuple[str, str], how: str
) -> None:
    number = data.draw(st.integers(1, len(rows) - 1))
    row = rows[number]
    text = written(secret[0], how)
    if row["type"] == "message.added":
        message: Json = json.loads(row["text"])
        path = data.draw(st.sampled_from(texts_in(message) or [("content",)]))
        changed = {**row, "text": json.dumps(planted(message, path, text), ensure_ascii=False)}
    else:
        changed = planted(row, data.draw(st.sampled_from(texts_in(row))), text)
    redactor = Redactor()
    for name, out in all_formats([*rows[:number], changed, *rows[number + 1 :]], redactor).items():
        assert squeezed(secret[1]) not in squeezed(out), name
        if name.startswith("atif"):
            atif.Trajectory.model_validate(json.loads(out))
    assert redactor.found.secrets.total() >= 1


@settings(max_examples=40)
@given(secret=SHAPED, at=st.integers(6, 30), gap=st.sampled_from(["\n", "\n    ", "\r\n", "\\n", "\\\\n"]))
def test_a_line_break_inside_hides_no_shaped_secret(secret: str, at: int, gap: str) -> None:
    at += 32 if secret.startswith("-----") else 0
    assume(any(c.isdigit() for c in secret[at:]) and not (secret.startswith(("sk-", "hf_")) and at < 12))
    text = f"key:\n{secret[:at]}{gap}{secret[at:]}\nend"
    redactor = Redactor()
    redactor.learn(text)
    assert squeezed(secret) not in squeezed(redactor.clean(text))


@given(secret=word(ALNUM + '!"\\/', 12, 40), at=st.integers(1, 11), gap=st.sampled_from(["", "\n", "\r\n  ", "\\n"]))
def test_a_known_secret_is_found_however_it_is_broken_or_escaped(secret: str, at: int, gap: str) -> None:
    redactor = Redactor([secret])
    for text in (secret[:at] + gap + secret[at:], json.dumps(secret), json.dumps(json.dumps(secret))):
        assert squeezed(secret) not in squeezed(redactor.clean(f"<{text}>"))


def test_what_was_seen_once_as_a_secret_is_taken_out_everywhere() -> None:
    redactor = Redactor()
    for text in ("export API_TOKEN=abc123def456", "it printed abc123def456."):
        redactor.learn(text)
    assert redactor.clean("it printed abc123def456.") == redactor.clean("it printed [redacted:value-1].")
    assert redactor.clean("export API_TOKEN=abc123def456") == "export API_TOKEN=[redacted:value-1]"


@pytest.mark.parametrize(
    "text",
    [
        "MAX_TOKENS=8192",
        "API_KEY=$KEY and TOKEN=${TOKEN}",
        "API_KEY=<your key>",
        "API_KEY=...",
        "sorted(rows, key=lambda row: row.token)",
        'headers["Authorization"] = f"Bearer {token}"',
        "tokens: 1,234 read",
        "the secret of a good test",
        "a task-force-of-many-people-in-a-row",
        "https://example.org:8080/a@b",
        "API_KEY=[redacted:value-3]",
        "01890a5d-ac96-774b-bcce-b302099a8057",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    redactor = Redactor([], ["/root"], ["root"])
    redactor.learn(text)
    assert redactor.clean(text) == text


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("/home/alice/shop/x.py:3", "~/shop/x.py:3"),
        ('"\\/home\\/alice\\/work"', '"~\\/work"'),
        ("cd /home/alice", "cd ~"),
        ("/home/alice-backup/x", "~/x"),
        ("/Users/bob/x and /home/carol", "~/x and ~"),
        ("C:\\Users\\bob\\x", "~\\x"),
        ("-rw-r--r-- alice alice 12 x", "-rw-r--r-- ~ ~ 12 x"),
        ("malice and alices", "malice and alices"),
        ("/srv/home/alice/x", "/srv/home/~/x"),
        ("see /home page", "see /home page"),
    ],
)
def test_home_folders_and_names(text: str, want: str) -> None:
    assert Redactor([], ["/home/alice"], ["alice"]).clean(text) == want


def test_ids_stay_the_same_everywhere_and_names_in_them_stay(tmp_path: Path) -> None:
    script = Script(tmp_path)
    script.begin("x")
    for call_id in ("alice-1", "sk-abcdefghij1234567890"):
        call = ToolCall(call_id, "edit", "{}")
        script.reply("", [call])
        script.call(call, "done")
    clean, _ = redacted(script.rows(), Redactor([], [], ["alice"]))
    first, second = [s.calls[0] for s in folded(clean).steps if s.calls]
    assert first.id == "alice-1"
    assert second.id.startswith("[redacted:key-")
    assert (first.status, second.status, second.result) == ("ok", "ok", "done")


def test_the_file_says_what_was_redacted(rows: list[Json]) -> None:
    row = {**rows[2], "prompt": "use sk-abcdefghij1234567890 in /home/alice"}
    for name, out in all_formats([*rows[:2], row, *rows[3:]], Redactor([], ["/home/alice"], ["alice"])).items():
        if name != "jsonl True":
            assert re.search(r"Redacted: [1-9]|\"secrets\": \{\"key\": [1-9]", out), name
    plain = exported(Read(rows, folded(rows), None), Format.HTML)
    assert "Nothing was redacted" in plain


@pytest.mark.parametrize(
    "part", ["sk-", "sk-1\n", "eyJaaaaaaaa.", "-----BEGIN A-----", "KEY=", 'token: "', "\\", "/home/", "/", "\\u0041"]
)
def test_no_text_takes_long(part: str) -> None:
    """A text that a pattern matched in more and more ways would not end before the test's time is over."""
    text = f"home {part * (200_000 // len(part))} Users"
    redactor = Redactor(['known\\\\\\"secret-12'], ["/home/alice"], ["alice"])
    redactor.learn(text)
    assert len(redactor.clean(text)) <= len(text)
