"""Commands and what rules say of them."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest

from pool.agent.rules.ruleset import RuleSet
from pool.agent.rules.syntax import Action, parse_rule

ALLOW = [
    "shell(git log *)",
    "shell(git status)",
    "shell(git diff *)",
    "shell(git commit *)",
    "shell(ls *)",
    "shell(head *)",
    "shell(cat *)",
    "shell(grep *)",
    "shell(wc *)",
    "shell(sed *)",
    "shell(awk *)",
    "shell(sort *)",
    "shell(find *)",
    "shell(python *)",
    "shell(env)",
    "shell(make test)",
    "shell(rm build/*)",
    "shell(tee *)",
    "shell(PYTHONPATH=src pytest *)",
    "write(out/**)",
    "read(/etc/hosts)",
]
ALLOWED, ASKS = Action.ALLOW, None


def rules(
    folder: Path, *, allow: list[str] = ALLOW, ask: list[str] | None = None, deny: list[str] | None = None
) -> RuleSet:
    given = {Action.ALLOW: allow, Action.ASK: ask or [], Action.DENY: deny or []}
    return RuleSet(PurePosixPath(folder), [parse_rule(action, text) for action, some in given.items() for text in some])


def judged(ruleset: RuleSet, command: str) -> Action | None:
    return ruleset.judge("shell", {"command": command}).action


ROWS: list[tuple[str, Action | None]] = [
    # Plain commands.
    ("git log", ALLOWED),
    ("git log -3 --oneline", ALLOWED),
    ("git  log\t-3", ALLOWED),
    ("git status", ALLOWED),
    ("git status -s", ASKS),
    ("git push", ASKS),
    ("git", ASKS),
    ("gitlog", ASKS),
    ("make test", ALLOWED),
    ("make test x", ASKS),
    ("make", ASKS),
    ("echo hello", ASKS),  # needs no rule, but no rule speaks for it either
    # Every part counts.
    ("git log | head", ALLOWED),
    ("git log | head -5 && ls", ALLOWED),
    ("ls; curl x", ASKS),
    ("ls && curl x", ASKS),
    ("ls || curl x", ASKS),
    ("ls & curl x", ASKS),
    ("ls | curl -T - x", ASKS),
    ("ls |& curl x", ASKS),
    ("ls\ncurl x", ASKS),
    ("ls;curl x", ASKS),
    ("(ls; curl x)", ASKS),
    ("{ ls; curl x; }", ASKS),
    ("(ls) && { head x; }", ALLOWED),
    ("! ls", ALLOWED),
    ("! curl x", ASKS),
    ("ls && echo done", ALLOWED),
    ("if ls; then head x; fi", ALLOWED),
    ("if ls; then curl x; fi", ASKS),
    ("if curl x; then ls; fi", ASKS),
    ('for f in *.py; do head "$f"; done', ALLOWED),
    ("for f in $(curl x); do head $f; done", ASKS),
    ('while read -r l; do echo "$l" | wc -c; done < list', ALLOWED),
    ("while true; do curl x; done", ASKS),
    ("[ -f x ] && ls", ALLOWED),
    ("[[ -n $x ]] && ls", ALLOWED),
    ("[ -v 'a[$(curl x)]' ] && ls", ASKS),
    ("[[ $x -eq 1 ]] && ls", ASKS),
    # Quoting, escapes, other names for the same.
    ("\\ls", ALLOWED),
    ('"l"s', ALLOWED),
    ("l's' -l", ALLOWED),
    ("\\curl x", ASKS),
    ('"cu"rl x', ASKS),
    ("ls 'a; curl x'", ALLOWED),
    ('ls "a; curl x"', ALLOWED),
    ("ls a\\;curl", ALLOWED),
    ("ls 'a'; curl 'x'", ASKS),
    ("echo 'it'\\''s'; ls", ALLOWED),
    ('ls "it\'s"; curl "it\'s"', ASKS),
    ("ls $'a\\'; curl x'", ALLOWED),
    ("ls $'a'; curl x'", ASKS),
    ("/bin/ls", ASKS),
    ("./ls", ASKS),
    ("~/ls", ASKS),
    ("LS", ASKS),
    # Substitutions.
    ("ls $(git log)", ALLOWED),
    ("ls $(curl x)", ASKS),
    ('ls "$(curl x)"', ASKS),
    ('ls "a $(git log | head) b"', ALLOWED),
    ("ls '$(curl x)'", ALLOWED),
    ("ls `git log`", ALLOWED),
    ("ls `curl x`", ASKS),
    ('ls "`curl x`"', ASKS),
    ("ls `echo \\`curl x\\``", ASKS),
    ("ls `ls # `; curl x`", ASKS),
    ("cat <(git log)", ALLOWED),
    ("cat <(curl x)", ASKS),
    ("ls > >(curl x)", ASKS),
    ("ls ${x:-$(curl x)}", ASKS),
    ('ls "${x:-"$(curl x)"}"', ASKS),
    ("ls ${x:-y}", ALLOWED),
    ("ls ${x@P}", ASKS),
    ("ls ${!x}", ASKS),
    ("x='a[$(curl x)]'; ls $((x))", ASKS),
    ("ls $((1 + 2))", ALLOWED),
    ("ls='a[$(curl x)]'; ((ls))", ASKS),
    ("ls='a[$(curl x)]'; (\\\n(ls))", ASKS),
    ("ls='a[$(curl x)]'; ((ls) | (head))", ASKS),
    ("ls='a[$(curl x)]'; cat $((ls) | (head))", ASKS),
    ('ls "$\\\n(curl x)"', ASKS),
    # Names that are only known later.
    ("$x y", ASKS),
    ("x=curl; $x y", ASKS),
    ("$(git log)", ASKS),
    ("{ls,curl}", ASKS),
    ("l{s,} x", ASKS),
    ("ls {a,b} x{1..3} *.py ~ $HOME", ALLOWED),
    ("rm build/x", ALLOWED),
    ("rm build/../src/x", ASKS),
    ("rm build/$x", ASKS),
    ("rm build/{x,../../y}", ASKS),
    ("rm build/*", ASKS),
    ("rm build/x /etc/passwd", ASKS),
    # Comments, blanks, odd characters.
    ("ls # curl x", ALLOWED),
    ("ls # x\ncurl y", ASKS),
    ("ls a#b; curl x", ASKS),
    ("# only a comment\nls", ALLOWED),
    ("ls\\\n -l", ASKS),
    ("ls \\\n -l", ALLOWED),
    ("ls &&\\\nhead x", ALLOWED),
    ("l\\\ns", ASKS),
    ("ls\u00a0-l", ASKS),
    ("ls\u2003x", ASKS),
    ("ls\u200b", ASKS),
    ("ls \u202ex", ASKS),
    ("ls\r\ncurl x", ASKS),
    ("ls \x1b[2J", ASKS),
    ("ls größe/日本", ALLOWED),
    # Functions, aliases, and whatever else changes what words mean.
    ("ls() { curl x; }; ls", ASKS),
    ("function ls { curl x; }\nls", ASKS),
    ("alias ls='curl x'\nls", ASKS),
    ("shopt -s expand_aliases; ls", ASKS),
    ("trap 'curl x' EXIT; ls", ASKS),
    ("enable -f ./x.so ls; ls", ASKS),
    ("hash -p /tmp/x ls; ls", ASKS),
    ("declare -x A=1; ls", ASKS),
    ("coproc curl x", ASKS),
    ("case x in x) curl y;; esac", ASKS),
    ("set -e; ls", ALLOWED),
    ("set -euo pipefail\nls", ALLOWED),
    ("set -- a; ls", ASKS),
    ("source x; ls", ASKS),
    (". ./x && ls", ASKS),
    # Variables.
    ("x=1; ls $x", ALLOWED),
    ("x=$(curl y); ls", ASKS),
    ("PATH=/evil ls", ASKS),
    ("PATH=/evil; ls", ASKS),
    ("export PATH=/evil; ls", ASKS),
    ("LD_PRELOAD=x ls", ASKS),
    ("GIT_EXTERNAL_DIFF=x git diff", ASKS),
    ("LC_ALL=C ls", ALLOWED),
    ("PYTHONPATH=src pytest -q", ALLOWED),
    ("PYTHONPATH=/evil pytest -q", ASKS),
    ("IFS=x; ls", ASKS),
    ("x[$(curl y)]=1; ls", ASKS),
    ("for PATH in /evil; do ls; done", ASKS),
    ("read PATH; ls", ASKS),
    ("printf -v PATH /evil; ls", ASKS),
    # Programs that start others.
    ("env ls", ALLOWED),
    ("env X=1 ls", ASKS),
    ("env LC_ALL=C ls", ALLOWED),
    ("env -S 'curl x'", ASKS),
    ("env curl x", ASKS),
    ("timeout 10 ls", ALLOWED),
    ("timeout -s KILL 10 curl x", ASKS),
    ("time ls", ALLOWED),
    ("time { curl x; }", ASKS),
    ("nohup nice -n 5 ls &", ALLOWED),
    ("nohup nice -n 5 curl x", ASKS),
    ("command ls", ALLOWED),
    ("command curl x", ASKS),
    ("command -v curl && ls", ALLOWED),
    ("builtin eval 'curl x'", ASKS),
    ("exec ls", ALLOWED),
    ("exec curl x", ASKS),
    ("sudo ls", ASKS),
    ("bash -c 'ls | head'", ALLOWED),
    ("bash -c 'ls; curl x'", ASKS),
    ('bash -lc "ls"', ALLOWED),
    ('bash -c "$x"', ASKS),
    ("bash -c 'ls' bash $(curl x)", ASKS),
    ("sh -c \"bash -c 'curl x'\"", ASKS),
    ("bash x.sh", ASKS),
    ("eval 'ls | head'", ALLOWED),
    ("eval 'ls; curl x'", ASKS),
    ('eval "$x"', ASKS),
    ("git log | xargs ls", ALLOWED),
    ("git log | xargs -n1 head -1", ALLOWED),
    ("git log | xargs curl", ASKS),
    ("git log | xargs -I{} sh -c 'ls {}'", ASKS),
    ("git log | xargs bash", ASKS),
    ("git log | xargs", ALLOWED),
    ("find . -name '*.py'", ALLOWED),
    ("find . -exec grep -l x {} +", ALLOWED),
    ("find . -exec rm {} \\;", ASKS),
    ("find . -exec sh -c 'ls {}' \\;", ASKS),
    ("find . -delete", ASKS),
    ("find . $x", ASKS),
    ("find . -exec {} \\;", ASKS),
    # Code for interpreters.
    ("python check.py", ALLOWED),
    ("python -m pytest", ALLOWED),
    ("python -c 'import os'", ASKS),
    ("python - <<'E'\nprint(1)\nE\n", ASKS),
    ("python <<E\nprint(1)\nE\n", ASKS),
    ("cat x | python", ASKS),
    ("cat x | bash", ASKS),
    ("bash <<E\nls\nE\n", ASKS),
    ("bash <<< 'curl x'", ASKS),
    ("sed -n 1,5p x", ALLOWED),
    ("sed 's/a/b/g' x", ALLOWED),
    ("sed 's/a/curl x/e' x", ASKS),
    ("sed -i 's/a/b/' x", ASKS),
    ("sed 'w /etc/x' x", ASKS),
    ("awk '{print $1}' x", ALLOWED),
    ("awk 'BEGIN{system(\"curl x\")}'", ASKS),
    ("sort -o x y", ASKS),
    ("git log --output=x", ASKS),
    ("git -c core.pager=x log", ASKS),
    ('git log "$x"', ASKS),
    ('git log -- "$x"', ALLOWED),
    ("git commit -m \"$(cat <<'EOF'\nA (b) `c`\n\nEOF\n)\"", ALLOWED),
    ('git commit -m "$(cat <<EOF\n$(curl x)\nEOF\n)"', ASKS),
    # Redirections.
    ("ls > out/x", ALLOWED),
    ("ls >> out/a/b 2>&1", ALLOWED),
    ("ls > x", ASKS),
    ("ls &> x", ASKS),
    ("ls 2> x", ASKS),
    ("ls > out/../x", ASKS),
    ("ls > /etc/x", ASKS),
    ("ls > $x", ASKS),
    ("ls > /dev/null 2>&1", ALLOWED),
    ("ls > /dev/tcp/example.org/80", ASKS),
    ("> out/x", ALLOWED),
    ("ls > out/x curl y", ALLOWED),  # `curl` and `y` are arguments of ls
    ("> out/x curl y", ASKS),
    ("cat < src/x", ALLOWED),
    ("cat < /etc/hosts", ALLOWED),
    ("cat < /etc/shadow", ASKS),
    ("ls > out/.git/hooks/x", ASKS),
    ("cat <<'E' > out/x\n$(curl x); curl y\nE\n", ALLOWED),
    ("cat <<E > out/x\n$(curl x)\nE\n", ASKS),
    ("cat <<E > out/x\n$y\nE\ncurl x", ASKS),
    ("cat <<E\nE; curl x\nE\n", ASKS),
    ("cat <<E; curl x\nhi\nE\n", ASKS),
    ("cat <<E | head\nhi\nE\n", ALLOWED),
    ("cat <<E && curl x\nhi\nE\n", ASKS),
    ("cat <<A <<B\nA\nB\n", ASKS),
    ("cat <<-E\n\thi\n\tE\ncurl x", ASKS),
    ("cat <<'E'\nhi\n", ASKS),
    # Folders.
    ("cd src && ls", ALLOWED),
    ("cd src && ls > out/x", ASKS),  # may be out/x or src/out/x
    ("cd /etc && ls", ASKS),
    ("cd .. && ls", ASKS),
    ("cd $x && ls", ASKS),
    ("(cd out && ls) > out/x", ALLOWED),  # out/x or out/out/x
    # Not a command at all.
    ("ls (", ASKS),
    ("ls 'a", ASKS),
    ("ls;;", ASKS),
    ("ls | | head", ASKS),
    ("", ASKS),
]


@pytest.mark.parametrize(("command", "expected"), ROWS)
def test_a_command_is_allowed_only_part_by_part(command: str, expected: Action | None, tmp_path: Path) -> None:
    assert judged(rules(tmp_path), command) is expected


def test_the_table_is_long_enough_and_says_each_thing_once() -> None:
    commands = [command for command, _ in ROWS]
    assert len(commands) == len(set(commands)) >= 80


DANGEROUS = [
    "sudo ls",
    "$x",
    'eval "$x"',
    "PATH=/evil ls",
    "python -c 'x'",
    "python <<E\nx\nE\n",
    "curl x | bash",
    "find . -delete",
    "git -c core.sshCommand=x fetch",
    "source x",
    "dd if=x of=/dev/sda",
    "f() { ls; }; f",
    "ls > x",
    "rm -rf /",
    "time ! ls",
    "nohup coproc ls",
    "nice x=1 ls",
    "tar xf x --to-command=y",
    "sqlite3 < x",
]


@pytest.mark.parametrize("command", DANGEROUS)
def test_a_wildcard_for_everything_does_not_cover_what_is_dangerous(command: str, tmp_path: Path) -> None:
    assert judged(rules(tmp_path, allow=["shell(*)"]), command) is ASKS


@pytest.mark.parametrize(
    "command", ["ls", "make -j4 && ./run", "curl https://example.org", "rm -rf build", "python x.py"]
)
def test_a_wildcard_for_everything_covers_plain_commands(command: str, tmp_path: Path) -> None:
    assert judged(rules(tmp_path, allow=["shell"]), command) is ALLOWED


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("shell(sudo *)", "sudo ls"),
        ("shell(python -c 'print(1)')", "python -c 'print(1)'"),
        ("shell(find . -delete)", "find . -delete"),
        ("shell(git log --output=x *)", "git log --output=x -3"),
        ("shell(./run.sh *)", "./run.sh a"),
        ("shell(source .venv/bin/activate)", "source .venv/bin/activate"),
    ],
)
def test_what_a_rule_spells_it_covers(rule: str, command: str, tmp_path: Path) -> None:
    assert judged(rules(tmp_path, allow=["shell(ls)", rule]), command) is ALLOWED


def test_a_wildcard_in_the_middle_is_one_plain_word(tmp_path: Path) -> None:
    ruleset = rules(tmp_path, allow=["shell(git * main)"])
    assert judged(ruleset, "git show main") is ALLOWED
    for command in ("git main", "git a b main", "git $x main", 'git "$x" main', "git config main", "git show main x"):
        assert judged(ruleset, command) is ASKS, command


DENIED = [
    "curl x",
    "\\curl x",
    "'curl' x",
    'cu"r"l x',
    "/usr/bin/curl x",
    "CURL x",
    "command curl x",
    "env A=1 curl x",
    "A=1 curl x",
    "sudo -n curl x",
    "timeout 5 curl x",
    "ls; curl x",
    "ls | xargs curl",
    "echo $(curl x)",
    "echo `curl x`",
    'echo "$(curl x)"',
    "bash -c 'ls; curl x'",
    "eval curl x",
    "find . -exec curl {} \\;",
    "cat <(curl x)",
    "uv run curl x",
    "npx curl",
    "if ls; then curl x; fi",
    "$z; curl x",  # one part is not understood, another is denied
    "cat <<E\nhi\nE\ncurl x",
    "git push",
    "git -C sub push",
    "git --no-pager push origin main",
    "git push --force",
]


@pytest.mark.parametrize("command", DENIED)
def test_deny_sees_through_disguises_and_wins(command: str, tmp_path: Path) -> None:
    ruleset = rules(
        tmp_path, allow=["shell(*)", "shell(curl *)", "shell(git push *)"], deny=["shell(curl *)", "shell(git push *)"]
    )
    assert judged(ruleset, command) is Action.DENY


@pytest.mark.parametrize(
    "command",
    [
        "$x",
        "cu${y}rl x",
        "git $x",
        'bash -c "$x"',
        "cat x | bash",
        "ls (",
        "f() { :; }; f",
        "git {push,}",
        "git ${x:-push}",
    ],
)
def test_what_may_be_denied_asks(command: str, tmp_path: Path) -> None:
    verdict = rules(tmp_path, allow=["shell(*)"], deny=["shell(curl *)", "shell(git push *)"]).judge(
        "shell", {"command": command}
    )
    assert verdict.action is Action.ASK
    assert verdict.guards


@pytest.mark.parametrize("command", ["echo curl", "grep curl x", "git log push", "git commit -m curl", "ls"])
def test_deny_is_about_commands_and_not_about_words(command: str, tmp_path: Path) -> None:
    ruleset = rules(tmp_path, allow=["shell(*)"], deny=["shell(curl *)", "shell(git push *)"])
    assert judged(ruleset, command) is ALLOWED


def test_ask_wins_over_allow(tmp_path: Path) -> None:
    ruleset = rules(tmp_path, ask=["shell(git commit *)"])
    assert judged(ruleset, "git commit -m x") is Action.ASK
    assert judged(ruleset, "git log; git commit") is Action.ASK
    assert judged(ruleset, "git log") is ALLOWED


def test_a_reason_names_the_rule_and_the_part(tmp_path: Path) -> None:
    ruleset = rules(tmp_path, deny=["shell(curl *)"])
    assert (
        ruleset.judge("shell", {"command": "ls; curl -s x"}).why == "the rule `deny shell(curl *)` is about `curl -s x`"
    )
    assert "`make deploy`" in ruleset.judge("shell", {"command": "ls && make deploy"}).why
    assert "not understood" in rules(tmp_path).judge("shell", {"command": "ls ("}).why


def test_writing_where_edits_run_unasked_needs_no_rule(tmp_path: Path) -> None:
    ruleset = rules(tmp_path)
    (tmp_path / "away").symlink_to("/tmp")
    for target, expected in [("x", ALLOWED), ("/tmp/x", ASKS), (".git/x", ASKS), ("away/x", ASKS)]:
        verdict = ruleset.judge("shell", {"command": f"ls > {target}"}, free_writes=True)
        assert verdict.action is expected, target


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/link").symlink_to("/etc")
    (tmp_path / "sub").symlink_to("/etc")
    assert judged(rules(tmp_path), "ls > out/link/x") is ASKS
    assert judged(rules(tmp_path), "cd sub && ls") is ASKS


def test_jobs_run_shell_commands_too(tmp_path: Path) -> None:
    ruleset = rules(tmp_path, deny=["shell(curl *)"])
    assert ruleset.judge("job", {"action": "start", "command": "ls; curl x"}).action is Action.DENY
    assert ruleset.judge("job", {"action": "start", "command": "git log"}).action is ALLOWED
    assert ruleset.judge("job", {"action": "list"}).action is None


def test_git_actions(tmp_path: Path) -> None:
    ruleset = rules(
        tmp_path, allow=["git(push origin *)", "shell(git fetch *)"], deny=["shell(git stash *)", "git(branch)"]
    )
    verdicts = {
        ("push", "origin", "main"): ALLOWED,
        ("push", "other", "main"): ASKS,
        ("push", "", ""): ASKS,
        ("fetch", "origin", ""): ASKS,  # an allow rule for the shell does not reach out of the sandbox
        ("stash", "", ""): Action.DENY,
        ("branch", "x", ""): Action.DENY,
    }
    for (action, name, rev), expected in verdicts.items():
        assert ruleset.judge("git", {"action": action, "name": name, "rev": rev}).action is expected, action


def test_huge_and_deep_commands_end_soon(tmp_path: Path) -> None:
    ruleset = rules(tmp_path)
    for command in [
        "(" * 20_000,
        "ls " + "$(" * 5_000,
        "ls; " * 10_000,
        "ls " + "x" * 100_000,
        "{" * 9_000,
        "`" * 9_001,
        "ls <<E\n" * 3_000,
    ]:
        assert judged(ruleset, command) in (ASKS, ALLOWED)
    assert judged(ruleset, "(" * 60 + "ls" + ")" * 60) is ASKS
