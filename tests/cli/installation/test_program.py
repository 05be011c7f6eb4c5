"""How the program goes, by how it came."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pool.cli.installation.program import Program, installed_program, remove_program


class Installed:
    """A distribution as far as it is asked here."""

    def __init__(self, direct_url: str = "") -> None:
        self._direct_url = direct_url

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return self._direct_url or None


@pytest.mark.parametrize(
    ("mark", "direct_url", "how"),
    [
        ("uv-receipt.toml", "", "uv tool uninstall laguna-pool"),
        ("pipx_metadata.json", '{"url": "file:///a.whl"}', "pipx uninstall laguna-pool"),
        ("", '{"dir_info": {"editable": true}}', ""),
        ("", "{broken", f"{sys.executable} -m pip uninstall --yes laguna-pool"),
    ],
)
def test_the_installer_that_came_with_it_takes_it_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mark: str, direct_url: str, how: str
) -> None:
    if mark:
        (tmp_path / mark).touch()
    monkeypatch.setattr("sys.prefix", str(tmp_path))

    def distribution(name: str) -> Installed:
        return Installed(direct_url)

    monkeypatch.setattr("pool.cli.installation.program.distribution", distribution)
    found = installed_program()
    assert " ".join(found.remove) == how
    assert str(tmp_path) in found.note or mark


def test_a_failure_says_what_was_tried() -> None:
    gone = Program("pipx", ("no-such-pipx", "uninstall", "laguna-pool"), "")
    assert remove_program(gone) == "no-such-pipx is not on the search path; where it is: " + " ".join(gone.remove)
    failing = Program("pip", (sys.executable, "-c", "import sys; sys.exit('not\\n\\x1b[31m allowed')"), "")
    assert "failed: not \\x1b[31m allowed" in remove_program(failing)
