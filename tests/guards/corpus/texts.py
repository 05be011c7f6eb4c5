"""Texts of any length for scripted runs: thoughts that wander without repeating themselves, and honest working-out."""

from __future__ import annotations

import random

_THINGS = (
    "the parser|the cache|the ledger|the config loader|the retry policy|the session|the index|the queue|the lock|"
    "the token count|the buffer|the request|the fixture|the encoder|the scheduler|the migration|the router|the pool|"
    "the socket|the log file|the error path|the header|the schema|the test data|the command line|the window"
).split("|")
_DOES = (
    "reads {x} before {y} is ready|keeps {x} next to {y}|never closes {x}|copies {x} into {y}|serves {x} and {y}|"
    "drops {x} when {y} is empty|compares {x} with {y}|waits for {x}|hands {x} over to {y}|rounds {x} down|"
    "swallows the exception that {x} raises|sorts {x} by the age of {y}|writes {x} twice|depends on the order of {x}|"
    "holds a reference to {x}|does not know about {y}|looks {x} up by name|splits {x} at the first blank"
).split("|")
_OPENS = (
    "So |Now |Maybe |It seems that |I think |Looking closer, |In that case |On the other hand, |For the empty case, |"
    "If that is right, |Then again, |According to the traceback |From the listing, |What matters is: |Note that |"
    "Since the last change |With two workers |For a large input "
).split("|")
_JA_OPENS = "そこで|次に|まず|ただし|たとえば|また".split("|")
_JA_THINGS = (
    "設定の読み込み|キャッシュ|索引|再試行の方針|接続|一覧|待ち行列|錠|要求|符号化|経路|窓|試験データ|記録|見出し"
).split("|")
_JA_DOES = (
    "が{x}より先に呼ばれる場合を考える|は{x}を閉じていないように見える|が{x}の順序に依存している|は{x}を二度書いている|"
    "と{x}の対応を確かめたい|が空のとき{x}は何を返すのか|の例外を{x}が握りつぶしている|は{x}から参照されている|"
    "を{x}と比べると長さが違う|の型は{x}と同じはずだ|を消すと{x}が壊れるかもしれない|については{x}の説明が足りない"
).split("|")


def wandering(i: int) -> str:
    """The i-th sentence of an English thought without end, no two alike."""
    source = random.Random(i)
    x, y = source.sample(_THINGS, 2)
    thing = source.choice(_THINGS)
    does = source.choice(_DOES).format(x=x, y=y)
    tail = source.choice(("", f" in line {source.randint(2, 900)}", f" for {source.choice(_THINGS)}", ", which is odd"))
    return f"{source.choice(_OPENS)}{thing} {does}{tail}. "


def wandering_japanese(i: int) -> str:
    """The i-th sentence of a Japanese thought without end, no two alike."""
    source = random.Random(i)
    thing, x = source.sample(_JA_THINGS, 2)
    return f"{source.choice(_JA_OPENS)}{thing}{source.choice(_JA_DOES).format(x=x)}。"


def prose(sentences: int, start: int = 0) -> str:
    """Some sentences of an English thought."""
    return "".join(wandering(i) for i in range(start, start + sentences))


def prose_japanese(sentences: int, start: int = 0) -> str:
    """Some sentences of a Japanese thought."""
    return "".join(wandering_japanese(i) for i in range(start, start + sentences))


def maths(steps: int) -> str:
    """An honest calculation in many similar steps: a recurrence worked out term by term, with remarks."""
    lines = ["Let a(0) = 1 and a(n) = 3 a(n-1) - 2 n + 5. I work out the terms and look for the first above 10^k."]
    a = 1
    for n in range(1, steps + 1):
        a = (3 * a - 2 * n + 5) % 1_000_003
        lines.append(
            f"a({n}) = 3 * a({n - 1}) - 2 * {n} + 5 = {a}" + (f", and {a} mod 7 = {a % 7}" if n % 3 == 0 else "")
        )
        if n % 8 == 0:
            lines.append(f"Check at n = {n}: the difference to 3^{n} is {abs(a - 3**n) % 9973}, as the bound says.")
    return "\n".join(lines) + "\nSo the answer follows."


def table(rows: int) -> str:
    """A Markdown table of similar rows."""
    head = "| n | name | state |\n|---|---|---|\n"
    return head + "".join(f"| {i} | item-{i} | ok, checked |\n" for i in range(rows))


def code(lines: int) -> str:
    """A fenced block of Python, no two lines alike."""
    body = "".join(f"    value_{i} = transform_{i % 7}(source[{i}], limit={i * 3})\n" for i in range(lines))
    return f"```python\ndef build(source):\n{body}    return value_0\n```\n"


def code_line(i: int) -> str:
    """The i-th line of a file that is written in a thought; the first one opens a fence."""
    return (
        "Here is the file:\n```python\n"
        if i == 0
        else f"    result[{i}] = step_{i % 11}(row.field_{i}, scale={i * 7 % 101})\n"
    )
