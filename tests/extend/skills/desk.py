"""A home and a checkout with skills and commands in them."""

from __future__ import annotations

import os
from pathlib import Path

from pool.config.files import Places, project_folder
from pool.config.trust import TrustStore
from pool.extend.customcommands.finding import find_commands
from pool.extend.skills.finding import find_skills

GOOD = """\
---
name: {name}
description: {description}
---
# {name}

Say {name}.
"""


class Desk:
    """home is the user's, work a repository; each skill says its own name."""

    def __init__(self, base: Path) -> None:
        self.home = base / "home"
        self.work = base / "work"
        self.user = self.home / ".config" / "pool"
        self.places = Places(base / "none.toml", self.user, self.home / ".local" / "state" / "pool")
        self.user.mkdir(parents=True)
        (self.work / ".git").mkdir(parents=True)

    @property
    def env(self) -> dict[str, str]:
        return {
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home / ".config"),
            "XDG_STATE_HOME": str(self.home / ".local" / "state"),
        }

    def skill(self, at: str, text: str = "", description: str = "Does a thing.") -> Path:
        """A skill below the base, as `work/.pool/skills/NAME`."""
        folder = self.home.parent / at
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "SKILL.md").write_text(text or GOOD.format(name=folder.name, description=description))
        return folder

    def command(self, at: str, text: str) -> Path:
        file = self.home.parent / at
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def trust(self) -> None:
        """Say yes to all that waits."""
        waiting = [*find_skills(self.work, self.places).waiting, *find_commands(self.work, self.places).waiting]
        TrustStore(self.places.state, project_folder(self.work)).trust({one.place: one.digest for one in waiting})

    def big(self, folder: Path, count: int) -> None:
        for number in range(count):
            os.mknod(folder / f"{number}.txt")
