"""Judge an answer in Japanese: on the answer alone, without thoughts and without what it says of its own length.

`python3 -I japanese.py` with TESTS_DIR (this file's folder, with `expected.json`) and LOGS_DIR; `agent/answer.txt` in
there is judged. How characters are counted: see `counted`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MOST_ANSWER_CHARACTERS = 100_000
CODE_SECONDS = 20
LEAST_JAPANESE = 0.6
"""Of the letters of an answer, how many must be kana or kanji."""

LEAST_POLITE = 0.7
"""Of the sentences of a business letter, how many must end politely."""

_JAPANESE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff々〆ー]")
_OWN_COUNT = re.compile(
    r"[（(［\[【〔]\s*(?:計|全|約|合計|文字数[:：]?)?\s*\d+\s*(?:文字|字|characters?|chars?)(?:以内|程度)?\s*[）)］\]】〕]"
    r"|^\s*(?:文字数|字数)\s*[:：は]\s*(?:約|計)?\s*\d+\s*(?:文字|字)?\s*(?:です)?[。.]?\s*$",
    re.MULTILINE | re.IGNORECASE,
)
_MARKS = re.compile(r"\*\*|__|^#+\s*", re.MULTILINE)
_POLITE = re.compile(
    r"(です|ます|ました|ません|ませんか|ませ|ください|下さい|でしょう|ましょう|でした|ですか|ますか|様|御中)$"
)
_LISTED = re.compile(r"^\s*(?:[-*+•・●■◆○]|\d+[.)．、]|[①-⑳])\s*\S", re.MULTILINE)
_FENCE = re.compile(r"^```[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)

RUNNER = """
import json, sys
code, name, inputs = json.loads(sys.stdin.read())
space = {}
exec(compile(code, "answer", "exec"), space)
outputs = []
for given in inputs:
    kept = list(given)
    outputs.append([space[name](given), given == kept])
sys.__stdout__.write("\\n" + json.dumps(outputs))
"""


@dataclass
class Verdict:
    """Numbers for `reward.json`, and reasons in words."""

    figures: dict[str, float] = field(default_factory=dict[str, float])
    why: list[str] = field(default_factory=list[str])

    def expect(self, held: bool, otherwise: str) -> None:
        """Note a reason if something does not hold."""
        if not held:
            self.why.append(otherwise)


def main() -> int:
    """Judge, and write `reward.json` and `details.json`. Returns 0."""
    tests = Path(os.environ.get("TESTS_DIR", "/tests"))
    logs = Path(os.environ.get("LOGS_DIR", "/logs"))
    expected = json.loads((tests / "expected.json").read_text(encoding="utf-8"))
    try:
        answer = (logs / "agent" / "answer.txt").read_text(encoding="utf-8", errors="replace")[:MOST_ANSWER_CHARACTERS]
    except OSError:
        answer = ""
    verdict = judged(expected, answer)
    target = logs / "verifier"
    target.mkdir(parents=True, exist_ok=True)
    details = json.dumps({"why": verdict.why, "counted": counted(answer)}, ensure_ascii=False, indent=1)
    (target / "details.json").write_text(details, encoding="utf-8")
    (target / "reward.json").write_text(json.dumps(verdict.figures), encoding="utf-8")
    print(json.dumps(verdict.figures), *verdict.why, sep="\n")
    return 0


def judged(expected: Mapping[str, Any], answer: str) -> Verdict:
    """Judge an answer by the check that `expected` names."""
    verdict = Verdict()
    text = bare(answer)
    verdict.expect(bool(text), "there is no answer")
    if text:
        match expected["check"]:
            case "short":
                _short(verdict, expected, text)
            case "prose":
                _prose(verdict, expected, text)
            case "code":
                _code(verdict, expected, text)
            case "amount":
                _amount(verdict, expected, text)
            case other:
                raise ValueError(f"expected.json: there is no check {other!r}")
    good = float(not verdict.why)
    verdict.figures = {"pass": good, **verdict.figures, "reward": good}
    # What was stripped is told, since a client that shows it all would show that too.
    verdict.figures["nothing_stripped"] = float(_normal(answer).strip() == text)
    return verdict


def _normal(text: str) -> str:
    return unicodedata.normalize("NFC", text.replace("\r\n", "\n"))


def bare(answer: str) -> str:
    """The answer alone: no thoughts (tagged, or in another language in front of it), no count of its own characters."""
    text = _normal(answer)
    text = re.sub(r"<think>.*?</think>", "", text, flags=re.DOTALL).rpartition("</think>")[2]
    lines = text.strip().split("\n")
    while len(lines) > 1 and not _JAPANESE.search(lines[0]) and not lines[0].startswith("```"):
        lines.pop(0)
    return _OWN_COUNT.sub("", "\n".join(lines)).strip()


def counted(answer: str) -> int:
    """How many characters an answer has.

    Code points of the bare answer in Unicode's form NFC, punctuation included. Line ends, marks of Markdown and a pair
    of quotation marks around the whole do not count; a blank inside does.
    """
    text = _MARKS.sub("", bare(answer)).replace("\n", "").strip()
    if (
        len(text) > 1
        and text[0] in '「『"“'
        and text[-1] in '」』"”'
        and not any(mark in text[1:-1] for mark in "「」『』")
    ):
        text = text[1:-1].strip()
    return len(text)


def japanese_share(text: str) -> float:
    """Of the letters of a text, how many are kana or kanji."""
    letters = [letter for letter in text if letter.isalpha()]
    return sum(bool(_JAPANESE.match(letter)) for letter in letters) / len(letters) if letters else 0.0


def _length(verdict: Verdict, expected: Mapping[str, Any], text: str) -> None:
    count, (least, most) = counted(text), expected["characters"]
    verdict.expect(least <= count <= most, f"{count} characters, {least} to {most} are asked for")


def _words(verdict: Verdict, groups: Sequence[Sequence[str]], text: str) -> None:
    plain = unicodedata.normalize("NFKC", text)
    for group in groups:
        held = any(unicodedata.normalize("NFKC", word) in plain for word in group)
        verdict.expect(held, f"the answer does not say {' or '.join(group)}")


def _short(verdict: Verdict, expected: Mapping[str, Any], text: str) -> None:
    _length(verdict, expected, text)
    _words(verdict, expected["words"], text)
    verdict.expect(japanese_share(text) >= LEAST_JAPANESE, "the answer is not in Japanese")


def _prose(verdict: Verdict, expected: Mapping[str, Any], text: str) -> None:
    _short(verdict, expected, text)
    sentences = [part.strip(" 　」』\n") for part in re.split(r"[。！？!?]+|\n{2,}", text)]
    sentences = [
        sentence for sentence in sentences if sentence and not sentence.startswith(("件名", "宛先", "Subject"))
    ]
    ended = [sentence for sentence in sentences if len(sentence) >= 8]
    polite = sum(bool(_POLITE.search(sentence)) for sentence in ended) / len(ended) if ended else 0.0
    verdict.figures["polite_share"] = polite
    verdict.expect(polite >= LEAST_POLITE, f"{polite:.0%} of the sentences end politely, {LEAST_POLITE:.0%} must")
    verdict.expect(not _LISTED.search(text), "there is a list, which was not to be used")
    verdict.expect(len(set(ended)) == len(ended), "a sentence stands twice")


def _code(verdict: Verdict, expected: Mapping[str, Any], text: str) -> None:
    blocks = _FENCE.findall(text)
    verdict.expect(len(blocks) == 1, f"{len(blocks)} code blocks, one is asked for")
    if len(blocks) != 1:
        return
    around = _FENCE.sub("", text)
    verdict.expect(japanese_share(around) >= LEAST_JAPANESE, "there is no explanation in Japanese beside the code")
    shown, hidden = expected["shown"], expected["hidden"]
    outputs = _outputs(blocks[0], expected["function"], [given for given, _ in (*shown, *hidden)])
    right = [out == [wanted, True] for out, (_, wanted) in zip(outputs, (*shown, *hidden), strict=False)]
    seen, unseen = right[: len(shown)], right[len(shown) :]
    verdict.figures["pass"] = float(bool(seen) and all(seen))
    verdict.figures["held_out"] = float(len(unseen) == len(hidden) and all(unseen))
    verdict.expect(bool(verdict.figures["pass"]), "the code does not do what the example shows")
    verdict.expect(
        bool(verdict.figures["held_out"]), "the code fails for inputs that were not shown, or changes its input"
    )


def _outputs(code: str, name: str, inputs: Sequence[Any]) -> list[Any]:
    """What the function gives for each input, and whether it left the input alone; [] if it cannot be run."""
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-B", "-c", RUNNER],
            input=json.dumps([code, name, inputs]),
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=CODE_SECONDS,
            check=False,
        )
        return json.loads(done.stdout.rpartition("\n")[2])
    except (subprocess.TimeoutExpired, ValueError):
        return []


def _amount(verdict: Verdict, expected: Mapping[str, Any], text: str) -> None:
    last = unicodedata.normalize("NFKC", _MARKS.sub("", text)).strip().split("\n")[-1]
    found = re.fullmatch(r"\s*答え\s*:\s*([\d,]+)\s*円\s*[。.]?", last)
    verdict.expect(found is not None, "the last line does not read 答え：…円")
    if found is not None:
        amount = int(found[1].replace(",", ""))
        verdict.expect(amount == expected["amount"], f"{amount} yen are wrong")


if __name__ == "__main__":
    sys.exit(main())
