"""What secrets look like in text: the shapes of common keys, headers, and values of variables that are named so.

Shapes are those that the issuers document (OpenAI, GitHub, AWS, Slack, Hugging Face, GitLab, Google, npm, PyPI, Stripe)
or that standards give (RFC 7519 for JSON web tokens, RFC 7468 for PEM). A line break, also as a JSON escape, may stand
inside a token where the next line holds nothing else.
"""

from __future__ import annotations

import re

from pool_tools.frozen import frozen

LEAST_LEARNED, MOST_LEARNED = 8, 2_000
"""Characters of a value that is looked for in all text."""

PLACEHOLDER = "[redacted:"
"""How every placeholder begins. Text that begins so is never redacted again."""

_BREAK = r"(?:(?:\\+r|\r)?(?:\\+n|\n)[ \t]*)"
_NOT_WITHIN = r"(?<![A-Za-z0-9])"
_MOST_PEM = 40_000


@frozen
class Shape:
    """A kind of secret. markers are lower-case words of which one must be in a text for the pattern to be tried.

    The pattern's group `s` is the secret, or all of the match if there is none. learn: the secret is worth looking for
    elsewhere too, where nothing around it tells.
    """

    kind: str
    markers: tuple[str, ...]
    pattern: re.Pattern[str]
    learn: bool = True


def _fixed(prefix: str, chars: str, count: int) -> str:
    """A token of fixed length, wherever lines break in it."""
    return rf"{_NOT_WITHIN}{prefix}(?:{_BREAK}?{chars}){{{count}}}(?![A-Za-z0-9])"


def _open(prefix: str, chars: str, least: int) -> str:
    """A token of at least so many characters; a line of nothing but such characters, a digit among them, goes on."""
    more = rf"{_BREAK}(?={chars}{{0,200}}\d{chars}{{0,200}}(?:\s|\\|[\"',}}\])]|$))"
    return rf"{_NOT_WITHIN}{prefix}{chars}(?:{chars}|{more}){{{least - 1},}}"


_NAME = "(?:KEY|TOKEN|SECRET|PASSW(?:OR)?D|CREDENTIAL)"
_VALUE = (
    r"(?:(?P<q>\\*[\"'])(?P<s>(?:(?!(?P=q))[^\n]){1,4000})(?P=q)"
    r"|(?P<t>[^\s\"'&|;<>()`\\,}\]]{1,4000}))"
)

SHAPES: tuple[Shape, ...] = (
    Shape(
        "pem",
        ("-----begin ",),
        re.compile(
            rf"-----BEGIN [A-Z0-9 ]{{1,60}}-----(?:.{{0,{_MOST_PEM}}}?-----END [A-Z0-9 ]{{1,60}}-----"
            r"|(?:[A-Za-z0-9+/=\s:,.|\-]|\\+[nr])*)",
            re.DOTALL,
        ),
        learn=False,
    ),
    Shape(
        "jwt",
        ("eyj",),
        re.compile(
            rf"(?<![A-Za-z0-9])eyJ(?:{_BREAK}?[\w-]){{8,}}{_BREAK}?\.(?:{_BREAK}?[\w-]){{4,}}{_BREAK}?\.{_BREAK}?"
            + _open("", r"[\w-]", 1).removeprefix(_NOT_WITHIN)
        ),
    ),
    Shape("key", ("sk-", "sk_", "rk_"), re.compile(_open(r"(?:sk-|[sr]k_(?:live|test)_)", r"[\w-]", 16))),
    Shape("github", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), re.compile(_fixed("gh[pousr]_", "[A-Za-z0-9]", 36))),
    Shape("github", ("github_pat_",), re.compile(_open("github_pat_", r"\w", 20))),
    Shape("aws", ("akia", "asia"), re.compile(_fixed("(?:AKIA|ASIA)", "[A-Z0-9]", 16))),
    Shape("google", ("aiza",), re.compile(_fixed("AIza", r"[\w-]", 35))),
    Shape("slack", ("xox",), re.compile(_open("xox[abeoprs]-", r"[\w-]", 10))),
    Shape(
        "token",
        ("hf_", "glpat-", "npm_", "pypi-", "dckr_pat_"),
        re.compile(_open("(?:hf_|glpat-|npm_|pypi-|dckr_pat_)", r"[\w-]", 20)),
    ),
    Shape(
        "header",
        ("authorization", "api-key"),
        re.compile(
            r"\b(?:authorization|(?:x-)?api-key)(?:\\*[\"'])?\s{0,9}[:=]\s{0,9}(?:\\*[\"'])?"
            r"(?:(?:bearer|basic|token|digest|negotiate|apikey)\s{1,9})?(?P<s>[^\s\"'\\,;{}<>$()]{6,4000})",
            re.IGNORECASE,
        ),
    ),
    Shape("header", ("bearer ",), re.compile(r"\bbearer\s{1,9}(?P<s>[\w.~+/=-]{16,4000})(?![\w(\[])", re.IGNORECASE)),
    Shape("cookie", ("cookie:",), re.compile(r"\b(?:set-)?cookie:[ \t]*(?P<s>[^\s\"'\\][^\n\"'\\]{5,4000})", re.I)),
    Shape("url", ("://",), re.compile(r"://[^\s/:@\"'<>]{0,200}:(?P<s>[^\s/@\"'<>]{1,400})@")),
    Shape(
        "value",
        ("key", "token", "secret", "passw", "credential"),
        re.compile(rf"(?<![a-z]){_NAME}[A-Z0-9_]{{0,60}}={_VALUE}"),
    ),
    Shape(
        "value",
        ("api_key", "api-key", "apikey", "private", "token", "secret", "passw", "credential"),
        re.compile(
            # The class in front is what makes it fast: most characters begin none of the words.
            r"(?=[pPsSaAtTcC])(?:passw(?:or)?d|secret|api[_-]?key|token|private[_-]?key|credential)[\w-]{0,40}"
            r"(?:\\*[\"'])?\s{0,9}(?::|=>?)\s{0,9}(?P<q>\\*[\"'])(?P<s>[^\"'\s\\]{8,4000})(?P=q)",
            re.IGNORECASE,
        ),
    ),
)
"""In the order in which they are tried."""

_COUNT = re.compile(r"[\d,._]{1,9}")
_REFERENCE = re.compile(r"[$%<{*]|\.\.\.|\[redacted:|os\.|process\.|None\b|true\b|false\b|null\b", re.IGNORECASE)


def is_reference(value: str) -> bool:
    """Whether a value only names a secret or holds its place: `$TOKEN`, `<your key>`, `...`, a placeholder."""
    return _REFERENCE.match(value) is not None


def is_count(text: str, value: str) -> bool:
    """Whether `MAX_TOKENS=8192` or the like is a number of tokens and no secret."""
    return "tokens" in text.lower() and _COUNT.fullmatch(value) is not None


def worth_learning(value: str) -> bool:
    """Whether a value can be looked for in all text without hitting plain words, paths or addresses."""
    if not LEAST_LEARNED <= len(value) <= MOST_LEARNED or value[0] in "/~.":
        return False
    kinds = (any(c.isdigit() for c in value), any(c.isalpha() for c in value), not value.isalnum())
    return sum(kinds) >= 2 and "://" not in value and not value.isspace()
