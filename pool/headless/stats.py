"""`pool stats`: what sessions cost and how they went, from their logs."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field

from pool.headless.columns import NARROW_COLUMNS, cut, home_short, pad, terminal_columns, width
from pool.headless.plain import one_line
from pool.headless.sessions import EXIT_USAGE, complain, workspace_of
from pool.sessions.figures import Figures, Key
from pool.sessions.index import SessionEntry, SessionIndex
from pool.sessions.report import calls, percent, rate, report
from pool.sessions.store import NoSuchSession, by_id, sessions_folder, short_id

GROUPS = ("session", "day", "model", "server")
LABEL_COLUMNS = 24
_GAP = "  "


@dataclass(slots=True)
class Group:
    """Figures that belong together; name says what they have in common, sessions are their ids."""

    name: str
    sessions: set[str] = field(default_factory=set[str])
    figures: Figures = field(default_factory=Figures)


def parser() -> argparse.ArgumentParser:
    """The flags of `pool stats`."""
    p = argparse.ArgumentParser(
        prog="pool stats",
        description="Turns, tokens, speeds, tools, guards and times, of one session or of all sessions of this folder.",
    )
    p.add_argument("id", nargs="?", metavar="SESSION", default="", help="the beginning or end of a session's id")
    by = p.add_mutually_exclusive_group()
    for group in GROUPS:
        by.add_argument(f"--{group}", dest="by", action="store_const", const=group, help=f"one line a {group}")
    p.add_argument("-C", "--dir", metavar="DIR", default=".", help="the workspace (default: this folder)")
    p.add_argument("-a", "--all", action="store_true", help="sessions of all workspaces")
    p.add_argument("--json", action="store_true", help="one JSON object a line, times in seconds")
    return p


def main(argv: Sequence[str]) -> int:
    """Run `pool stats`; returns the exit code."""
    try:
        args = parser().parse_args(list(argv))
    except SystemExit as error:
        return int(error.code or 0)
    folder = sessions_folder()
    try:
        session = by_id(folder, args.id).id if args.id else ""
    except NoSuchSession as error:
        return complain(str(error), EXIT_USAGE, "stats")
    workspace = "" if session else workspace_of(args)
    with SessionIndex(folder, lambda text: complain(text, 0, "stats")) as index:
        found = index.figures(workspace, session)
    if not found and not args.json:
        where = f"for {workspace}; --all counts those of all folders" if workspace else f"in {folder}"
        complain(f"no sessions {where}", 0, "stats")
        return 0
    groups = grouped(found, args.by or "")
    if args.json:
        for group in groups:
            row = {**({args.by: group.name} if args.by else {}), "sessions": len(group.sessions)}
            print(json.dumps({**row, **asdict(group.figures)}, ensure_ascii=False))
    elif args.by:
        print("\n".join(table(groups, args.by, terminal_columns())))
    else:
        print("\n".join(listing(groups[0], terminal_columns())))
    return 0


def grouped(found: Iterable[tuple[SessionEntry, Key, Figures]], by: str) -> list[Group]:
    """Figures added up by session, day, model or server, "" all together; days in order, others as they come."""
    groups: dict[str, Group] = {}
    for entry, key, figures in found:
        match by:
            case "session":
                at, name = entry.id, f"{short_id(entry.id)} {entry.title}"
            case "day" | "model" | "server":
                at = name = str(getattr(key, by)) or "-"
            case _:
                at = name = ""
        group = groups.setdefault(at, Group(name))
        group.sessions.add(entry.id)
        group.figures.add(figures)
    return [groups[at] for at in (sorted(groups) if by == "day" else groups)]


def listing(group: Group, columns: int) -> list[str]:
    """Label and value, one pair a line; values that do not fit go on below."""
    out: list[str] = []
    lines = report(group.figures, len(group.sessions))
    front = max(width(label) for label, _ in lines) + len(_GAP)
    for label, value in lines:
        pieces = _wrapped(one_line(value), columns - front) if columns else [one_line(value)]
        out += [f"{pad(one_line(label) if not i else '', front)}{piece}" for i, piece in enumerate(pieces)]
    return out


def table(groups: Sequence[Group], by: str, columns: int) -> list[str]:
    """One line a group, with fewer columns on a narrow terminal."""
    narrow = 0 < columns < NARROW_COLUMNS
    heads = ["turns", "written", "tok/s"] if narrow else _HEADS
    rows = [heads, *([_cells(group)[_HEADS.index(head)] for head in heads] for group in groups)]
    widths = [max(width(row[i]) for row in rows) for i in range(len(heads))]
    room = columns - sum(widths) - len(_GAP) * len(widths) if columns else LABEL_COLUMNS
    names = [by, *(home_short(group.name) for group in groups)]
    label = min(max(map(width, map(one_line, names))), max(room, len("session")))
    out: list[str] = []
    for name, row in zip(names, rows, strict=True):
        cells = [f"{' ' * (size - width(cell))}{cell}" for cell, size in zip(row, widths, strict=True)]
        out.append(_GAP.join([pad(cut(name, label), label), *cells]))
    return out


_HEADS = ["turns", "read", "cached", "written", "reas.", "read/s", "tok/s", "ok"]


def _cells(group: Group) -> list[str]:
    f = group.figures
    return [
        f"{f.turns:,}",
        _short(f.prompt),
        percent(f.cached, f.prompt),
        _short(f.completion),
        percent(f.reasoning, f.completion),
        rate(f.read_tokens, f.read_seconds),
        rate(f.written_tokens, f.written_seconds),
        percent(*calls(f)),
    ]


def _short(count: int) -> str:
    for limit, unit in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if count >= limit:
            return f"{count / limit:.1f}{unit}"
    return str(count)


def _wrapped(text: str, columns: int) -> list[str]:
    """A text broken at blanks; a word that is too long by itself is cut."""
    lines = [""]
    for word in text.split(" "):
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if width(joined) <= columns:
            lines[-1] = joined
        elif lines[-1]:
            lines.append(cut(word, columns))
        else:
            lines[-1] = cut(word, columns)
    return lines
