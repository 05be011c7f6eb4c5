"""The completion scripts of bash, zsh and fish, made from the command line as data."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator

from pool.cli.cmdline import Command, Option, Values

PROGRAMS = ("pool", "laguna-pool")
_HEAD = "# Made by `pool completion {shell}`; make it again after an update.\n"
_ASKED = "pool completion --values"
_DYNAMIC = (Values.SESSION, Values.MODEL, Values.THEME)


def path_of(command: Command) -> str:
    """The words of a command as one, such as `/config/set`."""
    return "".join(f"/{word}" for word in command.words)


# -- bash


def bash(root: Command) -> str:
    """A script for bash 4 and later."""
    commands = list(root.walk())
    known = "|".join(path_of(c) for c in commands if c.words)
    words = "\n".join(_bash_words(c) for c in commands)
    return _HEAD.format(shell="bash") + _BASH.format(
        known=known,
        words=words,
        values="\n".join(_bash_values(commands)),
        places="\n".join(_bash_places(commands)),
        asked=_ASKED,
        programs=" ".join(PROGRAMS),
    )


def _bash_words(command: Command) -> str:
    names = [name for flag in command.flags for name in flag.names]
    below = [action.words[-1] for action in command.actions]
    choices = [choice for argument in command.arguments for choice in argument.choices]
    words = shlex.quote(" ".join([*below, *choices]))
    return f'    "{path_of(command)}") words={words}; flags={shlex.quote(" ".join(names))} ;;'


def _bash_values(commands: Iterable[Command]) -> Iterator[str]:
    """What stands after a flag that takes a value."""
    for command in commands:
        for flag in (f for f in command.flags if f.metavar and not (f.optional and not f.choices)):
            names = "|".join(f'"{path_of(command)} {name}"' for name in flag.names)
            yield f"    {names}) {_bash_offer(flag)}; return ;;"


def _bash_places(commands: Iterable[Command]) -> Iterator[str]:
    """What stands where no flag asks for it."""
    for command in commands:
        offers = [_bash_offer(a) for a in command.arguments if a.values is not Values.NONE]
        if offers:
            yield f'    "{path_of(command)}") {"; ".join(dict.fromkeys(offers))} ;;'


def _bash_offer(option: Option) -> str:
    if option.choices:
        return f"_pool_words {shlex.quote(' '.join(option.choices))}"
    match option.values:
        case Values.FILE:
            return "_pool_files"
        case Values.FOLDER:
            return "_pool_folders"
        case Values.NONE:
            return ":"
        case kind:
            return f"_pool_asked {kind.value}"


_BASH = """\
_pool_words() {{ local w; while IFS= read -r w; do COMPREPLY+=("$w"); done < <(compgen -W "$1" -- "$cur"); }}
_pool_files() {{ local w; compopt -o filenames
  while IFS= read -r w; do COMPREPLY+=("$w"); done < <(compgen -f -- "$cur"); }}
_pool_folders() {{ local w; compopt -o filenames
  while IFS= read -r w; do COMPREPLY+=("$w"); done < <(compgen -d -- "$cur"); }}
_pool_asked() {{ local w; while IFS=$'\\t' read -r w _; do
  [[ $w == "$cur"* ]] && COMPREPLY+=("$w"); done < <({asked} "$1" 2>/dev/null); }}
_pool() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} path="" words="" flags="" i
  COMPREPLY=()
  if [[ $cur == "=" ]]; then cur=""; elif [[ $prev == "=" ]]; then prev=${{COMP_WORDS[COMP_CWORD-2]}}; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    if [[ ${{COMP_WORDS[i]}} == "--" ]]; then _pool_files; return; fi
    case "$path/${{COMP_WORDS[i]}}" in {known}) path="$path/${{COMP_WORDS[i]}}" ;; esac
  done
  case "$path $prev" in
{values}
  esac
  case "$path" in
{words}
  esac
  if [[ $cur == -* ]]; then _pool_words "$flags"; return; fi
  _pool_words "$words"
  case "$path" in
{places}
  esac
}}
complete -F _pool {programs}
"""


# -- zsh


def zsh(root: Command) -> str:
    """A script for zsh's completion system."""
    functions = "\n".join(_zsh_function(command) for command in root.walk())
    head = f"#compdef {' '.join(PROGRAMS)}\n{_HEAD.format(shell='zsh')}"
    return f"{head}\n{_ZSH.format(asked=_ASKED)}\n{functions}\n{_ZSH_END}"


def _zsh_name(command: Command) -> str:
    return "_pool_cmd" + "".join(f"_{word}" for word in command.words)


def _zsh_function(command: Command) -> str:
    lines = [f"{_zsh_name(command)}() {{", "  local line state"]
    if not command.words:
        lines.append("  if (( ${words[(I)--]} > 0 && ${words[(I)--]} < CURRENT )); then _files; return; fi")
    lines.append('  _arguments -C -s -A "-*" \\' if command.actions else "  _arguments -C -s \\")
    lines += [f"    {spec} \\" for flag in command.flags for spec in _zsh_flag(flag)]
    if command.actions:
        lines += ["    '1: :->action' '*:: :->rest'", "  case $state in", "    action)", "      local -a actions=("]
        lines += [f"        {shlex.quote(f'{a.words[-1]}:{_plain(a.help)}')}" for a in command.actions]
        lines += ["      )", "      _describe -t commands command actions ;;", "    rest)", "      case $line[1] in"]
        lines += [f"        {shlex.quote(a.words[-1])}) {_zsh_name(a)} ;;" for a in command.actions]
        lines += ["      esac ;;", "  esac", "}"]
    else:
        lines += [f"    {_zsh_argument(a)} \\" for a in command.arguments] or ["    '*: :_files' \\"]
        lines += ["    && return 0", "}"]
    return "\n".join(lines)


def _zsh_flag(flag: Option) -> Iterator[str]:
    text = _plain(flag.help).replace("[", "(").replace("]", ")")
    value = (
        f"{':' if not flag.optional else '::'}{_plain(flag.metavar).lower()}:{_zsh_offer(flag)}" if flag.metavar else ""
    )
    for name in flag.names:
        mark = "*" if len(flag.names) == 1 else f"({' '.join(flag.names)})"
        equal = "=" if flag.metavar and name.startswith("--") else ""
        yield shlex.quote(f"{mark}{name}{equal}[{text}]{value}")


def _zsh_argument(option: Option) -> str:
    mark = "*" if option.repeat else ":" if option.optional else ""
    place = f"{mark}:{_plain(option.metavar).lower()}:{_zsh_offer(option)}"
    return shlex.quote(place if option.repeat else f":{place}" if not mark else place)


def _zsh_offer(option: Option) -> str:
    if option.choices:
        return f"({' '.join(option.choices)})"
    match option.values:
        case Values.FILE:
            return "_files"
        case Values.FOLDER:
            return "_files -/"
        case Values.NONE:
            return " "
        case kind:
            return f"{{_pool_asked {kind.value}}}"


def _plain(text: str) -> str:
    """A text without what zsh's specifications read as signs of theirs."""
    return text.replace(":", ";").replace("\\", "/")


_ZSH = """\
_pool_asked() {{
  local -a found
  local value text
  while IFS=$'\\t' read -r value text; do
    found+=("${{value//:/\\\\:}}${{text:+:${{text//:/ }}}}")
  done < <({asked} "$1" 2>/dev/null)
  _describe -t values "$1" found
}}
"""
_ZSH_END = """\
# From fpath this file is the body of _pool, each time; sourced, it says who completes.
if [[ $funcstack[1] == _pool ]]; then _pool_cmd "$@"; else compdef _pool_cmd pool laguna-pool; fi
"""


# -- fish


def fish(root: Command) -> str:
    """A script for fish 3 and later."""
    lines = [_FISH]
    for program in PROGRAMS:
        lines += [f"complete -c {program} -f"]
        for command in root.walk():
            test = f"-n {shlex.quote(f'_pool_at {shlex.quote(path_of(command))}')}"
            lines += [
                f"complete -c {program} {test} -a {a.words[-1]} -d {shlex.quote(a.help)}" for a in command.actions
            ]
            lines += [f"complete -c {program} {test} {_fish_flag(flag)}" for flag in command.flags]
            lines += [
                f"complete -c {program} {test} {offer}" for a in command.arguments if (offer := _fish_offer(a, ""))
            ]
        lines += [f"complete -c {program} -n 'contains -- -- (commandline -opc)' -F"]
    paths = " ".join(path_of(command) for command in root.walk() if command.words)
    return _HEAD.format(shell="fish") + "\n".join(lines).replace("@PATHS@", paths) + "\n"


def _fish_flag(flag: Option) -> str:
    words = [f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in flag.names]
    if flag.metavar and not flag.optional:
        words.append(_fish_offer(flag, "-r ") or "-x")
    return f"{' '.join(words)} -d {shlex.quote(flag.help)}"


def _fish_offer(option: Option, needed: str) -> str:
    if option.choices:
        return f"{needed}-f -a {shlex.quote(' '.join(option.choices))}"
    match option.values:
        case Values.FILE:
            return f"{needed}-F"
        case Values.FOLDER:
            return f"{needed}-f -a '(__fish_complete_directories)'"
        case Values.NONE:
            return ""
        case kind:
            return f"{needed}-f -a '({_ASKED} {kind.value} 2>/dev/null)'"


_FISH = """\
function _pool_at
    set -l at ""
    for word in (commandline -opc)[2..-1]
        if contains -- "$at/$word" @PATHS@
            set at "$at/$word"
        end
    end
    test "$at" = "$argv[1]"
end"""
