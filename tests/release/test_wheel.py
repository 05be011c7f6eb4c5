"""The wheel: what is in it, and that nothing but its sources decides its bytes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from release.wheel import EPOCH, digest

ROOT = Path(__file__).parents[2]
SOURCES = ("pool", "tools", "themes", "docs")
OTHERS = ("pyproject.toml", "README.md", "LICENSE", ".gitignore")
EXCLUDED = ("docs/images/", "docs/ja/", "docs/benchmarks.md")


def built(root: Path, folder: Path) -> Path:
    words = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(words, cwd=root, env={**os.environ, EPOCH: "1700000000"}, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


def tracked(*folders: str) -> list[str]:
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--", *folders], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listing.returncode:
        pytest.skip("no git checkout")
    return [name for name in listing.stdout.split("\0") if name and (ROOT / name).is_file()]


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources elsewhere: what git has, as it is on disk now, so that nobody changes it between two builds."""
    copy = tmp_path_factory.mktemp("copy")
    for name in tracked(*SOURCES, *OTHERS):
        target = copy / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target)
    return copy


def test_the_wheel_has_all_of_pool_and_its_bytes_depend_on_nothing_else(copy: Path, tmp_path: Path) -> None:
    wheel = built(copy, tmp_path / "first")
    names = set(zipfile.ZipFile(wheel).namelist())

    tops = {name.split("/")[0] for name in names}
    mark = "laguna_pool-"
    assert {top for top in tops if not top.startswith(mark)} == {"pool", "pool_tools", "pool_themes"}
    assert any(name.endswith(".data/data/share/man/man1/pool.1") for name in names)
    assert any(name.endswith("dist-info/licenses/LICENSE") for name in names)
    places = {"tools/pool_tools/": "pool_tools/", "themes/pool_themes/": "pool_themes/", "docs/": "pool/docs/"}
    for name in tracked("pool", "tools/pool_tools", "themes/pool_themes", "docs"):
        if name.startswith(EXCLUDED) or (name.startswith("docs/") and not name.endswith(".md")):
            continue
        lead = next((lead for lead in places if name.startswith(lead)), "")
        assert (places[lead] + name.removeprefix(lead) if lead else name) in names

    assert {name.rpartition(".")[2] for name in names if name.startswith("pool/docs/")} == {"md"}
    assert "pool_themes/data/pool-dark.toml" in names

    for folder, _, files in os.walk(copy):
        for file in files:
            path = Path(folder, file)
            # A script's right to be run is a part of it.
            path.chmod(0o600 | (path.stat().st_mode & 0o100))
            os.utime(path, (1, 1))
    (copy / "pool" / "__pycache__").mkdir()
    (copy / "pool" / "__pycache__" / "main.cpython-311.pyc").write_bytes(b"x")
    assert digest(built(copy, tmp_path / "second")) == digest(wheel)
