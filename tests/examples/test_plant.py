"""The inventory program and the script that plants bugs in it."""

import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def plant() -> Iterator[ModuleType]:
    spec = importlib.util.spec_from_file_location("plant", EXAMPLES / "plant.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up by name.
    sys.modules["plant"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["plant"]


def texts(root: Path) -> dict[str, str]:
    """The text of each program file, of each test and of the README below root."""
    paths = [*root.rglob("*.py"), *root.glob("*.md"), *root.glob("*.ini")]
    return {str(path.relative_to(root)): path.read_text(encoding="utf-8") for path in paths}


def test_stored_program_is_what_its_selection_gives(plant: ModuleType, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    plant.copy_clean(copy)
    plant.swap(copy, plant.AS_SHIPPED, to_buggy=True)
    changed = {name for name, text in texts(EXAMPLES / "inventory").items() if texts(copy)[name] != text}
    assert changed == {"README.md"}
    kinds = [site.kind for site in plant.SITES if site.name in plant.AS_SHIPPED]
    assert len(kinds) == 4
    assert set(kinds) == set(plant.KINDS)


def test_stored_program_fails_five_of_twelve(plant: ModuleType) -> None:
    assert len(list((EXAMPLES / "inventory" / "inventory").glob("*.py"))) == 5
    tests = "".join(text for name, text in texts(EXAMPLES / "inventory").items() if name.startswith("tests"))
    assert tests.count("\ndef test_") == 12
    assert plant.failing_tests(EXAMPLES / "inventory") == 5


def test_clean_program_passes(plant: ModuleType, tmp_path: Path) -> None:
    plant.copy_clean(tmp_path / "clean")
    assert plant.failing_tests(tmp_path / "clean") == 0


def test_every_site_can_be_planted_and_mended(plant: ModuleType, tmp_path: Path) -> None:
    plant.copy_clean(tmp_path / "copy")
    clean = texts(tmp_path / "copy")
    for site in plant.SITES:
        plant.swap(tmp_path / "copy", [site.name], to_buggy=True)
        assert texts(tmp_path / "copy") != clean, site.name
        plant.swap(tmp_path / "copy", [site.name], to_buggy=False)
        assert texts(tmp_path / "copy") == clean, site.name


def test_planting_twice_is_refused(plant: ModuleType, tmp_path: Path) -> None:
    plant.copy_clean(tmp_path / "copy")
    plant.swap(tmp_path / "copy", ["take-all"], to_buggy=True)
    with pytest.raises(ValueError, match=r"store\.py: expected once, found 0 times"):
        plant.swap(tmp_path / "copy", ["take-all"], to_buggy=True)


def test_choice_covers_the_kinds_and_varies(plant: ModuleType) -> None:
    kind_of = {site.name: site.kind for site in plant.SITES}
    choices = {plant.choose(seed) for seed in range(40)}
    assert len(choices) > 20
    for names in choices:
        assert len(set(names)) == plant.SITES_PER_SEED
        assert {kind_of[name] for name in names} == set(plant.KINDS)


def test_same_seed_same_copy(plant: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main: Callable[[list[str]], Any] = plant.main
    for name in ("one", "two"):
        assert main(["--seed", "3", str(tmp_path / name)]) == 0
    assert "tests fail" in capsys.readouterr().out
    assert texts(tmp_path / "one") == texts(tmp_path / "two")
    assert main(["--seed", "3", str(tmp_path / "one")]) == 1
    assert "is not empty" in capsys.readouterr().err
