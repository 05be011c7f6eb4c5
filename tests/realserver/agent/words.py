"""Random words, names and filler text: what the agent cannot know by heart, it has to read."""

from __future__ import annotations

from random import Random

COMMON = (
    "a about add after again all also and any are as at be because before both but by call can case change check class "
    "clean close code come count data date day delete do down each edit else end enter error every except file find "
    "first follow for from get give go good group has have help here how if import in inside into is it item just keep "
    "key know large last leave left let like line list load look make many may me mean more most move much must my "
    "name need never new next no not now number of off old on once one only open or order other our out over own part "
    "path place please point print put question quick read really result return right row run same save say see send "
    "set shell show side simple size small so some sort start state step stop such sure table take tell test text than "
    "that the their them then there these they thing think this time to too total tree true try turn two type under "
    "unit until up us use user value very want was way we well were what when where which while who why will with word "
    "work would write wrong you your"
).split()
JAPANESE = (
    "これ を 見て ください 今日 の 仕事 短く 挨拶 して で 答えて お願い します ファイル 何 ありますか 、 。".split()
)
MARKS = [*".,:;!?-_/()[]{}<>=+*'\"`#@$%&|~^\\", "\n", "  ", *"-> == ... é ß → ✓ 日 語 🙂".split()]

_ONSETS = "b c d f g h j k l m n p r s t v w z br cl dr fl gr pl st tr sh ch th qu x y".split()
_VOWELS = "a e i o u ai ea ee io ou y".split()
_CODAS = ["", "", "", "n", "r", "s", "t", "l", "m", "ck", "nd", "st"]
_MOST_SYLLABLES = 4


def made_up(rng: Random) -> str:
    """A pronounceable word that is most likely new."""
    count = rng.randint(1, _MOST_SYLLABLES)
    return "".join(rng.choice(_ONSETS) + rng.choice(_VOWELS) + rng.choice(_CODAS) for _ in range(count))


def name(rng: Random) -> str:
    """An identifier."""
    parts = [rng.choice(COMMON) if rng.random() < 0.4 else made_up(rng) for _ in range(rng.choice((1, 1, 1, 2)))]
    return "_".join(parts)


def number(rng: Random) -> str:
    """A whole number of one to five digits without leading zeros."""
    return str(rng.randint(1, 10 ** rng.randint(1, 5) - 1))


def filler(rng: Random, most: int) -> str:
    """Up to most words that mean nothing to the agent, with marks and numbers among them."""
    words: list[str] = []
    for _ in range(rng.randint(0, most)):
        word = rng.choice(COMMON) if rng.random() < 0.6 else made_up(rng)
        kind = rng.random()
        if kind < 0.08:
            word = word.capitalize()
        elif kind < 0.11:
            word = word.upper()
        elif kind < 0.16:
            word = number(rng)
        elif kind < 0.26:
            word += rng.choice(MARKS)
        elif kind < 0.29:
            word = f"{word}.{rng.choice(('py', 'txt', 'md', 'js'))}"
        words.append(word)
    return " ".join(words)


def gibberish(rng: Random, most: int) -> str:
    """One to most pieces of any kind, not all with spaces between."""
    out: list[str] = []
    for _ in range(rng.randint(1, most)):
        piece = rng.choice((filler(rng, 3), made_up(rng), rng.choice(MARKS), rng.choice(JAPANESE), number(rng)))
        out += [piece, rng.choice((" ", " ", ""))]
    return "".join(out).strip() or made_up(rng)
