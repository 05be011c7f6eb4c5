"""Which skills there are for a workspace: found in their folders, nearest first, those of a checkout after trust."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path

from pool.config.files import Places
from pool.extend.places import Fault, Place, Trusted, folders, names_in
from pool.extend.plainfiles import FileFault, digest, has_controls, listing
from pool.extend.skills.bundled import BUNDLED, bundled_skills
from pool.extend.skills.skill import FILE, Skill, SkillError, read_skill
from pool_tools.frozen import frozen

MOST_SKILLS = 200
"""So many skills of one folder are looked at, by their names."""

MOST_OF_CHECKOUT = 100
"""Those of a checkout are read with all their files, to know whether they are what was trusted."""

MOST_ENTRIES = 10_000
"""Entries of a folder of skills that are listed at all."""

SKILLS = "skills"


@frozen
class FoundSkills:
    """skills can be used, one of a name; waiting are a checkout's that need trust; hidden lost to one of their name."""

    skills: tuple[Skill, ...] = ()
    waiting: tuple[Skill, ...] = ()
    faults: tuple[Fault, ...] = ()
    hidden: tuple[Fault, ...] = ()

    def named(self, name: str) -> Skill | None:
        """A skill that can be used, by its name."""
        return next((skill for skill in self.skills if skill.name == name), None)

    @property
    def own(self) -> tuple[Skill, ...]:
        """Those that did not come with Pool."""
        return tuple(skill for skill in self.skills if skill.place != BUNDLED)


def find_skills(workspace: Path, places: Places, without: Collection[str] = ()) -> FoundSkills:
    """Look for all skills. without are names that are not used. Reads files; never raises for what they hold."""
    trusted = Trusted(workspace, places)
    used: dict[str, Skill] = {}
    waiting: list[Skill] = []
    faults: list[Fault] = []
    hidden: list[Fault] = []
    for place in folders(workspace, places, SKILLS, SKILLS):
        for skill in _of(place, faults):
            if skill.name in without:
                continue
            if skill.checkout and not trusted.holds(skill.place, skill.digest):
                waiting.append(skill)
            elif skill.name in used:
                hidden.append(Fault(skill.place, f"{used[skill.name].place} has a skill of that name, which is used"))
            else:
                used[skill.name] = skill
    for skill in bundled_skills():
        if skill.name in used:
            hidden.append(Fault(f"{BUNDLED}'s own {skill.name}", f"{used[skill.name].place} takes its place"))
        elif skill.name not in without:
            used[skill.name] = skill
    return FoundSkills(tuple(used.values()), tuple(waiting), tuple(faults), tuple(hidden))


def _of(place: Place, faults: list[Fault]) -> Iterator[Skill]:
    """The sound skills of one folder."""
    most = MOST_OF_CHECKOUT if place.checkout else MOST_SKILLS
    for name, where in names_in(place, SKILLS, most, _names, faults):
        try:
            yield one_skill(place.path / name, where, checkout=place.checkout)
        except SkillError as error:
            faults += [Fault(where, fault) for fault in error.faults]


def one_skill(folder: Path, where: str, *, checkout: bool) -> Skill:
    """Read one folder; one of a checkout with all its files. Raises `SkillError`."""
    if has_controls(folder.name):
        raise SkillError("the folder's name has control characters")
    if not checkout:
        return read_skill(folder, where)
    if folder.is_symlink():
        raise SkillError("it is a link, and skills of a checkout are not read through links")
    try:
        found = listing(folder)
        if found.faults:
            raise SkillError(*found.faults)
        before = digest(folder, found)
        skill = read_skill(folder, where)
        if digest(folder, found) != before:
            raise SkillError("it changed while it was read")
    except FileFault as fault:
        raise SkillError(str(fault)) from None
    except OSError as error:
        raise SkillError(f"it cannot be read: {error.strerror or error}") from None
    return replace(skill, checkout=True, digest=before)


def _names(folder: Path) -> list[str]:
    """Names of the folders in a folder of skills. Files beside them, and hidden ones, are none."""
    with os.scandir(folder) as entries:
        some = [entry for entry, _ in zip(entries, range(MOST_ENTRIES), strict=False)]
    return sorted(entry.name for entry in some if not entry.name.startswith(".") and entry.is_dir())


def skill_at(folder: Path) -> Skill:
    """The skill in one folder, wherever it lies, held to everything. Raises `SkillError`."""
    if not folder.is_dir():
        raise SkillError(f"it is no folder; a skill is a folder with a {FILE}")
    return one_skill(folder, str(folder), checkout=True)
