"""The first page of a publication: scores, settings and servers, and every run with links to its files."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from html import escape
from typing import Any
from urllib.parse import quote

from pool.lab.eval.publish.publication import PublishedRun
from pool_tools.frozen import frozen
from pool_tools.text import printable

_POLICY = "default-src 'none'; img-src 'self' data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;color:#1c1c1c;background:#fff}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}.scroll{overflow-x:auto}
table{border-collapse:collapse}
th,td{padding:.3rem .6rem;border-bottom:1px solid #ddd;text-align:left;vertical-align:top}
td.n{text-align:right;font-variant-numeric:tabular-nums}dt{font-weight:600}dd{margin:0 0 .3rem 0}
@media(prefers-color-scheme:dark){body{color:#ddd;background:#1c1c1c}th,td{border-color:#444}a{color:#8ab4f8}}
"""

_NUMERIC = ' class="n"'

Row = dict[str, Any]


@frozen
class RunFiles:
    """A run, and its files by what they are, as paths from the publication's folder."""

    run: PublishedRun
    files: Mapping[str, str]

    def row(self) -> Row:
        """As JSON, but for the files."""
        run = self.run
        row: Row = {"task": run.task, "arm": run.arm, "number": run.number, "passed": run.passed}
        row |= {"held_out": run.held_out, "error": run.error, "figures": dict(run.figures)}
        row["audit"] = {k: run.audit[k] for k in ("verdict", "flags") if k in run.audit} if run.audit else None
        return row


def index_page(row: Row, redaction: str) -> str:
    """The page for a publication as JSON, whose texts are clean; redaction says what was taken out."""
    return "".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n',
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
            '<meta name="referrer" content="no-referrer">\n<link rel="icon" href="data:,">\n',
            f"<title>{_text(row['title'])}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n",
            *_body(row, redaction),
            "</body>\n</html>\n",
        ]
    )


def _body(row: Row, redaction: str) -> Iterator[str]:
    yield f"<h1>{_text(row['title'])}</h1>\n"
    yield f"<p>Suite {_text(row['suite'])}, begun {_text(row['started'])}, Pool {_text(row['pool'])}. "
    yield f"{_text(redaction)}</p>\n"
    links = [_link(path, what) for what, path in row["files"].items()]
    yield f"<p>{', '.join([*links, _link('publication.json', 'all of this page as JSON')])}</p>\n"
    yield "<h2>Scores</h2>\n"
    yield from _table(("task", "arm", "runs", "passed", "held-out passed"), _scores(row["runs"]), numeric={2, 3, 4})
    yield "<h2>Servers and settings</h2>\n"
    for arm, known in row["arms"].items():
        yield f"<h3>{_text(arm)}</h3>\n<dl>\n"
        yield from (f"<dt>{_text(name)}</dt><dd>{_text(value)}</dd>\n" for name, value in known.items() if value)
        yield "</dl>\n"
    yield "<h2>Runs</h2>\n"
    figures = list(dict.fromkeys(name for run in row["runs"] for name in run["figures"]))
    titles = ("task", "arm", "run", "passed", "held-out", *figures, "audit", "files")
    rows = [_run(run, figures) for run in row["runs"]]
    yield from _table(titles, rows, numeric={2, *range(5, 5 + len(figures))}, html={len(titles) - 1})


def _scores(runs: list[Row]) -> list[list[str]]:
    """Each task and arm: how many of its runs passed."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for run in runs:
        groups.setdefault((run["task"], run["arm"]), []).append(run)
    return [
        [task, arm, str(len(some)), _share(some, "passed"), _share(some, "held_out")]
        for (task, arm), some in groups.items()
    ]


def _share(runs: list[Row], what: str) -> str:
    judged = [run[what] for run in runs if run[what] is not None]
    return f"{sum(judged)} of {len(judged)}" if judged else "not judged"


def _run(run: Row, figures: list[str]) -> list[str]:
    audit: Row = run["audit"] or {}
    counts: Row = audit.get("flags") or {}
    flags = ", ".join(f"{name} {count}" for name, count in counts.items() if count)
    verdict = " ".join(part for part in (str(audit.get("verdict", "")), f"({flags})" if flags else "") if part)
    passed = f"error: {run['error']}" if run["error"] else _word(run["passed"])
    files = " ".join(_link(path, what) for what, path in run["files"].items())
    shown = [_figure(run["figures"].get(name)) for name in figures]
    return [run["task"], run["arm"], str(run["number"]), passed, _word(run["held_out"]), *shown, verdict, files]


def _word(value: bool | None) -> str:
    return "" if value is None else "yes" if value else "no"


def _figure(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return _word(value)
        case float():
            return f"{value:,.2f}"
        case int():
            return f"{value:,}"
        case _:
            return str(value)


def _table(
    titles: tuple[str, ...], rows: list[list[str]], *, numeric: Collection[int], html: Collection[int] = ()
) -> Iterator[str]:
    yield '<div class="scroll"><table>\n<tr>'
    yield "".join(f"<th>{_text(title)}</th>" for title in titles)
    yield "</tr>\n"
    for row in rows:
        cells = (
            f"<td{_NUMERIC if at in numeric else ''}>{cell if at in html else _text(cell)}</td>"
            for at, cell in enumerate(row)
        )
        yield f"<tr>{''.join(cells)}</tr>\n"
    yield "</table></div>\n"


def _link(path: str, words: str) -> str:
    return f'<a href="{escape(quote(path))}">{_text(words)}</a>'


def _text(value: object) -> str:
    return escape(printable(str(value)))
