"""Plant bugs in a copy of the inventory program: `python examples/plant.py --seed 7 DEST`.

The program in `inventory/` is stored with the bugs of `AS_SHIPPED`. A copy is mended first, so that it is clean, and
then gets bugs at other places: four sites drawn by the seed, every kind of bug among them. The same seed gives the
same copy. The copy's tests are run to make sure that some of them fail.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

PROGRAM = Path(__file__).parent / "inventory"
SITES_PER_SEED = 4
TEST_SECONDS = 60
ABOUT_THE_BUGS = "Five of the twelve tests fail"
BOUNDARY, DEFAULT, SWALLOWED = "off-by-one boundary", "mutable default argument", "swallowed exception"
KINDS = (BOUNDARY, DEFAULT, SWALLOWED)


@dataclass(frozen=True, slots=True)
class Site:
    """A place for a bug. swaps are (clean, buggy) texts; each stands once in its file, in the form that is there."""

    name: str
    kind: str
    file: str
    swaps: tuple[tuple[str, str], ...]


SITES = (
    Site("longest-sku", BOUNDARY, "items.py", (("len(sku) <= MAX_SKU_LENGTH", "len(sku) < MAX_SKU_LENGTH"),)),
    Site("take-all", BOUNDARY, "store.py", (("if amount > item.quantity:", "if amount >= item.quantity:"),)),
    Site(
        "reorder-level",
        BOUNDARY,
        "reports.py",
        (("if item.quantity <= item.reorder_level]", "if item.quantity < item.reorder_level]"),),
    ),
    Site("first-page", BOUNDARY, "reports.py", (("start = (number - 1) * size", "start = number * size"),)),
    Site(
        "full-page",
        BOUNDARY,
        "reports.py",
        (("return (len(items) + size - 1) // size", "return len(items) // size + 1"),),
    ),
    Site("as-many-as-asked", BOUNDARY, "reports.py", (("return ranked[:limit]", "return ranked[: limit - 1]"),)),
    Site(
        "shared-tags",
        DEFAULT,
        "items.py",
        (
            ("tags: list[str] | None = None", "tags: list[str] = []"),
            ("    if tags is None:\n        tags = []\n    if not valid_sku", "    if not valid_sku"),
        ),
    ),
    Site(
        "shared-shelf",
        DEFAULT,
        "store.py",
        (
            ("items: dict[str, Item] | None = None", "items: dict[str, Item] = {}"),
            (
                "        if items is None:\n            items = {}\n        self.items = items",
                "        self.items = items",
            ),
        ),
    ),
    Site(
        "shared-groups",
        DEFAULT,
        "reports.py",
        (
            ("groups: dict[str, list[str]] | None = None", "groups: dict[str, list[str]] = {}"),
            ("    if groups is None:\n        groups = {}\n    for item", "    for item"),
        ),
    ),
    Site(
        "not-a-number",
        SWALLOWED,
        "items.py",
        (
            (
                "    except ValueError as error:\n"
                '        raise InventoryError(f"{text!r} is no whole number") from error',
                "    except ValueError:\n        count = 0",
            ),
        ),
    ),
    Site(
        "unknown-item",
        SWALLOWED,
        "store.py",
        (
            (
                "        except KeyError as error:\n"
                '            raise InventoryError(f"there is no item {sku!r}") from error',
                "        except KeyError:\n            pass",
            ),
        ),
    ),
    Site(
        "damaged-file",
        SWALLOWED,
        "store.py",
        (
            (
                "    except json.JSONDecodeError as error:\n"
                '        raise InventoryError(f"{path} is damaged: {error}") from error',
                "    except json.JSONDecodeError:\n        rows = []",
            ),
        ),
    ),
)
AS_SHIPPED = ("reorder-level", "take-all", "shared-tags", "unknown-item")


def choose(seed: int) -> tuple[str, ...]:
    """Names of the sites of a seed: one of each kind, the rest drawn from all that are left."""
    draw = random.Random(seed)
    chosen = [draw.choice([site.name for site in SITES if site.kind == kind]) for kind in KINDS]
    left = [site.name for site in SITES if site.name not in chosen]
    return tuple(sorted(chosen + draw.sample(left, SITES_PER_SEED - len(chosen))))


def swap(root: Path, names: Iterable[str], *, to_buggy: bool) -> None:
    """Bring the named sites of the program at root into one form. Raises ValueError if one is not in the other form."""
    wanted = set(names)
    for site in SITES:
        if site.name not in wanted:
            continue
        path = root / "inventory" / site.file
        text = path.read_text(encoding="utf-8")
        for clean, buggy in site.swaps:
            old, new = (clean, buggy) if to_buggy else (buggy, clean)
            if text.count(old) != 1:
                raise ValueError(f"{path}: expected once, found {text.count(old)} times: {old!r}")
            text = text.replace(old, new)
        path.write_text(text, encoding="utf-8")


def copy_clean(dest: Path) -> None:
    """Copy the program to dest, which must not exist or be an empty folder, and mend it."""
    if dest.exists() and any(dest.iterdir()):
        raise FileExistsError(f"{dest} is not empty: name a new folder")
    ignored = shutil.ignore_patterns("__pycache__", ".*")
    shutil.copytree(PROGRAM, dest, ignore=ignored, dirs_exist_ok=True)
    swap(dest, AS_SHIPPED, to_buggy=False)
    readme = dest / "README.md"
    about, _, _ = readme.read_text(encoding="utf-8").partition(ABOUT_THE_BUGS)
    readme.write_text(about + "Some of the tests fail.\n", encoding="utf-8")


def failing_tests(root: Path) -> int:
    """Run the tests of the program at root and count those that fail. Raises RuntimeError if they cannot be run."""
    command = [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        command,
        cwd=root,
        # The program needs no plugins, and other people's may be broken.
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=TEST_SECONDS,
        check=False,
    )
    counts = re.search(r"^(?:(\d+) failed)?(?:, )?(?:(\d+) passed)?.* in [\d.]+s", done.stdout, flags=re.M)
    if counts is None or done.returncode not in (0, 1):
        raise RuntimeError(f"the tests in {root} could not be run; is pytest installed?\n{done.stdout}{done.stderr}")
    return int(counts[1] or 0)


def main(argv: Sequence[str] | None = None) -> int:
    """Command line. Returns 0, or 1 after printing why there is no copy."""
    parser = argparse.ArgumentParser(description="Copy the inventory program with bugs planted by a seed.")
    parser.add_argument("dest", type=Path, help="a new or empty folder")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--show", action="store_true", help="also print where the bugs are")
    options = parser.parse_args(argv)
    names = choose(options.seed)
    try:
        copy_clean(options.dest)
        swap(options.dest, names, to_buggy=True)
        failed = failing_tests(options.dest)
    except (OSError, ValueError, RuntimeError, subprocess.TimeoutExpired) as error:
        print(f"plant: {error}", file=sys.stderr)
        return 1
    if not failed:
        print(f"plant: no test fails with seed {options.seed}: the tests miss {', '.join(names)}", file=sys.stderr)
        return 1
    print(f"{options.dest}: {failed} tests fail")
    if options.show:
        print("\n".join(f"{site.file}: {site.kind} ({site.name})" for site in SITES if site.name in names))
    return 0


if __name__ == "__main__":
    sys.exit(main())
