"""Folders from which skills and custom commands come: the checkout's, which need trust, and the user's own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath

from pool.config.files import FOLDER, Places, project_folder, read_text
from pool.config.trust import TrustStore
from pool.extend.plainfiles import shown
from pool_tools.frozen import frozen
from pool_tools.home import home

_POINTER = "gitdir: "


@frozen
class Place:
    """A folder of skills or commands. shown is how people are told of it; checkout: it came with the workspace."""

    path: Path
    shown: str
    checkout: bool = False


class Trusted:
    """What of a checkout the user has trusted: hashes by the place that was shown with them.

    In a worktree counts what was trusted in the main checkout too: the same texts, as their hash says.
    """

    def __init__(self, workspace: Path, places: Places) -> None:
        top = project_folder(workspace)
        main = main_checkout(top)
        self._stores = [TrustStore(places.state, folder) for folder in (top, main) if folder is not None]
        self._kept: Sequence[Mapping[str, str]] | None = None

    def holds(self, what: str, digest: str) -> bool:
        """Whether just this was trusted."""
        if self._kept is None:
            # Read when something asks: most checkouts bring nothing. A store that lies in its folder trusts nothing.
            self._kept = [store.load() for store in self._stores] if self._stores[0].usable else []
        return any(kept.get(what) == digest for kept in self._kept)


def main_checkout(folder: Path) -> Path | None:
    """The main checkout of a worktree, None for anything else. What its `.git` says is not verified."""
    try:
        text = read_text(folder / ".git")
    except OSError:
        return None
    pointed = PurePath((text or "").removeprefix(_POINTER).strip())
    parts = pointed.parts
    if "\0" in str(pointed) or not pointed.is_absolute() or parts[-3:-1] != (".git", "worktrees"):
        return None
    return Path(*parts[:-3])


def folders(workspace: Path, places: Places, below_pool: str, below_agents: str = "") -> Iterator[Place]:
    """The folders that exist, the one that wins first.

    below_pool is their name in `.pool` and in the user's configuration, below_agents that in `.agents`, "" for none. A
    folder of the user's own that lies in the workspace is like one of the checkout: commands can change it.
    """
    top = project_folder(workspace)
    found = [Place(top / FOLDER / below_pool, f"{FOLDER}/{below_pool}", checkout=True)]
    if below_agents:
        found.append(Place(_agents(workspace) / below_agents, f".agents/{below_agents}", checkout=True))
    found.append(Place(places.user / below_pool, _at_home(places.user / below_pool)))
    if below_agents:
        found.append(Place(home() / ".agents" / below_agents, f"~/.agents/{below_agents}"))
    seen: set[str] = set()
    for place in found:
        real = os.path.realpath(place.path)
        if real not in seen and os.path.isdir(real):
            seen.add(real)
            inside = Path(real).is_relative_to(os.path.realpath(workspace))
            yield Place(place.path, place.shown, place.checkout or inside)


def leads_out(place: Place) -> bool:
    """Whether a checkout's folder is reached by a link, which could lead anywhere."""
    parts = (place.path, place.path.parent)
    return place.checkout and any(path.is_symlink() for path in parts)


@frozen
class Fault:
    """Why something is not used: where it lies, for people, and the reason."""

    place: str
    text: str

    def __str__(self) -> str:
        return f"{self.place}: {self.text}"


def names_in(
    place: Place, what: str, most: int, names: Callable[[Path], list[str]], faults: list[Fault]
) -> Iterator[tuple[str, str]]:
    """Name, and place for people, of at most so many things in a folder; what are they called. Faults are added."""
    if leads_out(place):
        faults.append(Fault(place.shown, f"it is a link, and {what} of a checkout are not read through links"))
        return
    try:
        found = names(place.path)
    except OSError as error:
        faults.append(Fault(place.shown, f"it cannot be listed: {error.strerror}"))
        return
    if len(found) > most:
        faults.append(Fault(place.shown, f"it holds more than {most} {what}; only the first {most} are looked at"))
    yield from ((name, f"{place.shown}/{shown(name)}") for name in found[:most])


def _agents(workspace: Path) -> Path:
    """The `.agents` that counts: the nearest one up to the root of the repository, where there is a repository."""
    within: list[Path] = []
    for folder in (workspace, *workspace.parents):
        within.append(folder / ".agents")
        if (folder / ".git").exists():
            return next((one for one in within if one.is_dir()), within[0])
    return within[0]


def _at_home(path: Path) -> str:
    return f"~/{path.relative_to(home())}" if path.is_relative_to(home()) else str(path)
