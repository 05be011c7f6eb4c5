"""Approvals that are kept for a checkout, in the state folder of the user."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from pool.agent.rules.syntax import Action, Rule, RuleError, parse_rule
from pool.config.files import Places
from pool_tools.frozen import frozen

VERSION = 1
MOST_BYTES = 1_000_000
_NAME_CHARS = 32


class KeptError(Exception):
    """Kept approvals that cannot be read or written. The message names the file and what to do."""


@frozen
class Kept:
    """What was allowed for good: rules, and single calls by their `fingerprint` with what they were."""

    rules: tuple[Rule, ...] = ()
    calls: tuple[tuple[str, str], ...] = ()


class KeptApprovals:
    """The file of one checkout, named after the real path of its workspace. Nothing is kept in memory."""

    def __init__(self, workspace: Path, state: Path | None = None) -> None:
        """state is Pool's state folder; by default the platform's, such as ~/.local/state/pool."""
        self.workspace = Path(os.path.realpath(workspace))
        folder = Path(os.path.realpath(state if state is not None else _state_folder())) / "approvals"
        name = hashlib.sha256(os.fsencode(self.workspace)).hexdigest()[:_NAME_CHARS]
        self.path = folder / f"{name}.json"

    @property
    def usable(self) -> bool:
        """False if the state folder lies in the workspace: what works there could then approve itself."""
        return not self.path.is_relative_to(self.workspace)

    def load(self) -> Kept:
        """What is kept; nothing if there is no file. Raises `KeptError` for a file that cannot be trusted or read."""
        if not self.usable:
            return Kept()
        try:
            handle = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        except FileNotFoundError:
            return Kept()
        except OSError as error:
            raise self._fault(error.strerror or str(error)) from None
        with os.fdopen(handle, "rb") as file:
            found = os.fstat(handle)
            if found.st_uid != os.geteuid() or found.st_mode & 0o022:
                raise self._fault("it belongs to somebody else, or others may write it")
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise self._fault(f"it is larger than {MOST_BYTES:,} bytes")
        return self._decode(data)

    def add(self, rules: Iterable[Rule] = (), calls: Iterable[tuple[str, str]] = ()) -> None:
        """Keep more. The file is replaced as a whole and is only ever its owner's. Raises `KeptError`."""
        if not self.usable:
            raise self._fault("Pool's state folder lies in the workspace, where commands could change it")
        with self._changing():
            old = self.load()
            texts = dict.fromkeys([r.text for r in old.rules] + [r.text for r in rules])
            self._replace(texts, dict([*old.calls, *calls]))

    def forget(self, text: str) -> bool:
        """Forget a rule, or single calls, by exact text; False if nothing kept is called so. Raises `KeptError`."""
        with self._changing():
            old = self.load()
            rules = [rule.text for rule in old.rules if rule.text != text]
            calls = {mark: shown for mark, shown in old.calls if shown != text}
            if len(rules) == len(old.rules) and len(calls) == len(old.calls):
                return False
            self._replace(rules, calls)
        return True

    def forget_all(self) -> bool:
        """Forget everything, also what cannot be read; False if there was nothing. Raises `KeptError`."""
        try:
            self.path.unlink()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise self._fault(error.strerror or str(error)) from None
        return True

    @contextmanager
    def _changing(self) -> Generator[None]:
        from pool.config.writing import changing

        try:
            with changing(self.path):
                yield
        except OSError as error:
            raise self._fault(error.strerror or str(error)) from None

    def _replace(self, rules: Iterable[str], calls: Mapping[str, str]) -> None:
        body = {"version": VERSION, "workspace": str(self.workspace), "allow": list(rules), "calls": dict(calls)}
        try:
            self._write(json.dumps(body, indent=1, ensure_ascii=True).encode() + b"\n")
        except OSError as error:
            raise self._fault(error.strerror or str(error)) from None

    def _write(self, data: bytes) -> None:
        folder = self.path.parent
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # mkstemp gives the file mode 0600.
        handle, name = tempfile.mkstemp(prefix=".new-", dir=folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(handle)
            os.replace(name, self.path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
        parent = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(parent)
        finally:
            os.close(parent)

    def _decode(self, data: bytes) -> Kept:
        try:
            value: Any = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise self._fault(f"it is no JSON: {error}") from None
        body = cast(dict[str, Any], value) if isinstance(value, dict) else {}
        if body.get("version") != VERSION or body.get("workspace") != str(self.workspace):
            raise self._fault("it is of another version, or for another workspace")
        rules: list[Rule] = []
        for text in cast(list[Any], body.get("allow") or []):
            try:
                rules.append(parse_rule(Action.ALLOW, str(text)))
            except RuleError as error:
                raise self._fault(str(error)) from None
        calls = cast(Mapping[str, Any], body.get("calls") or {})
        return Kept(tuple(rules), tuple((str(k), str(v)) for k, v in calls.items()))

    def _fault(self, why: str) -> KeptError:
        return KeptError(f"the kept approvals in {self.path} are not used: {why}. Mend or delete the file")


def fingerprint(tool: str, args: Mapping[str, Any]) -> str:
    """What stands for exactly this call: its tool and arguments, for a command its text alone."""
    same: Mapping[str, Any] = {"command": args["command"]} if "command" in args else args
    text = json.dumps([tool, same], sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _state_folder() -> Path:
    return Places.usual(os.environ).state
