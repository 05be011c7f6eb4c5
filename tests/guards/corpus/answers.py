"""Answers that go in circles, and honest ones that are as regular as answers get. Written after the bound was set."""

from __future__ import annotations

from pool.events import StopReason
from tests.guards.corpus.bad_calls import PROJECT
from tests.guards.corpus.texts import prose, prose_japanese, table
from tests.guards.script import Case, Say, answer, call, read

_PHRASES = {
    "a phrase": "wait, check again. ",
    "a sentence": "I have updated the file, and all of the tests pass now. ",
    "one word": "Done.\n",
    "a function": "def f(x):\n    return x + 1\n\n\n",
    "a Japanese sentence": "もう一度ファイルを確認します。",
    "a paragraph": f"{prose(6)}\n\n",
    "a long list": "".join(f"{i}. {prose(1, i)}\n" for i in range(12)),
}
_MATRIX = "\n".join(" ".join("1" if i == j else "0" for j in range(64)) for i in range(64))
_DUMP = "\n".join(f"{i * 16:08x}  {'00 ' * 16} |................|" for i in range(200))
_STEPS = "".join(f"- [ ] step {i}: run the check and write down the result\n" for i in range(300))
_INSERTS = "INSERT INTO slots VALUES (NULL, NULL, NULL, NULL);\n" * 120
_RECORDS = "".join(f'  {{"id": {i}, "name": "user{i}", "active": true, "roles": ["reader"]}},\n' for i in range(300))


def circles(name: str, phrase: str, begins: str = "") -> Case:
    """An answer that repeats a phrase without end, again after it was told."""

    def piece(i: int) -> str:
        return begins + phrase if not i else phrase

    say = Say(endless=piece, endless_in="content")
    return Case(f"answer repeats {name}", (), then=say, stop=StopReason.LOOP, requests=3, files=PROJECT)


def regular(name: str, text: str, *turns: Say) -> Case:
    """An honest answer of great regularity."""
    return Case(f"regular answer: {name}", (*turns, answer(text)), honest=True, files=PROJECT)


CASES: tuple[Case, ...] = (
    *(circles(name, phrase) for name, phrase in _PHRASES.items()),
    circles("itself after a sound beginning", "and so on, and so on, ", f"{prose(20)}\n\n"),
    Case(
        "answer repeats itself once, then ends",
        (read("app.py"), Say(endless=lambda i: "I checked it. ", endless_in="content"), answer("`f` adds one.")),
        stop=StopReason.COMPLETED,
        requests=3,
        files=PROJECT,
    ),
    regular("identity matrix", f"```\n{_MATRIX}\n```"),
    regular("dump of zeros", f"```\n{_DUMP}\n```"),
    regular("checklist of 300 steps", _STEPS),
    regular("300 records", f"```json\n[\n{_RECORDS}]\n```"),
    regular("120 equal statements", f"```sql\n{_INSERTS}```"),
    regular("two tables of 300 rows", f"{table(300)}\n\n{table(300)}"),
    regular("long report", f"{prose(150)}\n\n{table(40)}\n\n{prose(30, 200)}", call("list"), read("app.py")),
    regular("long Japanese report", prose_japanese(300)),
)
