from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pool.agent.rules.syntax import Action, Rule, RuleError, parse_rule


@pytest.mark.parametrize(
    ("text", "tool", "pattern", "words"),
    [
        ("shell(git log *)", "shell", "git log *", ("git", "log", "*")),
        ("  shell( git   status ) ", "shell", "git   status", ("git", "status")),
        ("shell(echo 'a b' \"c|d\")", "shell", "echo 'a b' \"c|d\"", ("echo", "a b", "c|d")),
        ("shell(*)", "shell", "", ()),
        ("shell", "shell", "", ()),
        ("write(src/**)", "write", "src/**", ()),
        ("edit(*.py)", "edit", "*.py", ()),
        ("read(/etc/**)", "read", "/etc/**", ()),
        ("read(app/(group)/x)", "read", "app/(group)/x", ()),
        ("write(**)", "write", "", ()),
        ("git(push origin *)", "git", "push origin *", ("push", "origin", "*")),
        ("mcp__docs__search", "mcp__docs__search", "", ()),
        ("mcp__docs__search(*)", "mcp__docs__search", "", ()),
    ],
)
def test_rules_that_are_understood(text: str, tool: str, pattern: str, words: tuple[str, ...]) -> None:
    assert parse_rule(Action.ALLOW, text) == Rule(Action.ALLOW, tool, pattern, words)


@pytest.mark.parametrize(
    ("text", "column", "word"),
    [
        ("", 1, "name is missing"),
        ("(ls)", 1, "name is missing"),
        ("shell(", 7, "`)` is missing"),
        ("shell(ls", 9, "`)` is missing"),
        ("shell ls", 6, "`(` or the end"),
        ("shell()", 7, "empty"),
        ("shell(git log | head)", 15, "stands between commands"),
        ("shell(a; b)", 8, "stands between commands"),
        ('shell(git "log)', 11, "not closed"),
        ("shell(g* x)", 7, "written out"),
        ("shell(* x)", 7, "written out"),
        ("shell('' x)", 7, "empty"),
        ("write(../x)", 7, "`..`"),
        ("write(a/../x)", 9, "`..`"),
        ("write({a,b)", 7, "`{` and `}`"),
        ("read(~bob/x)", 6, "your own home"),
        ("mcp__x(y)", 8, "takes no pattern"),
        ("shell(ls\n-l)", 9, "cannot be seen"),
        ("shell(ls\u00a0-l)", 9, "cannot be seen"),
    ],
)
def test_a_bad_rule_says_where_the_mistake_is(text: str, column: int, word: str) -> None:
    with pytest.raises(RuleError) as error:
        parse_rule(Action.DENY, text)
    first, shown, mark = str(error.value).split("\n")
    assert word in first
    assert error.value.at == column - 1
    assert mark.index("^") - 4 >= column - 1
    assert shown.isascii()


@given(st.text(alphabet="shellwrite()*/ '\"|.{}~gitlog\n\u202e", max_size=30))
def test_any_text_is_a_rule_or_an_error(text: str) -> None:
    try:
        rule = parse_rule(Action.ALLOW, text)
    except RuleError:
        return
    assert parse_rule(Action.ALLOW, rule.text) == rule
