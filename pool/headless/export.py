"""`pool export`: a session as a file for others, without secrets and home folders unless the user says otherwise."""

from __future__ import annotations

import argparse
import getpass
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from pool.config.files import Places
from pool.headless.plain import one_line, safe
from pool.sessions.export.redact import Redactor
from pool.sessions.export.session import Format, Read, exported, read_session
from pool.sessions.export.words import notes
from pool.sessions.store import Listed, NoSuchSession, by_id, last_of, sessions_folder
from pool_tools.home import expanded, home

EXIT_USAGE = 2
_SECRET_WORDS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL")


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


def own_redactor(env: Mapping[str, str], workspace: str) -> Redactor:
    """A redactor that knows this user's keys, home folder and name."""
    try:
        name = getpass.getuser()
    except (OSError, KeyError):
        name = ""
    own = home()
    homes = {str(own), os.path.realpath(own)} - {"/"}
    names = {name, *(Path(h).name for h in homes)}
    parts = Path(workspace).parts
    if len(parts) > 2 and parts[1] in ("home", "Users"):
        names.add(parts[2])
    return Redactor([*_keys_in(env), *_kept_keys(Places.usual(env))], homes, names - {""})


def _keys_in(env: Mapping[str, str]) -> Iterator[str]:
    """Values of variables that are named like a secret; one that is a path or switch is none."""
    for name, value in env.items():
        if any(word in name.upper() for word in _SECRET_WORDS) and len(value) >= 8 and not value.startswith(("/", "~")):
            yield value


def _kept_keys(places: Places) -> Iterator[str]:
    """Keys in Pool's own files, wherever they stand there. No command is run to get one."""
    import tomllib

    for path in (places.credentials, places.user_file, places.system):
        try:
            yield from _texts(tomllib.loads(path.read_text(encoding="utf-8")), secret=path == places.credentials)
        except (OSError, ValueError):
            continue


def _texts(value: Any, *, secret: bool) -> Iterator[str]:
    if isinstance(value, str) and secret:
        yield value
    elif isinstance(value, dict):
        for key, item in cast(dict[str, Any], value).items():
            named = any(word in key.upper() for word in (*_SECRET_WORDS, "AUTHORIZATION", "HEADERS"))
            yield from _texts(item, secret=secret or (named and not key.endswith(("_env", "_command"))))
    elif isinstance(value, list):
        for item in cast(list[Any], value):
            yield from _texts(item, secret=secret)


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
