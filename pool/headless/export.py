"""`pool export`: a session as a file for others, without secrets and home folders unless the user says otherwise."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from pool.headless.plain import one_line, safe
from pool.sessions.export.own import own_redactor
from pool.sessions.export.session import Format, Read, exported, read_session
from pool.sessions.export.words import notes
from pool.sessions.store import Listed, NoSuchSession, by_id, last_of, sessions_folder
from pool_tools.home import expanded

EXIT_USAGE = 2


def parser() -> argparse.ArgumentParser:
    """The flags of `pool export`."""
    p = argparse.ArgumentParser(
        prog="pool export",
        description="Write a session as a file: atif (a trajectory, ATIF v1.8), html (one page that needs nothing "
        "else), md (Markdown), jsonl (chat messages in OpenAI's form, for training). Secrets, home folders and the "
        "user's name are taken out; encoded secrets (base64, for instance) are not found.",
        epilog="Exit codes: 0 done, 2 usage, or no such session.",
    )
    p.add_argument("session", nargs="?", default="", help="part of its id; default: the last of this folder")
    p.add_argument("--format", choices=[f.value for f in Format], default="", help="default: by FILE's name, else html")
    p.add_argument("-o", "--output", metavar="FILE", default="", help="write to FILE; default: stdout")
    p.add_argument("-C", "--dir", metavar="DIR", default=".", help="the folder whose last session is meant")
    p.add_argument("--no-redact", action="store_true", help="leave secrets and names in")
    p.add_argument("--raw", action="store_true", help="cut no long text (html, md); no metadata (jsonl)")
    return p


def main(argv: Sequence[str]) -> int:
    """Run `pool export`; returns the exit code."""
    try:
        args = parser().parse_args(list(argv))
    except SystemExit as error:
        return int(error.code or 0)
    try:
        found = _session(args.session, args.dir)
        read = read_session(found.path, None if args.no_redact else own_redactor(os.environ, found.workspace))
    except NoSuchSession as error:
        return _refuse(str(error))
    except OSError as error:
        return _refuse(f"the session cannot be read: {error.strerror} ({error.filename})")
    text = exported(read, _format(args.format, args.output), raw=args.raw)
    if not args.output or args.output == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        try:
            _write(Path(args.output), text.encode())
        except OSError as error:
            return _refuse(f"{args.output!r} cannot be written: {error.strerror}")
    _say(args.output, read)
    return 0


def _session(wanted: str, folder: str) -> Listed:
    if wanted:
        return by_id(sessions_folder(), wanted)
    return last_of(sessions_folder(), str(expanded(folder).resolve()))


def _format(given: str, output: str) -> Format:
    if given:
        return Format(given)
    endings = {".html": Format.HTML, ".htm": Format.HTML, ".md": Format.MARKDOWN, ".markdown": Format.MARKDOWN}
    endings |= {".jsonl": Format.JSONL, ".json": Format.ATIF, ".atif": Format.ATIF}
    return endings.get(Path(output).suffix.lower(), Format.HTML)


def _write(path: Path, data: bytes) -> None:
    """Write a file whole or not at all; what is no plain file (a pipe, a device, a link) is written to directly."""
    if path.is_symlink() or (path.exists() and not path.is_file()):
        path.write_bytes(data)
        return
    handle, beside = tempfile.mkstemp(prefix=f".{path.name[:100]}.", dir=path.parent)
    try:
        with open(handle, "wb") as file:
            file.write(data)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(beside, path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~umask)
        os.replace(beside, path)
    except BaseException:
        os.unlink(beside)
        raise


def _say(output: str, read: Read) -> None:
    """What a person should know of the file, on stderr."""
    said = [f"session {read.transcript.id}" + (f" written to {one_line(output)}" if output not in ("", "-") else "")]
    said.append(notes(read.transcript, read.found))
    sys.stderr.write(safe("pool export: " + "\n  ".join(said), terminal=True) + "\n")


def _refuse(why: str) -> int:
    sys.stderr.write(safe(f"pool export: {why}", terminal=True) + "\n")
    return EXIT_USAGE
