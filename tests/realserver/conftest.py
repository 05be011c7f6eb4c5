"""A real server for the session, and small repositories for the tiny agent to work on."""

from __future__ import annotations

import importlib.util
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.realserver.running import RealServer, served

WHEEL_PLATFORMS = {"linux": ("x86_64", "aarch64"), "darwin": ("x86_64", "arm64")}
"""Where xllamacpp has wheels."""

MakeShop = Callable[..., Path]


def require_llamacpp() -> None:
    """Skip without the package; in CI that is an error, wherever there is a wheel of it."""
    if importlib.util.find_spec("xllamacpp"):
        return
    has_wheel = platform.machine() in WHEEL_PLATFORMS.get(sys.platform, ())
    remedy = "install it with: pip install 'laguna-pool[realserver]'"
    if os.environ.get("CI") and has_wheel:
        pytest.fail(f"xllamacpp is missing, so nothing is tested against a real server; {remedy}", pytrace=False)
    pytest.skip(f"llama.cpp's server is not installed (package xllamacpp); {remedy}")


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    """llama.cpp with the tiny agent, shared by all tests of the session."""
    require_llamacpp()
    with served(tmp_path_factory.mktemp("llamacpp") / "log") as running:
        yield running


@pytest.fixture
def make_shop(tmp_path: Path) -> MakeShop:
    """Make a git repository with a module whose sum is off by extra, and a test that wants a certain total."""

    def make(extra: int = 4817, wanted: int = 200) -> Path:
        root = tmp_path / "shop"
        root.mkdir()
        (root / "prices.py").write_text(wrong_module(extra))
        (root / "test_prices.py").write_text(
            "import unittest\n\nfrom prices import total\n\n\nclass PricesTest(unittest.TestCase):\n"
            f"    def test_total(self) -> None:\n        self.assertEqual(total([120, 80]), {wanted})\n"
        )
        subprocess.run(["git", "init", "--quiet", str(root)], check=True)
        return root

    return make


def wrong_module(extra: int) -> str:
    """The module with its fault; extra 0: without it."""
    fault = f" + {extra}" if extra else ""
    return (
        '"""Prices of a small shop, in cents."""\n\n\n'
        f'def total(basket: list[int]) -> int:\n    """What all of it costs."""\n    return sum(basket){fault}\n'
    )
