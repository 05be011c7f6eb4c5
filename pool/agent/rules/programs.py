"""What is known of programs and of the shell's own words: data for taking commands apart.

The tables err on the side of a question: a name or an option that stands here too much costs one, one that is missing
lets a wildcard of the user's own cover it. They do not make a wildcard safe; the sandbox does.
"""

from __future__ import annotations

import re

SYSTEM_FOLDERS = frozenset({"/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin"})
"""A program that is known by its name may be called by a path in one of these."""

RESERVED = frozenset(
    "! { } if then elif else fi for while until do done case esac select function in [[ ]] coproc".split()
)
"""Words that the shell, but not the parser, may take for the beginning of something else."""

SHELLS = frozenset({"bash", "sh", "dash", "zsh", "ksh", "ash", "fish"})

CODE_OPTIONS: dict[str, re.Pattern[str]] = {
    "python": re.compile(r"-[A-Za-z]*c.*"),
    "node": re.compile(r"-[a-z]*[ep].*|--eval.*|--print.*|-r.*|--require.*|--import.*"),
    "deno": re.compile(r"eval"),
    "bun": re.compile(r"-e.*|--eval.*|-p.*|--print.*"),
    "perl": re.compile(r"-[A-Za-z0-9]*[eE].*"),
    "ruby": re.compile(r"-[A-Za-z]*e.*"),
    "php": re.compile(r"-[rBRE].*|--run.*"),
    "lua": re.compile(r"-e.*"),
    "Rscript": re.compile(r"-e.*"),
    "julia": re.compile(r"-[eE].*|--eval.*"),
    "osascript": re.compile(r"-e.*"),
}
"""Interpreters and the options that bring code. Without a script they run what they read from their input."""

MODULE_OPTIONS = frozenset({"-m"})
ONLY_TELLS = frozenset({"--version", "-V", "-v", "--help", "-h"})

READS_CODE = frozenset(
    "sqlite3 psql mysql gdb lldb ed ex vi vim nvim emacs at batch crontab expect tclsh ghci scala irb gnuplot "
    "redis-cli mongosh ssh".split()
)
"""Programs that may do anything that their input says."""

SHELL_CHANGERS = frozenset(
    "alias unalias shopt enable trap hash bind complete compgen compopt set getopts mapfile readarray fc history let "
    "jobs declare typeset local readonly export unset cd pushd popd umask ulimit".split()
)
"""Builtins that change what later words of the same command mean."""

NAMED_ONLY = frozenset(
    "sudo doas su pkexec source . chroot nsenter unshare mount umount dd mkfs shutdown reboot poweroff halt init "
    "systemctl crontab at batch chsh passwd visudo insmod modprobe sysctl iptables nft".split()
)
"""Only a rule that spells these names covers them; `shell(*)` does not."""

LAUNCHERS = frozenset(
    "npx bunx uvx uv poetry pipenv hatch tox nox pnpm yarn npm bun parallel watch script flock strace ltrace entr "
    "busybox toybox ssh docker podman kubectl systemd-run unbuffer chroot unshare nsenter su doas sudo pkexec".split()
)
"""Programs that start another one named among their words: ask and deny rules look at every word of theirs."""

HARMLESS = frozenset("echo true false : pwd".split())
"""Need no rule as long as no redirection is there: they print, or do nothing."""

COUNTED = frozenset("exit return break continue shift sleep wait".split())
"""Need no rule with nothing but numbers after them."""

SAFE_VARIABLES = re.compile(
    r"LANG|LC_[A-Z]+|TZ|CI|NO_COLOR|FORCE_COLOR|CLICOLOR|COLUMNS|LINES|DEBUG|VERBOSE|NODE_ENV|RUST_BACKTRACE|RUST_LOG"
    r"|PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE|PYTHONHASHSEED|CUDA_VISIBLE_DEVICES|OMP_NUM_THREADS|SOURCE_DATE_EPOCH"
)
"""Environment variables that change no program into another."""

SHELL_VARIABLES = re.compile(r"(?!.*_proxy$|histchars$|auto_resume$)[a-z_][a-z0-9_]*")
"""Names for the shell's own use; programs look at names in capitals, but for the proxies."""

SHARP: dict[str, re.Pattern[str]] = {
    "git": re.compile(
        r"-c.*|--config-env.*|--exec-path=.*|--git-dir.*|--work-tree.*|--upload-pack.*|--receive-pack.*|--exec.*|-x.*"
        r"|--ext-diff|--textconv|--output.*|-O.*|--open-files-in-pager.*|--template.*|config|filter-branch|foreach"
        r"|difftool|mergetool|--no-verify|.*::.*"
    ),
    "find": re.compile(r"-delete|-fprint.*|-fls"),
    "fd": re.compile(r"-[A-Za-z]*[xX].*|--exec.*"),
    "rg": re.compile(r"--pre.*|--hostname-bin.*|--search-zip|-[A-Za-z]*z.*"),
    "sort": re.compile(r"-[A-Za-z]*o.*|--output.*|--compress-program.*"),
    "tar": re.compile(
        r"--to-command.*|--checkpoint-action.*|-[A-Za-z]*[IFP].*|--use-compress.*|--rsh-command.*|--info-script.*"
        r"|--new-volume.*|--absolute-names"
    ),
    "sed": re.compile(r"-[A-Za-z]*[if].*|--in-place.*|--file.*"),
    "awk": re.compile(r"-[A-Za-z]*[fil].*|--file.*|--include.*|--load.*"),
    "curl": re.compile(r"-[A-Za-z]*[oOKT].*|--output.*|--remote-name.*|--config.*|--upload-file.*|--create-dirs"),
    "wget": re.compile(r"-[A-Za-z]*[OPie].*|--output.*|--use-askpass.*|--config.*|--execute.*"),
    "make": re.compile(r"SHELL=.*|\.SHELLFLAGS=.*|MAKEFLAGS=.*|--eval.*|-f-?|-"),
    "ssh": re.compile(r"-[A-Za-z]*[oFEJ].*"),
    "scp": re.compile(r"-[A-Za-z]*[oFS].*"),
    "rsync": re.compile(r"-[A-Za-z]*e.*|--rsh.*|--rsync-path.*|--delete.*"),
    "printf": re.compile(r"-v.*"),
    "test": re.compile(r"-[vR]|-o|-a"),
    "[": re.compile(r"-[vR]|-o|-a"),
    "npm": re.compile(r"--script-shell.*|--prefix.*|-g|--global"),
    "cargo": re.compile(r"--config.*"),
    "go": re.compile(r"-exec.*|-toolexec.*|--exec.*|--toolexec.*"),
    "pytest": re.compile(r"-c.*|-p.*|--rootdir.*|--confcutdir.*|--override-ini.*|-o.*"),
    "man": re.compile(r"-[A-Za-z]*[PHC].*|--pager.*|--html.*"),
    "less": re.compile(r"-[A-Za-z]*[oOk].*|\+.*"),
    "rm": re.compile(r"/|/\*|--no-preserve-root"),
}
"""Words that make a program start another one, write a file or stop asking: a rule has to spell them."""

SAFE_SED = re.compile(
    r"[0-9,$ ]*[pdq=]?|/[^/\\]*/[pd]|s/(?:[^/\\\n]|\\[^\n])*/(?:[^/\\\n]|\\[^\n])*/[gpiI0-9]*"
    r"|s\|[^|\n\\]*\|[^|\n\\]*\|[gpiI0-9]*"
)
"""A sed script that only selects lines or replaces text; others may run commands (`e`) or write files (`w`)."""

UNSAFE_AWK = re.compile(r"system|getline|[|>@]|close|extension")
