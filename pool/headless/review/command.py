"""The command line of `pool review`: its flags."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from pool.headless.flags import count_flag, seconds_flag

PROGRAM = "pool review"
OUTPUTS = ("text", "json", "sarif")
FAIL_ON = ("high", "medium", "low", "never")


def parser() -> argparse.ArgumentParser:
    """The flags of `pool review`."""
    p = argparse.ArgumentParser(
        prog=PROGRAM,
        description="Review a change, and report findings with file, line, severity and reason. Nothing is changed, "
        "and no command is run but git's reading ones. By default what is not committed is reviewed, new files too.",
        epilog="A branch is what the work is compared with (on the default branch: what it would add to it). Paths "
        "after -- narrow the change. Exit codes: 0 nothing as bad as --fail-on, 3 findings as bad as that, 2 usage, "
        "4 gave up, 5 budget or context, 6 loop, 8 no usable report, 75 server away or failed, 130 interrupted. "
        "docs/review.md says more.",
    )
    p.add_argument("change", nargs="?", default="", help="BRANCH, COMMIT, A..B, A...B, a file that holds a diff, or -")
    p.add_argument("--staged", action="store_true", help="what is staged for the next commit")
    p.add_argument("--fail-on", choices=FAIL_ON, default=FAIL_ON[0], help="exit 3 from this severity on (default high)")
    p.add_argument("--focus", metavar="TEXT", default="", help="what to look at above all")
    p.add_argument("-o", "--output", choices=OUTPUTS, default=OUTPUTS[0])
    p.add_argument("--sarif", metavar="FILE", help="write SARIF 2.1.0 to FILE too")
    p.add_argument("-C", "--dir", metavar="DIR", default=".", help="the repository, or a folder in it")
    p.add_argument("--profile", metavar="NAME", default="", help="a profile of the configuration (pool config)")
    p.add_argument("--base-url", metavar="URL", help="server, such as http://127.0.0.1:8000 (POOL_BASE_URL)")
    p.add_argument("--model", metavar="ID", help="model id, or PROFILE:ID for one of a profile's (POOL_MODEL)")
    p.add_argument("--allow-hosted", action="store_true", help="do not ask before a profile's hosted server is used")
    p.add_argument("--thinking", metavar="LEVEL", help="on, off, low, normal, high, or tokens a turn")
    p.add_argument("--max-turns", type=count_flag, metavar="N", help="model replies for each part (default 30)")
    p.add_argument("--max-seconds", type=seconds_flag, metavar="S", help="wall time for each part (default 1800)")
    p.add_argument("--max-tokens", type=count_flag, metavar="N", help="tokens for each part (default: no limit)")
    p.add_argument("--wait-server", type=seconds_flag, metavar="S", help="wait so long for a server that is away")
    p.add_argument("--sandbox", metavar="WHAT", help="auto (default), required, external or off")
    p.add_argument("--append-system", metavar="WHAT", help="a file, or text, at the end of the system prompt")
    p.add_argument("--no-agents-md", action="store_true", help="read no AGENTS.md files")
    p.add_argument("--keep", action="store_true", help="keep the session of each part (pool sessions, pool export)")
    p.add_argument("--trace", metavar="FILE", help="keep the raw bytes of each reply (keys removed) in FILE")
    p.add_argument("-v", "--verbose", action="store_true", help="progress on stderr also when it is no terminal")
    p.add_argument("-q", "--quiet", action="store_true", help="no progress on stderr")
    return p


def main(argv: Sequence[str]) -> int:
    """Run `pool review`; returns the exit code."""
    words = list(argv)
    at = words.index("--") if "--" in words else len(words)
    try:
        args = parser().parse_args(words[:at])
    except SystemExit as error:
        return int(error.code or 0)
    args.paths = words[at + 1 :]
    from pool.headless.review.running import review

    return review(args)
