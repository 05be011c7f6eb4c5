"""Whether the weights of a set-up are on this machine, whole, and whether the disk has room for what is missing."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path

from pool.lab.serve.setup import Setup
from pool_tools.frozen import frozen
from pool_tools.home import home

SUFFIXES = (".safetensors", ".gguf")
WHOLE_SHARE = 0.97
"""From this share of the published size on, files count as all there: sizes are published rounded."""

OTHER_SHARE = 1.15
"""Above this share they are another upload."""

UNFINISHED = ".incomplete"


class State(StrEnum):
    """How much of a checkpoint is there."""

    HERE = "here"
    PARTLY = "partly"
    MISSING = "missing"
    OTHER = "another upload"


@frozen
class Weights:
    """A checkpoint on this machine: where it is or would be, and what bringing it here takes."""

    repo: str
    place: Path
    state: State
    have_bytes: int
    need_bytes: int
    free_bytes: int
    download: str
    """The command that fetches it, and goes on where it was broken off."""

    @property
    def missing_bytes(self) -> int:
        """What is still to come, 0 if all is here."""
        return 0 if self.state in (State.HERE, State.OTHER) else max(self.need_bytes - self.have_bytes, 0)

    @property
    def fits(self) -> bool:
        """Whether the disk has room for the rest."""
        return self.missing_bytes <= self.free_bytes


def weights_of(setup: Setup, env: Mapping[str, str]) -> list[Weights]:
    """The model's weights and the draft's, if it has its own."""
    variant, draft = setup.variant, setup.draft
    found = [_look(setup.weights, env, variant.repo, variant.revision, variant.file, variant.weights_bytes)]
    if draft and draft.repo and draft.repo != variant.repo:
        found.append(_look(None, env, draft.repo, draft.revision, "", draft.weights_bytes, estimated=True))
    return found


def hub(env: Mapping[str, str]) -> Path:
    """Where Hugging Face's programs keep what they have fetched."""
    if named := env.get("HF_HUB_CACHE") or env.get("HUGGINGFACE_HUB_CACHE"):
        return Path(named)
    if base := env.get("HF_HOME"):
        return Path(base) / "hub"
    cache = env.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else home() / ".cache") / "huggingface" / "hub"


def _look(
    folder: Path | None,
    env: Mapping[str, str],
    repo: str,
    revision: str,
    file: str,
    need: int,
    *,
    estimated: bool = False,
) -> Weights:
    place = folder or hub(env) / f"models--{repo.replace('/', '--')}"
    pinned = place / "snapshots" / revision if revision and not folder else place
    have = sum(size for path, size in _files(pinned) if not file or file in str(path))
    partial = 0 if folder else sum(_unfinished(place / "blobs"))
    words = ["hf", "download", repo]
    if file:
        words += ["--include", f"{file}*"] if file.endswith("/") else [file]
    words += ["--revision", revision] if revision else []
    words += ["--local-dir", str(folder)] if folder else []
    state = _state(have, partial, 1 if estimated else need)
    line = " ".join(map(shlex.quote, words))
    return Weights(repo, place, state, have + partial, need, _free(place), line)


def _state(have: int, partial: int, need: int) -> State:
    if have < need * WHOLE_SHARE or partial:
        return State.PARTLY if have or partial else State.MISSING
    # Of a draft only an estimate of the size is known: need is then one byte, and any file of weights will do.
    return State.OTHER if need > 1 and have > need * OTHER_SHARE else State.HERE


def _files(root: Path) -> Iterator[tuple[Path, int]]:
    """Files of weights below a folder, links followed; what cannot be read is left out. A blob counts once."""
    seen: set[Path] = set()
    for folder, _, names in os.walk(root):
        for name in names:
            path = Path(folder, name)
            if not name.endswith(SUFFIXES):
                continue
            try:
                real = path.resolve(strict=True)
                size = real.stat().st_size
            except OSError:
                continue
            if real not in seen:
                seen.add(real)
                yield path, size


def _unfinished(blobs: Path) -> Iterator[int]:
    try:
        entries = list(os.scandir(blobs))
    except OSError:
        return
    for entry in entries:
        if entry.name.endswith(UNFINISHED):
            try:
                yield entry.stat().st_size
            except OSError:
                continue


def _free(place: Path) -> int:
    """Room on the disk where a folder is or would be."""
    for folder in (place, *place.parents):
        try:
            return shutil.disk_usage(folder).free
        except OSError:
            continue
    return 0
