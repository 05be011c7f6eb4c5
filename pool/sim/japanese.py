"""What the rules can do in Japanese: a sentence of a given length, a letter to colleagues, a small function, a bill."""

from __future__ import annotations

import re
from collections.abc import Callable

from pool.sim.say import Reply

# What the rules know of the world, as predicates of a sentence.
ABOUT = {
    "図書館": "本や資料を集めて保存し、だれでも読んだり借りたりできる場所です。",
    "郵便局": "手紙や荷物を受け付けて届け、お金を預かったり送ったりする所です。",
    "川": "山や湖から海へ流れる水の道で、人と生き物の暮らしを支えています。",
}
COURTESIES = (
    "皆様にはご不便をおかけいたしますが、何とぞご理解とご協力をお願い申し上げます。",
    "この間に予定されている登録や確認は、前もって済ませていただくか、終了後に行ってくださいますようお願いいたします。",
    "作業の進み具合によっては、終了の時刻が前後することがございます。",
    "その場合は、あらためてメールでお知らせいたします。",
    "ご協力くださる皆様に、心より感謝いたします。",
)
_KANA = re.compile(r"[\u3040-\u30ff]")
_SENTENCE = re.compile(r"「([^」]+)」.*?(\d+)文字以内")
_LETTER = re.compile(r"メール.*?(\d+)字以上(\d+)字以内", re.DOTALL)
_WHEN = re.compile(r"((?:来週の)?月曜日（[^）]+）の\d+時から\d+時まで)、(\S+?)のため(\S+?)が使えません")
_CONTACT = re.compile(r"問い合わせ先は(\S+?)(?:と|です)")
_FUNCTION = re.compile(r"関数 `(\w+)\((\w+)\)`")
_ITEM = re.compile(r"1個([\d,]+)円の([^\d、。を]+)を([\d,]+)個")
_REDUCED = re.compile(r"([^\d、。]+?)は(\d+)%引き")
_POSTAGE = re.compile(r"送料は([\d,]+)円")
_TAX = re.compile(r"消費税(\d+)%")


def answered(prompt: str) -> Reply | None:
    """An answer to a prompt in Japanese that the rules know something of, else None."""
    if not _KANA.search(prompt):
        return None
    for known in (_sentence, _letter, _function, _bill):
        text = known(prompt)
        if text:
            return Reply("The user writes in Japanese, so I answer in Japanese.", text)
    return None


def _sentence(prompt: str) -> str:
    asked = _SENTENCE.search(prompt)
    if asked is None or asked[1] not in ABOUT:
        return ""
    text = f"{asked[1]}は、{ABOUT[asked[1]]}"
    return text if len(text) <= int(asked[2]) else ""


def _letter(prompt: str) -> str:
    asked, when, contact = _LETTER.search(prompt), _WHEN.search(prompt), _CONTACT.search(prompt)
    if asked is None or when is None or contact is None:
        return ""
    least, most = int(asked[1]), int(asked[2])
    opening = f"社員の皆様、お疲れ様です。{contact[1]}です。{when[1]}、{when[2]}を実施いたします。"
    opening += f"このため、{when[3]}をご利用いただくことができません。"
    ending = f"ご不明な点がございましたら、{contact[1]}までお問い合わせください。"
    middle = ""
    for courtesy in COURTESIES:
        if len(opening + middle + ending) >= least:
            break
        middle += courtesy
    text = f"{opening}{middle}{ending}"
    return text if least <= len(text) <= most else ""


def _function(prompt: str) -> str:
    asked = _FUNCTION.search(prompt)
    if asked is None:
        return ""
    name, argument = asked[1], asked[2]
    one = argument.removesuffix("s") or "one"
    steps: list[tuple[str, Callable[[str], str]]] = [
        ("空白を取り除", lambda many: f"({one}.strip() for {one} in {many})"),
        ("空になった文字列を捨て", lambda many: f"({one} for {one} in {many} if {one})"),
        ("重複を除", lambda many: f"dict.fromkeys({many})"),
        ("文字数の少ない順", lambda many: f"sorted({many}, key=lambda {one}: (len({one}), {one}))"),
    ]
    many, lines = argument, [f"def {name}({argument}):"]
    for word, step in steps:
        if word in prompt:
            lines.append(f"    kept = {step(many)}")
            many = "kept"
    code = "\n".join((*lines, f"    return list({many})"))
    return f"手順を一つずつ行い、元のリストは変えません。\n\n```python\n{code}\n```"


def _bill(prompt: str) -> str:
    items = [(name, _number(price) * _number(count)) for price, name, count in _ITEM.findall(prompt)]
    tax = _TAX.search(prompt)
    if not items or tax is None:
        return ""
    lines: list[str] = []
    reduced = {name.strip(): int(percent) for name, percent in _REDUCED.findall(prompt)}
    # In hundredths of a yen, so that nothing is rounded on the way.
    total = 0
    for name, amount in items:
        part = amount * (100 - reduced.get(name, 0))
        total += part
        lines.append(f"{name}は{part / 100:,.2f}円です。")
    if postage := _POSTAGE.search(prompt):
        total += _number(postage[1]) * 100
        lines.append(f"送料を加えると{total / 100:,.2f}円です。")
    whole = total * (100 + int(tax[1])) // 10_000
    return "\n".join((*lines, f"消費税{tax[1]}%を加え、1円未満を切り捨てます。", f"答え：{whole:,}円"))


def _number(text: str) -> int:
    return int(text.replace(",", ""))
